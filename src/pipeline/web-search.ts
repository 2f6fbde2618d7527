import type { CallerKey } from '../config/caller.ts'
import { endOf, statusOf, toFault } from '../errors.ts'
import type { Interaction } from '../executors/executor.ts'
import { createSseDecoder } from '../sse/decode.ts'
import type { Credits } from '../models/credits.ts'
import type { EncodeContext, SearchQuery } from '../translate/dialect.ts'
import { upstreamDialects } from '../translate/dialects.ts'
import { createSearchFold, searchTurn } from '../translate/search-request.ts'
import type { SearchOutcome } from '../translate/turn.ts'
import { askUpstream, encodeContext } from './ask-upstream.ts'
import type { PipelineState } from './pipeline-state.ts'
import { readUpstream } from './read-upstream.ts'
import { createRequestMeter } from './request-meter.ts'
import type { Outcome } from './request-meter.ts'
import { searchModel } from './search-model.ts'

/** Runs one web search. Rejects only if the answer's signal is aborted. */
export type WebSearch = (query: SearchQuery) => Promise<SearchOutcome>

/** Copilot's models search the web in this dialect only. */
const dialect = upstreamDialects.responses
const route = `copilot/${dialect.id}`

/** The answer that needs the searches. */
interface SearchedAnswer {
  readonly requestId: string
  /** The searches count for this API key. */
  readonly key: CallerKey | undefined
  /** The user turn of the answer; its searches belong to the same turn. */
  readonly turn: Interaction | undefined
  readonly signal: AbortSignal
  /** Called with the cost of each search. */
  readonly onCredits: (cost: Credits | undefined) => void
}

/**
 * Runs the searches of one answer. Each is a separate request to a GPT model of the same account, and counts as one. A
 * failed search is a result, not an error.
 */
export function createWebSearch(
  state: PipelineState,
  { requestId, key, turn, signal, onCredits }: SearchedAnswer,
): WebSearch {
  const interaction: Interaction | undefined = turn && { purpose: 'subagent', id: turn.id, stated: {} }
  return async (query) => {
    const model = searchModel(state)
    if (model === undefined) return { failure: 'unavailable' }
    const meter = createRequestMeter(state, { id: requestId, kind: 'search', key })
    meter.routed(model, route)
    const fold = createSearchFold(query.tool)
    const finish = (end: Outcome, fields?: { readonly pages: number }): void => {
      meter.used(fold.usage())
      onCredits(meter.credits())
      meter.finish(end, fields)
    }
    try {
      const call = { path: dialect.path, hasImage: false, requestId, interaction }
      const executor = state.executorOf('copilot')
      const target = { model, route, dialect, executor, call, signal }
      const encodeAgain = (context: EncodeContext) => dialect.encodeTurn(searchTurn(query, model), context)
      const request = encodeAgain(encodeContext(state, target))
      const upstream = await askUpstream(state, target, request, { initiator: 'agent', encodeAgain })
      const frames = createSseDecoder()
      const decoder = dialect.createDecoder({
        id: state.randomId(),
        createdSeconds: 0,
        nowSeconds: () => 0,
        model: model.id,
        requestedModel: model.id,
        traits: model,
        notes: { tools: new Map(), stop: [] },
        redact: state.redact,
      })
      await readUpstream(upstream, (chunk) => {
        for (const event of frames.push(chunk)) fold.push(decoder.push(event))
        return fold.isDone() ? 'done' : 'go'
      })
      if (!fold.isDone()) fold.push(decoder.end())
      const outcome = fold.outcome()
      finish('answered', { pages: 'pages' in outcome ? outcome.pages.length : 0 })
      return outcome
    } catch (error) {
      finish(endOf(error, signal))
      signal.throwIfAborted()
      return { failure: statusOf(toFault(error).error) === 429 ? 'too_many_requests' : 'unavailable' }
    }
  }
}
