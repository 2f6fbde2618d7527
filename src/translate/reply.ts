import type { CallerDialect } from './caller-dialect.ts'
import type { Continuation, EventReply, ReplyFold, ReplySeed, ReplyStream } from './dialect.ts'
import { createRestorer } from './fit/restore-events.ts'
import { addUsage } from './usage.ts'
import type { TurnEvent, Usage } from './turn.ts'
import type { UpstreamDialect } from './upstream-dialect.ts'
import { createSearchRounds } from './web-search.ts'

/** A translated reply as SSE text in the caller's dialect. */
export function createTranslatedStream(caller: CallerDialect, upstream: UpstreamDialect, seed: ReplySeed): ReplyStream {
  const { push: read, end, ...watch } = createEventReply(upstream, seed)
  const { push, record, reasoning, fail } = caller.createTurnStream(seed)
  const encode = (events: readonly TurnEvent[]): string => {
    let text = ''
    for (const event of events) text += push(event)
    return text
  }
  return { ...watch, record, reasoning, fail, push: (event) => encode(read(event)), end: () => encode(end()) }
}

/** A translated reply as one body in the caller's dialect. */
export function createTranslatedFold(caller: CallerDialect, upstream: UpstreamDialect, seed: ReplySeed): ReplyFold {
  const { push: read, end, ...watch } = createEventReply(upstream, seed)
  const { push, body, record, reasoning } = caller.createTurnFold(seed)
  const fold = (events: readonly TurnEvent[]): void => {
    for (const event of events) push(event)
  }
  return {
    ...watch,
    record,
    reasoning,
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
 * for web searches that the proxy runs. The caller sees one `start`, one `stop` and the usage of all replies.
 */
export function createEventReply(upstream: UpstreamDialect, seed: ReplySeed): EventReply {
  const { notes } = seed
  const searches = notes.search && createSearchRounds(notes.search)
  const restorer = createRestorer(notes)
  let decoder = upstream.createDecoder(seed)
  /** Usage so far, as the caller was told. */
  let usage: Usage | undefined
  /** Usage of replies whose decoder is gone. */
  let earlierUsage: Usage | undefined
  let earlierSkipped = 0
  /** Upstream's reply is complete. */
  let done = false
  /** The caller's answer is complete, for example at a stop text that the proxy watches for. */
  let hasStopped = false
  /** The request that upstream is answering; set only if the proxy continues pauses. */
  let request = seed.sent
  let continuations = 0
  /** The `stop` of a paused answer. The caller gets it only if the answer is not continued. */
  let pause: TurnEvent | undefined
  /** Events that go out before the next ones. */
  let pending: readonly TurnEvent[] = []

  function emit(decoded: readonly TurnEvent[]): readonly TurnEvent[] {
    const events = searches === undefined ? decoded : searches.push(withTotals(decoded))
    if (searches?.isWaiting() === true) done = true
    const emitted = restorer === undefined ? events : events.flatMap(restorer.push)
    for (const event of emitted) {
      if (event.type === 'usage') usage = event.usage
      else if (event.type === 'stop') {
        done = true
        hasStopped = true
        if (event.reason !== 'pause' || request === undefined) continue
        pause = event
        hasStopped = false
        // A `stop` is the last event.
        return emitted.slice(0, -1)
      }
    }
    return emitted
  }

  /** Each search request has a usage of its own; the caller sees one answer. */
  function withTotals(events: readonly TurnEvent[]): readonly TurnEvent[] {
    const count = searches?.count() ?? 0
    return events.map((event) => {
      if (event.type !== 'usage') return event
      const total = addUsage(earlierUsage, event.usage) ?? event.usage
      return { type: 'usage', usage: count === 0 ? total : { ...total, searches: count } }
    })
  }

  function withPending(events: readonly TurnEvent[]): readonly TurnEvent[] {
    if (pending.length === 0) return events
    const all = [...pending, ...events]
    pending = []
    return all
  }

  /** The model has called for searches. */
  function continueAfterSearches(rounds: NonNullable<typeof searches>): Continuation {
    return {
      searches: rounds.searches(),
      next(outcomes, context) {
        const resumed = rounds.resume(outcomes, context)
        if (usage !== undefined && rounds.count() > 0) {
          usage = { ...usage, searches: rounds.count() }
          pending = [...pending, { type: 'usage', usage }]
        }
        pending = [...pending, ...resumed.events]
        if (resumed.request === undefined) return undefined
        earlierUsage = usage
        earlierSkipped += decoder.skipped()
        continuations += 1
        decoder = upstream.createDecoder({ ...seed, id: `${seed.id}r${continuations}` })
        done = false
        return resumed.request
      },
      refused() {
        done = true
        pending = [...pending, ...rounds.endAnswer()]
      },
    }
  }

  /** Upstream has paused the answer. */
  function continueAfterPause(): Continuation | undefined {
    const stop = pause
    if (stop === undefined || request === undefined) return undefined
    pause = undefined
    const refused = (): void => {
      done = true
      pending = [...pending, stop]
    }
    const next = continuations < maxContinuations ? decoder.continuation?.(request) : undefined
    if (next === undefined) {
      refused()
      return undefined
    }
    request = next
    continuations += 1
    done = false
    return { searches: [], next: () => next, refused }
  }

  return {
    push: (event) => (done ? [] : withPending(emit(decoder.push(event)))),
    end: () => withPending(done ? [] : emit(decoder.end())),
    isDone: () => done,
    usage: () => usage,
    skipped: () => earlierSkipped + decoder.skipped(),
    continuation() {
      // Upstream may leave out its last event.
      if (!done) pending = [...pending, ...emit(decoder.end())]
      return searches?.isWaiting() === true && !hasStopped ? continueAfterSearches(searches) : continueAfterPause()
    },
  }
}
