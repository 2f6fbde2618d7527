import { createAdmission } from './admission.ts'
import { createAutoChoices } from './auto-choices.ts'
import { complete } from './complete.ts'
import type { Completion, CompletionCall } from './complete.ts'
import { createCacheWatch } from './cache-watch.ts'
import { countTokens } from './count-tokens.ts'
import type { CountCall, TokenCount } from './count-tokens.ts'
import { embed } from './embed.ts'
import type { EmbeddingsCall } from './embed.ts'
import { makeImages } from './make-images.ts'
import type { ImagesCall } from './make-images.ts'
import type { CallerAnswer, ModelAnswer } from './model-answer.ts'
import { createLearnedRefusals } from './pipeline-state.ts'
import type { ModelAccess, PipelineDeps, PipelineState } from './pipeline-state.ts'
import { createReasoningCaches, createResponseStores } from './reply-memory.ts'
import type { ResponseStores } from './reply-memory.ts'
import { runTurn } from './run-turn.ts'
import type { DialectCall, ModelCall } from './run-turn.ts'
import type { EmbeddingsReply } from '../translate/embeddings.ts'

interface RunTurn {
  (call: DialectCall): Promise<CallerAnswer>
  (call: ModelCall): Promise<ModelAnswer>
}

/** Runs all model requests, for HTTP routes and for programs inside the daemon. */
export interface Pipeline extends Pick<PipelineState, 'admission' | 'cacheWatch'> {
  readonly responses: ResponseStores
  /**
   * Runs one model turn. Resolves when upstream has accepted the request, before the answer is read.
   * @throws Fault; the signal's reason on abort
   */
  readonly runTurn: RunTurn
  readonly countTokens: (call: CountCall) => Promise<TokenCount>
  readonly embed: (call: EmbeddingsCall) => Promise<EmbeddingsReply>
  readonly makeImages: (call: ImagesCall) => Promise<object>
  readonly complete: (call: CompletionCall) => Promise<Completion>
}

export function createPipeline(deps: PipelineDeps): Pipeline {
  const responses = createResponseStores(deps.now)
  const reasoning = createReasoningCaches(deps.now)
  const shared = {
    ...deps,
    admission: createAdmission(() => {
      const { maxConcurrentRequests, maxQueuedRequests } = deps.config().server
      return { maxConcurrent: maxConcurrentRequests, maxQueued: maxQueuedRequests }
    }),
    learnedRefusals: createLearnedRefusals(deps.now),
    cacheWatch: createCacheWatch(deps.now),
    memoryOf: (key) => ({ responses: responses({ key }), reasoning: reasoning(key) }),
  } satisfies Omit<PipelineState, keyof ModelAccess | 'autoChoices'>
  const states = new WeakMap<ModelAccess, PipelineState>()
  /** A request keeps its state to the end, and with it its account. */
  function stateFor({ key }: Pick<ModelCall, 'key'>): PipelineState {
    const access = deps.accessOf(key)
    const state = states.get(access) ?? {
      ...shared,
      ...access,
      // Copilot's choices belong to the account.
      autoChoices: createAutoChoices({ ...deps, ...access, executor: () => access.executorOf('copilot') }),
    }
    states.set(access, state)
    return state
  }
  function begin<Call extends Pick<ModelCall, 'key'>, Answer>(
    call: Call,
    run: (state: PipelineState, call: Call) => Promise<Answer>,
  ): Promise<Answer> {
    const followed = deps.followLogin?.(call.key)
    return followed === undefined ? run(stateFor(call), call) : followed.then(() => run(stateFor(call), call))
  }
  function turn(call: DialectCall): Promise<CallerAnswer>
  function turn(call: ModelCall): Promise<ModelAnswer>
  function turn(call: ModelCall): Promise<ModelAnswer> {
    return begin(call, runTurn)
  }
  return {
    admission: shared.admission,
    cacheWatch: shared.cacheWatch,
    responses,
    runTurn: turn,
    countTokens: (call) => begin(call, countTokens),
    embed: (call) => begin(call, embed),
    complete: (call) => begin(call, complete),
    makeImages: (call) => begin(call, makeImages),
  }
}
