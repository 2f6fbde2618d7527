import type { Config } from '../config/schema.ts'
import type { ProxyError } from '../errors.ts'
import type { Executor, ProviderId } from '../executors/executor.ts'
import type { ModelRegistry } from '../models/registry.ts'
import type { Admission } from './admission.ts'
import type { AutoChoices } from './auto-choices.ts'
import type { CacheWatch } from './cache-watch.ts'
import type { Lessons } from './lessons.ts'
import type { RateLimit } from './rate-limit.ts'
import type { ReasoningCache } from './reasoning-cache.ts'
import type { MeterDeps } from './request-meter.ts'
import type { ResponseStore } from './response-store.ts'
import type { CallerDeps } from './while-caller-stays.ts'

/** What the routes that call a model need. */
export interface ServeDeps extends CallerDeps, MeterDeps {
  readonly config: () => Config
  readonly registry: Pick<ModelRegistry, 'route' | 'list'>
  /**
   * Waits for the model lists that could hold this name and were never fetched; returns why one could not be.
   * `retry`: also for those that could not be fetched the last time.
   * @throws the signal's reason on abort
   */
  readonly completeModels: (
    name: string,
    options: { readonly retry: boolean; readonly signal: AbortSignal },
  ) => Promise<ProxyError | undefined>
  /** @throws Fault `codex_unavailable` where that provider is switched off */
  readonly executorOf: (provider: ProviderId) => Executor
  readonly admission: Admission
  readonly rateLimit: RateLimit
  /** The longest silence of a caller that is still sending its body. Ms. */
  readonly uploadIdleMs: number
  readonly lessons: Lessons
  readonly cacheWatch: CacheWatch
  readonly responses: ResponseStore
  readonly reasoning: ReasoningCache
  readonly autoChoices: AutoChoices
  /** Of this run; keeps what is derived from prompts from telling them. */
  readonly salt: string
  /** Takes known credentials out of what is said of a failure. */
  readonly redact: (text: string) => string
}
