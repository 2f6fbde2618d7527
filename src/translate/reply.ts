import type {
  CallerDialect,
  Continuation,
  EncodedRequest,
  EventReply,
  ReplyFold,
  ReplySeed,
  ReplyStream,
  UpstreamDialect,
} from './dialect.ts'
import { createRestorer } from './fit/restore-events.ts'
import { grow, startFoldSize } from './parts/fold-size.ts'
import { lengthOfEvent } from './fold-turn.ts'
import { addUsage } from './usage.ts'
import type { TurnEvent, Usage } from './turn.ts'
import { createSearchRounds, type SearchRounds } from './web-search.ts'

/** A translated reply as SSE text in the caller's dialect. */
export function createTranslatedStream(caller: CallerDialect, upstream: UpstreamDialect, seed: ReplySeed): ReplyStream {
  const { push: read, end, ...watch } = createEventReply(upstream, seed)
  const { push, remember, fail } = caller.createTurnStream(seed)
  const encode = (events: readonly TurnEvent[]): string => {
    let text = ''
    for (const event of events) text += push(event)
    return text
  }
  return { ...watch, remember, fail, push: (event) => encode(read(event)), end: () => encode(end()) }
}

/** A translated reply as one body in the caller's dialect. */
export function createTranslatedFold(caller: CallerDialect, upstream: UpstreamDialect, seed: ReplySeed): ReplyFold {
  const { push: read, end, ...watch } = createEventReply(upstream, seed)
  const { push, body, remember } = caller.createTurnFold(seed)
  const size = startFoldSize()
  const fold = (events: readonly TurnEvent[]): void => {
    for (const event of events) {
      grow(size, lengthOfEvent(event))
      push(event)
    }
  }
  return {
    ...watch,
    remember,
    push: (event) => fold(read(event)),
    end() {
      fold(end())
      return body()
    },
  }
}

/** A paused answer is continued at most this often; then it ends where it is. */
const maxContinuations = 5

/**
 * One answer as events, over as many upstream replies as the answer takes: upstream may pause it, and the model may call
 * for web searches that the proxy runs. The caller sees one `start`, one `stop`, consecutive slots and the usage of all
 * replies.
 */
export function createEventReply(upstream: UpstreamDialect, seed: ReplySeed): EventReply {
  const { notes } = seed
  const searches = notes.search && createSearchRounds(notes.search)
  const restore = createRestorer(notes)
  let decoder = upstream.createDecoder(seed)
  /** Usage so far, as emitted to the caller. */
  let usage: Usage | undefined
  /** Totals of the answer's earlier replies. */
  let earlier: { readonly usage: Usage | undefined; readonly skipped: number } = { usage, skipped: 0 }
  /** The first slot of the current reply. */
  let firstSlot = 0
  let nextSlot = 0
  /** Upstream's reply is complete. */
  let done = false
  /** The caller's answer is complete, for example at a stop text that the proxy watches for. */
  let hasStopped = false
  let continuations = 0
  /** The `stop` of a paused answer. The caller gets it only if the answer is not continued. */
  let pause: TurnEvent | undefined
  /** Events that go out before the next ones. */
  let pending: readonly TurnEvent[] = []

  function emit(decoded: readonly TurnEvent[]): readonly TurnEvent[] {
    const joined = continuations === 0 ? decoded : decoded.flatMap(join)
    const events = searches === undefined ? joined : searches.push(joined)
    if (searches?.isWaiting() === true) done = true
    const emitted = restore === undefined ? events : events.flatMap(restore)
    for (const event of emitted) {
      if (event.type === 'usage') usage = event.usage
      else if (event.type === 'stop') {
        done = true
        hasStopped = true
        if (event.reason !== 'pause' || decoder.continuation === undefined) continue
        pause = event
        hasStopped = false
        // A `stop` is the last event.
        return emitted.slice(0, -1)
      } else if (event.type !== 'start' && event.slot >= nextSlot) nextSlot = event.slot + 1
    }
    return emitted
  }

  /** Makes the events of a continuation those of one answer. */
  function join(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'start':
        return []
      case 'stop':
        return [event]
      case 'usage':
        return [{ type: 'usage', usage: withSearches(addUsage(earlier.usage, event.usage) ?? event.usage) }]
      default:
        return [{ ...event, slot: firstSlot + event.slot }]
    }
  }

  function withSearches(counts: Usage): Usage {
    const count = searches?.count() ?? 0
    return count === 0 ? counts : { ...counts, searches: count }
  }

  function withPending(events: readonly TurnEvent[]): readonly TurnEvent[] {
    if (pending.length === 0) return events
    const all = [...pending, ...events]
    pending = []
    return all
  }

  /** Prepares for the reply that continues the answer. */
  function continueWith(request: EncodedRequest): EncodedRequest {
    earlier = { usage, skipped: skipped() }
    firstSlot = nextSlot
    continuations += 1
    const id = `${seed.id}r${continuations}`
    decoder = upstream.createDecoder({ ...seed, id, notes: { ...notes, upstream: request.replyNotes } })
    done = false
    return request
  }

  function endWith(events: readonly TurnEvent[]): void {
    done = true
    pending = [...pending, ...events]
  }

  /** The model has called for searches. */
  function continueAfterSearches(rounds: SearchRounds): Continuation {
    return {
      searches: rounds.searches(),
      next(outcomes, context) {
        const resumed = rounds.resume(outcomes, context)
        if (usage !== undefined && rounds.count() > 0) {
          usage = withSearches(usage)
          pending = [...pending, { type: 'usage', usage }]
        }
        pending = [...pending, ...resumed.events]
        return resumed.request && continueWith(resumed.request)
      },
      refused: () => endWith(rounds.endAnswer()),
    }
  }

  /** Upstream has paused the answer. */
  function continueAfterPause(stop: TurnEvent): Continuation | undefined {
    pause = undefined
    const refused = (): void => endWith([stop])
    const request = continuations < maxContinuations ? decoder.continuation?.() : undefined
    if (request !== undefined) return { searches: [], next: () => continueWith(request), refused }
    refused()
    return undefined
  }

  const skipped = (): number => earlier.skipped + decoder.skipped()
  return {
    push: (event) => (done ? [] : withPending(emit(decoder.push(event)))),
    end: () => withPending(done ? [] : emit(decoder.end())),
    isDone: () => done,
    usage: () => usage,
    skipped,
    continuation() {
      // Upstream may leave out its last event.
      if (!done) pending = [...pending, ...emit(decoder.end())]
      if (searches?.isWaiting() === true && !hasStopped) return continueAfterSearches(searches)
      return pause && continueAfterPause(pause)
    },
  }
}
