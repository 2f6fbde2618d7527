import type { Config } from '../config/schema.ts'
import type { ProxyError } from '../errors.ts'
import type { Executor, ProviderId } from '../executors/executor.ts'
import type { Logger } from '../logging/logger.ts'
import type { ModelRegistry } from '../models/registry.ts'
import { createAdmission } from './admission.ts'
import type { Admission } from './admission.ts'
import { createAutoChoices } from './auto-choices.ts'
import type { AutoChoices } from './auto-choices.ts'
import { createCacheWatch } from './cache-watch.ts'
import type { CacheWatch } from './cache-watch.ts'
import { countTokens } from './count-tokens.ts'
import type { CountCall, TokenCount } from './count-tokens.ts'
import { embed } from './embed.ts'
import type { EmbeddingsCall } from './embed.ts'
import { createLearnedRefusals } from './learned-refusals.ts'
import type { LearnedRefusals } from './learned-refusals.ts'
import type { ModelAnswer } from './model-answer.ts'
import { createReasoningCache } from './reasoning-cache.ts'
import type { MeterDeps } from './request-meter.ts'
import { createResponseStore } from './response-store.ts'
import type { ResponseStore } from './response-store.ts'
import { runTurn } from './run-turn.ts'
import type { DialectCall, ModelCall } from './run-turn.ts'
import type { EmbeddingsReply } from '../translate/embeddings.ts'
import type { ReplyMemory } from '../translate/reply-memory.ts'
import type { ReplyReader } from '../translate/translated-call.ts'

export interface PipelineDeps extends MeterDeps {
  readonly config: () => Config
  readonly registry: Pick<ModelRegistry, 'route' | 'fallbacksOf' | 'list' | 'resolve'>
  /**
   * Fetches the model lists that may contain the name and were never fetched. Returns the error of a failed fetch.
   * `retry`: also retries lists whose last fetch failed.
   * @throws the signal's reason on abort
   */
  readonly completeModels: (
    name: string,
    options: { readonly retry: boolean; readonly signal: AbortSignal },
  ) => Promise<ProxyError | undefined>
  /** @throws Fault `codex_unavailable` if Codex is switched off */
  readonly executorOf: (provider: ProviderId) => Executor
  readonly log: Logger
  /** Removes known credentials from upstream's text. */
  readonly redact: (text: string) => string
  /** Random per run, so that a prompt cannot be guessed from an id that is derived from it. */
  readonly salt: string
}

/** State that all model requests share. */
export interface PipelineState extends PipelineDeps {
  readonly admission: Admission
  readonly learnedRefusals: LearnedRefusals
  readonly cacheWatch: CacheWatch
  readonly memory: ReplyMemory
  readonly autoChoices: AutoChoices
}

interface RunTurn {
  (call: DialectCall): Promise<ModelAnswer<ReplyReader>>
  (call: ModelCall): Promise<ModelAnswer>
}

/** Runs all model requests, for HTTP routes and for programs inside the daemon. */
export interface Pipeline extends Pick<PipelineState, 'admission' | 'cacheWatch'> {
  readonly responses: ResponseStore
  /**
   * Runs one model turn. Resolves when upstream has accepted the request, before the answer is read.
   * @throws Fault; the signal's reason on abort
   */
  readonly runTurn: RunTurn
  readonly countTokens: (call: CountCall) => Promise<TokenCount>
  readonly embed: (call: EmbeddingsCall) => Promise<EmbeddingsReply>
}

export function createPipeline(deps: PipelineDeps): Pipeline {
  const responses = createResponseStore(deps.now)
  const state: PipelineState = {
    ...deps,
    admission: createAdmission(() => {
      const { maxConcurrentRequests, maxQueuedRequests } = deps.config().server
      return { maxConcurrent: maxConcurrentRequests, maxQueued: maxQueuedRequests }
    }),
    learnedRefusals: createLearnedRefusals(),
    cacheWatch: createCacheWatch(deps.now),
    memory: { responses, reasoning: createReasoningCache(deps.now) },
    autoChoices: createAutoChoices({ ...deps, executor: () => deps.executorOf('copilot') }),
  }
  function turn(call: DialectCall): Promise<ModelAnswer<ReplyReader>>
  function turn(call: ModelCall): Promise<ModelAnswer>
  function turn(call: ModelCall): Promise<ModelAnswer> {
    return runTurn(state, call)
  }
  return {
    admission: state.admission,
    cacheWatch: state.cacheWatch,
    responses,
    runTurn: turn,
    countTokens: (call) => countTokens(state, call),
    embed: (call) => embed(state, call),
  }
}
