import { Fault, faultFields, statusOf } from '../errors.ts'
import type { Interaction } from '../executors/executor.ts'
import { createSseDecoder } from '../sse/decode.ts'
import type { Credits } from '../models/credits.ts'
import type { SearchQuery } from '../translate/dialect.ts'
import { responsesDialect } from '../translate/responses/dialect.ts'
import { createSearchFold, searchTurn } from '../translate/responses/search-request.ts'
import type { SearchOutcome } from '../translate/turn.ts'
import { askRecovering, encodeContext } from './open-upstream.ts'
import { readUpstream } from './read-upstream.ts'
import { callerLeft, createRequestMeter } from './request-meter.ts'
import { searchModel } from './search-model.ts'
import type { ServeDeps } from './serve-deps.ts'

/** Runs one web search. Rejects only when the answer it is for is over. */
export type WebSearch = (query: SearchQuery) => Promise<SearchOutcome>

const route = `copilot/${responsesDialect.id}`

/** The answer that searches are for. */
interface SearchedAnswer {
  readonly requestId: string
  /** Of the caller, for whom the searches are counted. */
  readonly keyName: string | undefined
  /** The user's turn that the answer belongs to, and its searches too. */
  readonly turn: Interaction | undefined
  readonly signal: AbortSignal
  /** Told what each search costs. */
  readonly onCredits: (cost: Credits | undefined) => void
}

/**
 * Runs the searches of one answer, each as a request of its own to a GPT model of the same account: it is counted as one.
 * A search that fails is a result like any other.
 */
export function createWebSearch(
  deps: ServeDeps,
  { requestId, keyName, turn, signal, onCredits }: SearchedAnswer,
): WebSearch {
  const interaction: Interaction | undefined = turn && { purpose: 'subagent', id: turn.id, stated: {} }
  return async (asked) => {
    const model = searchModel(deps)
    if (model === undefined) return { failure: 'unavailable' }
    const meter = createRequestMeter(deps, 'responses', keyName)
    meter.routed(model, route)
    const fold = createSearchFold(asked.tool)
    const settle = (status: number): void => {
      meter.used(fold.usage())
      onCredits(meter.credits())
      meter.end(status)
    }
    try {
      const to = { model, route, upstreamDialect: responsesDialect }
      const request = responsesDialect.encodeTurn(searchTurn(asked, model), encodeContext(deps, model, route))
      const upstream = await askRecovering(deps, to, request, ({ body, headers }) => {
        const call = { path: responsesDialect.upstreamPath, body, headers, hasImage: false, requestId, interaction }
        return deps.executorOf('copilot').stream({ ...call, initiator: 'agent' }, { signal })
      })
      const frames = createSseDecoder()
      const decoder = responsesDialect.createDecoder({
        id: requestId,
        createdSeconds: 0,
        nowSeconds: () => 0,
        model: model.id,
        requestedModel: model.id,
        traits: model,
        wantsUsage: true,
        notes: {
          tools: new Map(),
          stop: [],
          hasFormat: false,
          hidesThinking: true,
          asksForThinking: false,
          echo: undefined,
        },
        redact: deps.redact,
      })
      await readUpstream(upstream, (chunk) => {
        for (const event of frames.push(chunk)) fold.push(decoder.push(event))
        return fold.isDone() ? 'done' : 'go'
      })
      if (!fold.isDone()) fold.push(decoder.end())
      settle(200)
      const outcome = fold.outcome()
      const pages = 'pages' in outcome ? outcome.pages.length : 0
      deps.log.info({ requestId, ...meter.facts(), pages }, 'web search run')
      return outcome
    } catch (error) {
      if (signal.aborted) {
        settle(callerLeft)
        throw signal.reason
      }
      const failure = error instanceof Fault ? error : new Fault({ kind: 'internal' }, { cause: error })
      const status = statusOf(failure.error)
      settle(status)
      deps.log.warn({ requestId, ...meter.facts(), ...faultFields(failure) }, 'a web search failed')
      return { failure: status === 429 ? 'too_many_requests' : 'unavailable' }
    }
  }
}
