import { waitFor } from '../auth/shared-fetch.ts'
import type { CallerKey } from '../config/caller.ts'
import { endOf, Fault, isFromProvider, toFault } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import type { Model } from '../models/model.ts'
import { encodeData, encodeEvent } from '../sse/encode.ts'
import type { SseEvent } from '../sse/decode.ts'
import type { Dialect, Reply, ReplySeed } from '../translate/dialect.ts'
import { createEventReply, createFoldWriter, createStreamWriter } from '../translate/reply.ts'
import type { EventReader, ReplyReader } from '../translate/translated-call.ts'
import type { ReplyMemory } from '../translate/reply-memory.ts'
import type { TurnEvent, Usage } from '../translate/turn.ts'
import type { Warning } from '../translate/warning.ts'
import type { UpstreamTarget } from './ask-upstream.ts'
import type { PipelineState } from './pipeline-state.ts'
import { readReplies, writeReading } from './read-answer.ts'
import type { EventReading, Reading, Take } from './read-answer.ts'
import type { ChunkVerdict } from './read-upstream.ts'
import type { RequestMeter } from './request-meter.ts'
import type { SafeguardsDecorator } from './safeguards.ts'

export interface AnswerEvent {
  readonly event: TurnEvent
  /**
   * SSE text of the upstream events since the previous `event`, before they were normalised. Absent if there is none, for
   * example for the second of two that one upstream event decodes to.
   */
  readonly rawText?: string
}

/**
 * An answer that upstream has started. Read it once. An answer that nobody reads counts as a running request until its
 * signal is aborted.
 */
export interface ModelAnswer {
  readonly model: Model
  /** `copilot/chat` */
  readonly route: string
  readonly warnings: readonly Warning[]
  /** The answer as TurnEvents. Leaving the loop early cancels the upstream request. */
  readonly events: AsyncIterable<AnswerEvent>
}

/** An answer in the caller's dialect. */
export interface CallerAnswer extends ModelAnswer {
  /** Headers of upstream's first reply that callers may see. */
  readonly headers: UpstreamStream['headers']
  /**
   * Writes the answer as an event stream. Returns the failure if the stream ended in an error event.
   * @throws Fault before the first byte; the signal's reason if the caller left
   */
  readonly stream: (sink: AnswerSink) => Promise<Fault | undefined>
  /**
   * The complete body: a fold over the events that a streaming caller would receive.
   * @throws Fault; the signal's reason on abort
   */
  readonly body: () => Promise<unknown>
}

/** Where an answer is streamed to. */
export interface AnswerSink {
  /** False if the caller is slow: wait for `drained` before writing more. */
  readonly write: (text: string) => boolean
  /**
   * Resolves when the caller has read everything written. Closes the connection of a caller that reads nothing for
   * `timeoutMs`, because a stalled caller would hold a running request forever.
   */
  readonly drained: (timeoutMs: number) => Promise<void>
  /** Writes the text and ends the stream, in one write if the text is short. */
  readonly end: (text: string) => void
  /** Upstream has answered: adds its headers for the caller and allows heartbeats at once. */
  readonly upstreamAnswered: (headers: Readonly<Record<string, string>>) => void
  /** Whether the head has been sent; later failures become error events. */
  readonly isOpen: () => boolean
}

/** The state of an answer. It lives as long as the stream, so it keeps the caller's body only if needed again. */
interface AnswerParts {
  readonly target: UpstreamTarget
  readonly upstream: UpstreamStream
  /** Undefined for a program in this process. */
  readonly caller: Dialect | undefined
  readonly reader: EventReader | ReplyReader
  readonly seed: ReplySeed
  readonly warnings: readonly Warning[]
  readonly key: CallerKey | undefined
  /** Remembers the reply for later requests. */
  readonly memory: () => ReplyMemory
  readonly meter: RequestMeter
  /** Called with the answer's usage, if cache diagnostics are on. */
  readonly watchUsage: ((usage: Usage | undefined) => void) | undefined
  /** Adds verdicts on the calls for a caller that wants them. */
  readonly safeguards: SafeguardsDecorator | undefined
  /** Adds further rounds to the events of upstream's first answer. Undefined: that is the whole answer. */
  readonly addRounds: ((first: EventReading) => EventReading) | undefined
}

export function createAnswer(state: PipelineState, parts: AnswerParts): ModelAnswer | CallerAnswer {
  const { target, upstream, caller, reader, seed, warnings, meter, safeguards, addRounds } = parts
  const { signal } = target
  const { headers, idleMs } = upstream
  const abandon = (): void => meter.finish(endOf(undefined, signal))
  signal.addEventListener('abort', abandon, { once: true })

  async function read<Out, End>(
    reading: Reading<Out, End>,
    take: Take<Out>,
    flush: () => ChunkVerdict,
    stop?: AbortSignal,
  ): Promise<End> {
    signal.removeEventListener('abort', abandon)
    let events = 0
    const count: Take<Out> = (out, event) => {
      if (event !== undefined) events += 1
      take(out, event)
    }
    try {
      const end = await reading.read(count, flush, stop)
      reading.remember?.(parts.memory())
      return end
    } finally {
      const usage = reading.usage()
      meter.used(usage, { all: events, skipped: reading.skipped() })
      parts.watchUsage?.(usage)
    }
  }

  function open<Out, End>(reply: Reply<Out, End>): Reading<Out, End> {
    return readReplies(state, target, upstream, reply)
  }

  function openEvents(): EventReading {
    const first = open(createEventReply(target.dialect, seed))
    return addRounds === undefined ? first : addRounds(first)
  }

  const answer: ModelAnswer = {
    model: target.model,
    route: target.route,
    warnings,
    events: iterate((take, flush, stop) => read(openEvents(), take, flush, stop), meter, signal),
  }
  if (caller === undefined || !('createStream' in reader)) return answer
  return {
    ...answer,
    headers,
    async stream(sink) {
      const writer = addRounds === undefined ? reader.createStream(seed) : createStreamWriter(caller, seed)
      const answered = 'isDone' in writer ? open(writer) : writeReading(openEvents(), writer)
      const reading = safeguards?.checkStream(parts, answered) ?? answered
      sink.upstreamAnswered(headers)
      return streamInto(sink, (take, flush) => read(reading, take, flush), {
        signal,
        idleMs,
        encode: (failure) => (writer.fail ?? caller.errorEvent)(failure, target.call.requestId),
        redact: state.redact,
      })
    },
    body() {
      const answered =
        addRounds === undefined
          ? open(reader.createFold(seed))
          : writeReading(openEvents(), createFoldWriter(caller, seed))
      return read(
        safeguards?.checkBody(parts, answered) ?? answered,
        () => {},
        () => 'go',
      )
    },
  }
}

/** How a stream that fails ends. */
interface StreamEnding {
  readonly signal: AbortSignal
  readonly encode: (error: ProxyError) => string
  readonly redact: (text: string) => string
}

/**
 * Streams what `read` takes, with one write per chunk, however many events the chunk holds, then the end that it returns.
 * Returns the failure if the stream ended in an error event.
 * @throws as `CallerAnswer.stream`
 */
export async function streamInto(
  sink: AnswerSink,
  read: (take: (text: string) => void, flush: () => ChunkVerdict) => Promise<string>,
  how: StreamEnding & Pick<UpstreamStream, 'idleMs'>,
): Promise<Fault | undefined> {
  let text = ''
  const take = (added: string): void => {
    text += added
  }
  const flush = (): ChunkVerdict => {
    const isDrained = text === '' || sink.write(text)
    text = ''
    // The signal matters here: if upstream has finished, nothing else notices that the caller left.
    return isDrained ? 'go' : waitFor(sink.drained(how.idleMs), how.signal)
  }
  try {
    const end = await read(take, flush)
    sink.end(text + end)
    return undefined
  } catch (error) {
    // The failing chunk may have contained events before the failure.
    if (text !== '') sink.write(text)
    return endInEvent(sink, error, how)
  }
}

/**
 * Ends a stream in an error event. Returns the failure.
 * @throws the error if no head has been sent or the caller has left
 */
export function endInEvent(
  sink: Pick<AnswerSink, 'end' | 'isOpen'>,
  error: unknown,
  { signal, encode, redact }: StreamEnding,
): Fault {
  const hasLeft = signal.aborted && !(signal.reason instanceof Fault)
  if (!sink.isOpen() || hasLeft) throw error
  const failure = toFault(error)
  const event = encode(failure.error)
  sink.end(isFromProvider(failure.error) ? redact(event) : event)
  return failure
}

/** Upstream is paused while this many events wait for the reader. */
const maxPending = 256

/** Adapts the callbacks of `read` to an async iteration, and ends the request with it. */
async function* iterate(
  read: (
    take: Take<readonly TurnEvent[]>,
    flush: () => ChunkVerdict,
    stop: AbortSignal,
  ) => Promise<readonly TurnEvent[]>,
  meter: RequestMeter,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent> {
  const abort = new AbortController()
  let pending: AnswerEvent[] = []
  let isOver = false
  let more = Promise.withResolvers<void>()
  let taken = Promise.withResolvers<void>()
  let rawText: string | undefined

  const take = (events: readonly TurnEvent[], sent?: SseEvent): void => {
    if (sent !== undefined) {
      const text = sent.event === '' ? encodeData(sent.data) : encodeEvent(sent.event, sent.data)
      rawText = (rawText ?? '') + text
    }
    if (events.length > 0) meter.firstByte()
    for (const event of events) {
      pending.push(rawText === undefined ? { event } : { event, rawText })
      rawText = undefined
    }
  }
  const flush = (): ChunkVerdict => {
    more.resolve()
    if (pending.length < maxPending) return 'go'
    taken = Promise.withResolvers<void>()
    return taken.promise
  }
  const readAll = async (): Promise<void> => {
    try {
      take(await read(take, flush, abort.signal))
    } finally {
      isOver = true
      more.resolve()
    }
  }

  const reading = readAll()
  // The loop below throws the failure after it has yielded the events before it.
  reading.catch(() => {})
  let hasEnded = false
  try {
    for (;;) {
      const events = pending
      pending = []
      taken.resolve()
      yield* events
      if (pending.length > 0) continue
      if (isOver) break
      more = Promise.withResolvers<void>()
      await more.promise
    }
    hasEnded = true
    await reading
    meter.finish('answered')
  } catch (error) {
    meter.finish(endOf(error, signal))
    throw error
  } finally {
    // The loop was left early, unless the request has ended above.
    meter.finish('left')
    if (!hasEnded) abort.abort()
  }
}
