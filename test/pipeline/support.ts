import { randomUUID } from 'node:crypto'
import type { Config } from '../../src/config/schema.ts'
import type { Executor } from '../../src/executors/executor.ts'
import type { ModelRegistry } from '../../src/models/registry.ts'
import { createPipeline } from '../../src/pipeline/pipeline.ts'
import { createMetrics } from '../../src/usage/metrics.ts'
import { createUsageRecorder } from '../../src/usage/recorder.ts'
import { createRequestList } from '../../src/usage/requests.ts'
import type { recordingLog } from '../recording-log.ts'

export interface PartsOptions {
  readonly config: Config
  readonly registry: ModelRegistry
  readonly log: ReturnType<typeof recordingLog>
  readonly executorOf: () => Executor
  /** Default: the clock. Ms since epoch. */
  readonly now?: () => number
  /** Default: random. */
  readonly randomId?: () => string
}

const completeModels = () => Promise.resolve(undefined)

/** A pipeline in memory, and what it shares with the HTTP surface. */
export function pipelineParts({
  config,
  registry,
  log,
  executorOf,
  now = Date.now,
  randomId = randomUUID,
}: PartsOptions) {
  const common = {
    config: () => config,
    log,
    redact: (text: string) => text,
    redactAll: (text: string) => text,
    now,
    metrics: createMetrics(),
    requests: createRequestList({ keepsBodies: () => config.log.bodies, redact: (text) => text }),
    totals: createUsageRecorder({ file: undefined, now, setTimer: () => () => {}, log }),
  }
  const access = { registry, completeModels, executorOf }
  const accessOf = () => access
  const pipeline = createPipeline({ ...common, accessOf, salt: 'salt', randomId })
  return { ...common, pipeline, accessOf, networkFingerprints: {} }
}
