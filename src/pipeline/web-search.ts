import type { CallerKey } from '../config/caller.ts'
import { endOf, statusOf, toFault } from '../errors.ts'
import type { Interaction } from '../executors/executor.ts'
import type { CallerRequest, EncodeContext, ReplySeed } from '../translate/dialect.ts'
import { dialects } from '../translate/dialects.ts'
import { createEventReply } from '../translate/reply.ts'
import { createSearchFold, searchTurn } from '../translate/search-request.ts'
import type { SearchQuery } from '../translate/search-request.ts'
import { translateTurn } from '../translate/translated-call.ts'
import type { ChangeTurn } from '../translate/translated-call.ts'
import type { SearchOutcome, Turn } from '../translate/turn.ts'
import { createSearchRounds, emulateSearch } from '../translate/web-search.ts'
import type { EmulatedTurn } from '../translate/web-search.ts'
import { askUpstream, encodeContext } from './ask-upstream.ts'
import type { UpstreamTarget } from './ask-upstream.ts'
import type { PipelineState } from './pipeline-state.ts'
import { askToContinue, readReplies } from './read-answer.ts'
import type { EventReading } from './read-answer.ts'
import { createRequestMeter } from './request-meter.ts'
import type { Outcome, RequestMeter } from './request-meter.ts'
import { canRunSearch, searchModel } from './search-model.ts'

/** The answer that needs the searches. */
interface SearchedAnswer {
  readonly target: UpstreamTarget
  readonly seed: ReplySeed
  /** The searches count for this API key. */
  readonly key: CallerKey | undefined
  readonly meter: Pick<RequestMeter, 'searched'>
}

/** Runs the web searches of a request for a model without web search. */
interface SearchDecorator {
  /** Gives the request a function in place of its search tool. */
  readonly change: ChangeTurn
  /** Undefined if the request that was changed last offers no search that the proxy can run. */
  readonly addRounds: (answer: SearchedAnswer) => ((first: EventReading) => EventReading) | undefined
}

/** Returns undefined if the request offers no search, upstream searches itself or the proxy can run no search. */
export function createSearchDecorator(
  state: PipelineState,
  { offersSearch }: CallerRequest,
  { model, dialect }: Pick<UpstreamTarget, 'model' | 'dialect'>,
  { learnedRefusals }: EncodeContext,
): SearchDecorator | undefined {
  // Requests for one provider are never sent to another.
  if (!offersSearch || model.provider !== 'copilot') return undefined
  if (dialect.accepts(learnedRefusals).webSearch || !canRunSearch(state)) return undefined
  let emulated: EmulatedTurn | undefined
  return {
    change(decoded) {
      emulated = emulateSearch(decoded.turn)
      if (emulated === undefined) return decoded
      return { ...decoded, turn: emulated.turn, warnings: [...decoded.warnings, ...emulated.warnings] }
    },
    addRounds: (answer) => emulated && addRounds(state, answer, emulated),
  }
}

/**
 * Adds rounds to a model's answer: runs the searches that the model calls for and asks it again with their results, until it
 * calls for none. The reading holds the Turn until the answer ends, because each round needs a request made from it.
 */
function addRounds(
  state: PipelineState,
  answer: SearchedAnswer,
  emulated: EmulatedTurn,
): (first: EventReading) => EventReading {
  const { target, seed } = answer
  const { dialect } = target
  const rounds = createSearchRounds(emulated)
  let count = 0

  async function askAgain(turn: Turn, searches: number): Promise<EventReading | undefined> {
    const encode = (context: EncodeContext) => translateTurn(dialect, { turn, warnings: [] }, context)
    let translated = encode(encodeContext(state, target))
    const upstream = await askToContinue(state, target, translated.request, {
      searches,
      encodeAgain(context) {
        translated = encode(context)
        return translated.request
      },
    })
    count += 1
    const nextSeed = { ...seed, id: `${seed.id}s${count}`, notes: translated.reader.notes }
    return upstream && readReplies(state, target, upstream, createEventReply(dialect, nextSeed))
  }

  return (first) => {
    let round = first
    let skippedBefore = 0
    return {
      usage: rounds.usage,
      skipped: () => skippedBefore + round.skipped(),
      async read(take, flush, stop) {
        for (;;) {
          take(rounds.push(await round.read((events, event) => take(rounds.push(events), event), flush, stop)))
          if (!rounds.isWaiting()) return []
          // The caller sees the searches before their results.
          await flush()
          stop?.throwIfAborted()
          const searches = rounds.searches()
          const outcomes = await Promise.all(searches.map((query) => runSearch(state, answer, query)))
          const { events, turn } = rounds.resume(outcomes)
          take(events)
          stop?.throwIfAborted()
          const next = turn && (await askAgain(turn, searches.length))
          if (next === undefined) return rounds.endAnswer()
          skippedBefore += round.skipped()
          round = next
        }
      },
    }
  }
}

/** Copilot's models search the web in this dialect only. */
const searchDialect = dialects.responses.upstream
const route = `copilot/${searchDialect.id}`

/**
 * Runs one web search. Each is a separate request to a GPT model of the same account, and counts as one. A failed search
 * is a result, not an error: rejects only if the answer's signal is aborted.
 */
async function runSearch(
  state: PipelineState,
  { target: { signal, call: answered }, key, meter }: SearchedAnswer,
  query: SearchQuery,
): Promise<SearchOutcome> {
  const { requestId } = answered
  // The searches belong to the user turn of the answer.
  const interaction: Interaction | undefined = answered.interaction && {
    purpose: 'subagent',
    id: answered.interaction.id,
    stated: {},
  }
  const model = searchModel(state)
  if (model === undefined) return { failure: 'unavailable' }
  const own = createRequestMeter(state, { id: requestId, kind: 'search', key })
  own.routed(model, route)
  const fold = createSearchFold(query.tool)
  const finish = (end: Outcome, fields?: { readonly pages: number }): void => {
    own.used(fold.usage())
    meter.searched(own.credits())
    own.finish(end, fields)
  }
  try {
    const call = { path: searchDialect.path, hasImage: false, requestId, interaction }
    const executor = state.executorOf('copilot')
    const target = { model, route, dialect: searchDialect, executor, call, signal }
    const encodeAgain = (context: EncodeContext) => searchDialect.encodeTurn(searchTurn(query, model), context)
    const request = encodeAgain(encodeContext(state, target))
    const upstream = await askUpstream(state, target, request, { initiator: 'agent', encodeAgain })
    const reply = createEventReply(searchDialect, {
      id: state.randomId(),
      createdSeconds: 0,
      nowSeconds: () => 0,
      model: model.id,
      requestedModel: model.id,
      traits: model,
      notes: { tools: new Map(), stop: [] },
      redact: state.redact,
    })
    const last = await readReplies(state, target, upstream, reply).read(
      (events) => fold.push(events),
      () => 'go',
    )
    fold.push(last)
    const outcome = fold.outcome()
    finish('answered', { pages: 'pages' in outcome ? outcome.pages.length : 0 })
    return outcome
  } catch (error) {
    finish(endOf(error, signal))
    signal.throwIfAborted()
    return { failure: statusOf(toFault(error).error) === 429 ? 'too_many_requests' : 'unavailable' }
  }
}
