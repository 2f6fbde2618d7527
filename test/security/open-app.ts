import type { FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'
import { buildApp } from '../../src/app.ts'
import type { Deadlines } from '../../src/http/connections.ts'
import { createModelRegistry } from '../../src/models/registry.ts'
import { copilotSeeds, seedClientId } from '../../src/models/seeds.ts'
import { loaded } from '../config/loading.ts'
import { pipelineParts } from '../pipeline/support.ts'
import { recordingLog } from '../recording-log.ts'
import { restOfApp } from '../http/owner.ts'

export interface OpenAppOptions {
  readonly deadlines?: Partial<Deadlines>
  readonly maxConnections?: number
  readonly host?: string
  /** Adds routes of the test's own. */
  readonly routes?: (fastify: FastifyInstance) => void
  readonly log?: ReturnType<typeof recordingLog>
}

/** The HTTP surface on a socket, without an upstream. Returns its address. */
export async function openApp({
  deadlines = {},
  maxConnections,
  host = '127.0.0.1',
  routes,
  log = recordingLog(),
}: OpenAppOptions): Promise<string> {
  const { config } = loaded()
  const registry = createModelRegistry(config.models)
  registry.register(seedClientId, copilotSeeds)
  const app = buildApp({
    ...pipelineParts({
      config,
      registry,
      log,
      executorOf: () => {
        throw new Error('not part of this test')
      },
    }),
    ...restOfApp(),
    deadlines,
    maxConnections,
  })
  routes?.(app.fastify)
  await app.listen({ host, port: 0 })
  onTestFinished(() => app.close(0))
  return `http://127.0.0.1:${app.address().port}`
}
