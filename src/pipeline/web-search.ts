import { statusOf, toFault } from '../errors.ts'
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
import { encodeContext } from './ask-upstream.ts'
import type { UpstreamTarget } from './ask-upstream.ts'
import type { PipelineState } from './pipeline-state.ts'
import { askToContinue, readReplies } from './read-answer.ts'
import type { EventReading } from './read-answer.ts'
import { canRunSearch, searchModel } from './search-model.ts'
import { runSideRequest, type ServedAnswer } from './side-request.ts'

/** The answer that needs the searches. */
interface SearchedAnswer extends ServedAnswer {
  readonly seed: ReplySeed
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

/**
 * Runs one web search. Each is a separate request to a GPT model of the same account, and counts as one. A failed search
 * is a result, not an error: rejects only if the answer's signal is aborted.
 */
async function runSearch(state: PipelineState, answer: SearchedAnswer, query: SearchQuery): Promise<SearchOutcome> {
  const { signal } = answer.target
  const model = searchModel(state)
  if (model === undefined) return { failure: 'unavailable' }
  const fold = createSearchFold(query.tool)
  try {
    await runSideRequest(state, answer, {
      kind: 'search',
      model,
      dialect: searchDialect,
      turn: searchTurn(query, model),
      signal,
      take: (events) => fold.push(events),
      fields() {
        const outcome = fold.outcome()
        return { pages: 'pages' in outcome ? outcome.pages.length : 0 }
      },
    })
    return fold.outcome()
  } catch (error) {
    signal.throwIfAborted()
    return { failure: statusOf(toFault(error).error) === 429 ? 'too_many_requests' : 'unavailable' }
  }
}
