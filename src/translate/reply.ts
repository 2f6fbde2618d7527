import type {
  Dialect,
  EncodedRequest,
  EventReply,
  Reply,
  ReplyFold,
  ReplySeed,
  ReplyStream,
  UpstreamDialect,
} from './dialect.ts'
import { createRestorer } from './engine/reply/restore-events.ts'
import { grow, startFoldSize } from './engine/reply/fold-size.ts'
import { lengthOfEvent } from './fold-turn.ts'
import { createReplyJoiner } from './engine/reply/join-replies.ts'
import type { TurnEvent } from './turn.ts'

/** Writes the events of an answer in the dialect of a caller. */
export interface EventWriter<Out, End> extends Pick<Reply<Out, End>, 'remember'>, Pick<ReplyStream, 'fail'> {
  readonly push: (events: readonly TurnEvent[]) => Out
  /** @param events the last ones */
  readonly end: (events: readonly TurnEvent[]) => End
}

/** Writes events as SSE text. */
export function createStreamWriter(caller: Dialect, seed: ReplySeed): EventWriter<string, string> {
  const { push, remember, fail } = caller.createTurnStream(seed)
  const encode = (events: readonly TurnEvent[]): string => {
    let text = ''
    for (const event of events) text += push(event)
    return text
  }
  return { remember, fail, push: encode, end: encode }
}

/** Writes events as one body. */
export function createFoldWriter(caller: Dialect, seed: ReplySeed): EventWriter<void, unknown> {
  const { push, body, remember } = caller.createTurnFold(seed)
  const size = startFoldSize()
  const fold = (events: readonly TurnEvent[]): void => {
    for (const event of events) {
      grow(size, lengthOfEvent(event))
      push(event)
    }
  }
  return {
    remember,
    push: fold,
    end(events) {
      fold(events)
      return body()
    },
  }
}

/** A translated reply as SSE text in the caller's dialect. */
export function createTranslatedStream(caller: Dialect, upstream: UpstreamDialect, seed: ReplySeed): ReplyStream {
  return written(createEventReply(upstream, seed), createStreamWriter(caller, seed))
}

/** A translated reply as one body in the caller's dialect. */
export function createTranslatedFold(caller: Dialect, upstream: UpstreamDialect, seed: ReplySeed): ReplyFold {
  return written(createEventReply(upstream, seed), createFoldWriter(caller, seed))
}

function written<Out, End>(
  { push: read, end, ...watch }: EventReply,
  { push, end: endWith, ...writer }: EventWriter<Out, End>,
): Reply<Out, End> & Pick<ReplyStream, 'fail'> {
  return { ...watch, ...writer, push: (event) => push(read(event)), end: () => endWith(end()) }
}

/** A paused answer is continued at most this often; then it ends where it is. */
const maxContinuations = 5

/**
 * One answer as events, over as many upstream replies as the answer takes, because upstream may pause it. The caller sees
 * one `start`, one `stop`, consecutive slots and the usage of all replies.
 */
export function createEventReply(upstream: UpstreamDialect, seed: ReplySeed): EventReply {
  const { notes } = seed
  const restore = createRestorer(notes)
  const joiner = createReplyJoiner()
  let decoder = upstream.createDecoder(seed)
  /** Unknown events of the answer's earlier replies. */
  let skippedBefore = 0
  let done = false
  let continuations = 0
  /** The `stop` of a paused answer. The caller gets it only if the answer is not continued. */
  let pause: TurnEvent | undefined
  /** Events that go out before the next ones. */
  let pending: readonly TurnEvent[] = []

  function emit(decoded: readonly TurnEvent[]): readonly TurnEvent[] {
    const joined = joiner.push(decoded)
    const events = restore === undefined ? joined : joined.flatMap(restore)
    const last = events.at(-1)
    // A `stop` is the last event.
    if (last?.type !== 'stop') return events
    done = true
    if (last.reason !== 'pause' || decoder.continuation === undefined) return events
    pause = last
    return events.slice(0, -1)
  }

  function withPending(events: readonly TurnEvent[]): readonly TurnEvent[] {
    if (pending.length === 0) return events
    const all = [...pending, ...events]
    pending = []
    return all
  }

  /** Prepares for the reply that continues the answer. */
  function continueWith(request: EncodedRequest): void {
    skippedBefore = skipped()
    joiner.next()
    continuations += 1
    const id = `${seed.id}r${continuations}`
    decoder = upstream.createDecoder({ ...seed, id, notes: { ...notes, upstream: request.replyNotes } })
    done = false
  }

  const skipped = (): number => skippedBefore + decoder.skipped()
  return {
    push: (event) => (done ? [] : withPending(emit(decoder.push(event)))),
    end: () => withPending(done ? [] : emit(decoder.end())),
    isDone: () => done,
    usage: joiner.usage,
    skipped,
    continuation() {
      // Upstream may leave out its last event.
      if (!done) pending = [...pending, ...emit(decoder.end())]
      if (pause === undefined) return undefined
      const stop = pause
      pause = undefined
      const refused = (): void => {
        done = true
        pending = [...pending, stop]
      }
      const request = continuations < maxContinuations ? decoder.continuation?.() : undefined
      if (request === undefined) refused()
      else continueWith(request)
      return request && { request, refused }
    },
  }
}
