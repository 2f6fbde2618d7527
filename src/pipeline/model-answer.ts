import type { CallerKey } from '../config/caller.ts'
import { callerLeft, Fault, faultFields, statusOf, statusOfEnd, toFault, withHeaders } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import type { Model } from '../models/model.ts'
import { createSseDecoder, isKeepAlive } from '../sse/decode.ts'
import { encodeData, encodeEvent } from '../sse/encode.ts'
import type { SseEvent } from '../sse/decode.ts'
import type { Continuation, EventReply, Reply, ReplySeed } from '../translate/dialect.ts'
import { createEventReply } from '../translate/reply.ts'
import type { EventReader } from '../translate/translated-call.ts'
import type { TurnEvent, Usage } from '../translate/turn.ts'
import type { Warning } from '../translate/warning.ts'
import { askUpstream, encodeContext, isStatus } from './ask-upstream.ts'
import type { UpstreamTarget } from './ask-upstream.ts'
import type { PipelineState } from './pipeline-state.ts'
import { readUpstream } from './read-upstream.ts'
import type { ChunkVerdict } from './read-upstream.ts'
import type { RequestMeter } from './request-meter.ts'
import { createWebSearch } from './web-search.ts'

/** More fields of the log line at a request's end. */
type EndFields = Readonly<Record<string, unknown>> & { readonly status?: number | undefined }

export interface AnswerEvent {
  readonly event: TurnEvent
  /**
   * SSE text of the upstream events since the previous `event`, before they were normalised. Absent if there is none, for
   * example for the second of two that one upstream event decodes to.
   */
  readonly rawText?: string
}

/**
 * An answer that upstream has started. Read it once, with `events` or with `read`. An answer that nobody reads counts as a
 * running request until its signal is aborted.
 */
export interface ModelAnswer<Reader extends EventReader = EventReader> {
  readonly model: Model
  /** `copilot/chat` */
  readonly route: string
  readonly warnings: readonly Warning[]
  /** Upstream's first reply: headers that callers may see, and the longest allowed silence. */
  readonly upstream: Pick<UpstreamStream, 'headers' | 'idleMs'>
  /** The answer as TurnEvents. Leaving the loop early cancels the upstream request. */
  readonly events: AsyncIterable<AnswerEvent>
  readonly reader: Reader
  /** For the reply that `reader` creates. */
  readonly seed: ReplySeed
  /**
   * Reads the answer to its end, which may take several upstream replies, and returns the result of `reply.end`. Uses
   * callbacks because an async iteration costs two promises per upstream chunk, and a chunk is one token.
   * @param take called with what each upstream event adds to the reply
   * @param flush called after each chunk; a promise pauses upstream until it settles
   * @throws Fault; the signal's reason on abort
   */
  readonly read: <Out, End>(reply: Reply<Out, End>, take: (out: Out) => void, flush: () => ChunkVerdict) => Promise<End>
  /** Counts and logs the answer. Call after `read` has ended or failed; `events` does so itself. */
  readonly settle: (fields: EndFields, failure?: Fault) => void
}

/** The state of an answer. It lives as long as the stream, so it keeps the caller's body only if needed again. */
export interface AnswerParts<Reader extends EventReader> {
  readonly target: UpstreamTarget
  readonly upstream: UpstreamStream
  readonly reader: Reader
  readonly seed: ReplySeed
  readonly warnings: readonly Warning[]
  readonly key: CallerKey | undefined
  readonly meter: RequestMeter
  /** The caller's model name, if upstream chose the model. */
  readonly chosenFor: string | undefined
  /** Called with the answer's usage, if cache diagnostics are on. */
  readonly watchUsage: ((usage: Usage | undefined) => void) | undefined
  /** Ends the request's admission. */
  readonly leave: () => void
}

export function createAnswer<Reader extends EventReader>(
  state: PipelineState,
  parts: AnswerParts<Reader>,
): ModelAnswer<Reader> {
  const { target, upstream: firstUpstream, reader, seed, warnings, meter } = parts
  let skipped = 0
  const abandon = (): void => {
    parts.leave()
    settle({ status: statusOfEnd(undefined, target.signal) })
  }
  target.signal.addEventListener('abort', abandon, { once: true })

  async function read<Out, End>(
    reply: Reply<Out, End>,
    take: (out: Out) => void,
    flush: () => ChunkVerdict,
    signal?: AbortSignal,
  ): Promise<End> {
    target.signal.removeEventListener('abort', abandon)
    let upstream = firstUpstream
    try {
      await readReply(upstream, reply, take, flush, signal)
      for (let more = reply.continuation?.(); more !== undefined; more = reply.continuation?.()) {
        const flushed = flush()
        if (flushed instanceof Promise) await flushed
        const next = await continueAnswer(state, parts, more)
        if (next === undefined) continue
        upstream = next
        await readReply(next, reply, take, flush, signal)
      }
      const end = reply.end()
      reply.remember?.(state.memoryOf(parts.key))
      return end
    } catch (error) {
      throw withHeaders(error, upstream.headers)
    } finally {
      skipped = reply.skipped()
      const usage = reply.usage()
      meter.used(usage)
      parts.watchUsage?.(usage)
      parts.leave()
    }
  }

  function settle(fields: EndFields, failure?: Fault): void {
    const { key } = parts
    settleTurn(state, { requestId: target.call.requestId, key, meter }, { ...answerFields(), ...fields }, failure)
  }

  function answerFields(): Readonly<Record<string, unknown>> {
    return {
      ...(parts.chosenFor !== undefined && { chosenFor: parts.chosenFor }),
      ...(skipped > 0 && { skippedEvents: skipped }),
    }
  }

  return {
    model: target.model,
    route: target.route,
    warnings,
    upstream: firstUpstream,
    reader,
    seed,
    read,
    settle,
    events: iterate(() => createEventReply(target.dialect, seed), read, settle, target.signal, meter.firstByte),
  }
}

interface SettledCall {
  readonly requestId: string
  readonly key: CallerKey | undefined
  readonly meter: RequestMeter
}

export const callerLeftMessage = 'the caller disconnected before the answer was complete'

/**
 * Logs the end of a request and ends its meter.
 * @param fields `status`: that of the whole request, by default 200 or the failure's. `httpStatus`: that of the head, if
 * it was another.
 */
export function settleTurn(
  { log }: Pick<PipelineState, 'log'>,
  { requestId, key, meter }: SettledCall,
  fields: EndFields,
  failure?: Fault,
): void {
  const ended = failure === undefined ? 200 : statusOf(failure.error)
  const { status = ended, ...others } = fields
  const line = { requestId, ...meter.facts(), status, ...others, key: key?.name, ...(failure && faultFields(failure)) }
  meter.end(status)
  if (failure !== undefined) log.warn(line, 'stream ended in an error event')
  else log.info(line, status === callerLeft ? callerLeftMessage : 'request served')
  meter.record(line)
}

async function readReply<Out>(
  upstream: UpstreamStream,
  reply: Reply<Out, unknown>,
  take: (out: Out) => void,
  flush: () => ChunkVerdict,
  signal: AbortSignal | undefined,
): Promise<void> {
  const decoder = createSseDecoder()
  await readUpstream(
    upstream,
    (chunk) => {
      let isQuiet = true
      for (const event of decoder.push(chunk)) {
        isQuiet &&= isKeepAlive(event)
        take(reply.push(event))
        // The reply's end flushes what the last chunk added.
        if (reply.isDone()) return 'done'
      }
      const flushed = flush()
      return isQuiet && flushed === 'go' ? 'quiet' : flushed
    },
    signal,
  )
  for (const event of decoder.end()) take(reply.push(event))
}

/**
 * Continues an answer that upstream has paused or that waits for web searches. Returns undefined if no further request
 * is needed or upstream refuses it: the answer then ends as it is.
 */
async function continueAnswer(
  state: PipelineState,
  { target, key, meter }: AnswerParts<EventReader>,
  { searches, next, refused }: Continuation,
): Promise<UpstreamStream | undefined> {
  const { model, signal } = target
  const { requestId, interaction: turn } = target.call
  const search = createWebSearch(state, { requestId, key, turn, signal, onCredits: meter.searched })
  const request = next(await Promise.all(searches.map(search)), encodeContext(state, target))
  if (request === undefined) return undefined
  state.log.info({ requestId, model: model.id, searches: searches.length }, 'continuing an answer')
  try {
    return await askUpstream(state, target, request, { initiator: 'agent', encodeAgain: request.encodeAgain })
  } catch (error) {
    // These statuses refuse the model's own output, or a request that upstream accepted before. A retry would fail again,
    // and a partial answer is worth more to the caller than a failure.
    if (!(error instanceof Fault) || !isStatus(error, [400, 404, 413, 422])) throw error
    state.log.warn({ requestId, model: model.id, ...faultFields(error) }, 'the provider did not continue the answer')
    refused()
    return undefined
  }
}

/** Upstream is paused while this many events wait for the reader. */
const maxPending = 256

/** Adapts the callbacks of `read` to an async iteration. */
async function* iterate(
  createReply: () => EventReply,
  read: (
    reply: EventReply,
    take: (events: readonly TurnEvent[]) => void,
    flush: () => ChunkVerdict,
    signal: AbortSignal,
  ) => Promise<readonly TurnEvent[]>,
  settle: ModelAnswer['settle'],
  signal: AbortSignal,
  onEvents: () => void,
): AsyncGenerator<AnswerEvent> {
  const reply = createReply()
  const abort = new AbortController()
  let pending: AnswerEvent[] = []
  let isOver = false
  let more = Promise.withResolvers<void>()
  let taken = Promise.withResolvers<void>()
  let rawText: string | undefined

  const add = (events: readonly TurnEvent[]): void => {
    if (events.length > 0) onEvents()
    for (const event of events) {
      pending.push(rawText === undefined ? { event } : { event, rawText })
      rawText = undefined
    }
  }
  const push = (event: SseEvent): readonly TurnEvent[] => {
    const text = event.event === '' ? encodeData(event.data) : encodeEvent(event.event, event.data)
    rawText = (rawText ?? '') + text
    return reply.push(event)
  }
  const flush = (): ChunkVerdict => {
    more.resolve()
    if (pending.length < maxPending) return 'go'
    taken = Promise.withResolvers<void>()
    return taken.promise
  }
  const readAll = async (): Promise<void> => {
    try {
      const last = await read({ ...reply, push }, add, flush, abort.signal)
      add(last)
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
    settle({})
  } catch (error) {
    const status = statusOfEnd(error, signal)
    if (status === callerLeft) settle({ status })
    else settle({ status }, toFault(error))
    throw error
  } finally {
    if (!hasEnded) {
      settle({ status: callerLeft })
      abort.abort()
    }
  }
}
