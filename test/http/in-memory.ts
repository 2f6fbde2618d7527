import { buildApp } from '../../src/app.ts'
import type { Executor } from '../../src/executors/executor.ts'
import { codexSeedClientId, copilotSeeds, seedClientId } from '../../src/models/seeds.ts'
import type { Model } from '../../src/models/model.ts'
import { createModelRegistry } from '../../src/models/registry.ts'
import type { ModelRegistry } from '../../src/models/registry.ts'
import type { Pipeline } from '../../src/pipeline/pipeline.ts'
import { bodyOf } from '../executors/bodies.ts'
import { loaded } from '../config/loading.ts'
import { pipelineParts } from '../pipeline/support.ts'
import type { PartsOptions } from '../pipeline/support.ts'
import { recordingLog } from '../recording-log.ts'
import { headersOf } from './client.ts'
import type { SmallAsk, SmallReply } from './client.ts'
import { restOfApp } from './owner.ts'

/** Parts that a test replaces. */
export interface InMemoryParts extends Partial<Pick<PartsOptions, 'executorOf' | 'log' | 'now' | 'randomId'>> {
  /** Every request goes to this model, at this path. Default: the registry routes the name that the caller used. */
  readonly route?: () => { readonly model: Model; readonly path: string }
}

export interface Route {
  readonly method: string
  readonly path: string
}

export interface InMemory {
  readonly send: (path: string, ask?: SmallAsk) => Promise<SmallReply>
  /** For programs inside the daemon. */
  readonly runTurn: Pipeline['runTurn']
  /** Requests that reached the executor. */
  readonly upstreamCalls: () => number
  /** Every route, its parameters replaced by `some-id`. */
  readonly routes: () => Promise<readonly Route[]>
}

const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5-mini' }
const answer =
  `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }] })}\n\n` +
  `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`

/**
 * The HTTP surface without a socket, in front of an executor that answers every request with one word.
 * @param codexModels of a Codex login, beside Copilot's seeds
 */
export function openInMemory(
  file = '',
  codexModels: readonly Model[] = [],
  { executorOf, route, log = recordingLog(), ...parts }: InMemoryParts = {},
): InMemory {
  const { config } = loaded({ file })
  let calls = 0
  const executor: Executor = {
    provider: 'copilot',
    stream: async () => {
      calls += 1
      return { body: bodyOf(answer), idleMs: 1000, headers: {} }
    },
    json: async () => {
      calls += 1
      return { data: [{ index: 0, embedding: [0.5] }] }
    },
    listModels: () => Promise.resolve({ data: [] }),
    close: () => Promise.resolve(),
  }
  const names = createModelRegistry(config.models)
  const registry: ModelRegistry =
    route === undefined
      ? names
      : {
          ...names,
          route() {
            const { model, path } = route()
            return { ok: true, value: { id: model.id, model, path } }
          },
        }
  registry.register(seedClientId, copilotSeeds)
  registry.register(codexSeedClientId, codexModels)
  const common = pipelineParts({ config, registry, log, executorOf: executorOf ?? (() => executor), ...parts })
  const { fastify } = buildApp({
    ...common,
    ...restOfApp(),
  })
  // The chunks of a stream go to the socket, and the socket of an injected request keeps nothing.
  fastify.addHook('onRequest', async (_request, reply) => {
    reply.raw.useChunkedEncodingByDefault = false
  })
  return {
    runTurn: common.pipeline.runTurn,
    upstreamCalls: () => calls,
    async routes() {
      await fastify.ready()
      return readRoutes(fastify.printRoutes({ commonPrefix: false }))
    },
    send: async (path, { method, headers, body }: SmallAsk = {}) => {
      const reply = await fastify.inject({
        url: path,
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: headersOf(headers, body !== undefined),
        ...(body !== undefined && { payload: body }),
      })
      const { statusCode: status, payload: text } = reply
      return { status, headers: reply.headers, text, json: () => reply.json<unknown>() }
    },
  }
}

/** Fastify prints a tree: `│   └── /completions (POST)` is below the line that is indented less. */
function readRoutes(tree: string): readonly Route[] {
  const parts: string[] = []
  return tree.split('\n').flatMap((line) => {
    const found = /^([│ ]*)[├└]── (\S*) \(([^)]*)\)/.exec(line)
    if (found === null) return []
    const [, indent = '', part = '', methods = ''] = found
    parts.splice(indent.length / 4, parts.length, part)
    // `/models` and the `/*` below it are printed as `/models` and `*`.
    const path = parts
      .join('')
      .replaceAll(/(?<!\/)\*/g, '/*')
      .replaceAll(/:\w+|\*/g, 'some-id')
    return methods
      .split(', ')
      .filter((method) => /^(?:GET|POST|PUT|PATCH|DELETE)$/.test(method))
      .map((method) => ({ method, path }))
  })
}
