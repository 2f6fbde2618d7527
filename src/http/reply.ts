import { Fault, withHeaders } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import { createSseDecoder } from '../sse/decode.ts'
import type { Continuation, Dialect, ReplyReasoning, ReplyRecord, ReplySeed } from '../translate/dialect.ts'
import type { ReplyReader } from '../translate/exchange.ts'
import type { Usage } from '../translate/turn.ts'
import { waitFor } from '../wait-for.ts'
import type { EventStream } from './event-stream.ts'
import { readUpstream } from './read-upstream.ts'

export interface ReplyContext {
  /** The caller's. */
  readonly dialect: Dialect
  readonly reader: ReplyReader
  readonly upstream: UpstreamStream
  /** Asks for the rest of an answer that upstream has paused. Undefined where upstream does not take it. */
  readonly continueAnswer: (continuation: Continuation) => Promise<UpstreamStream | undefined>
  readonly seed: ReplySeed
  readonly requestId: string
  /** Aborted when the caller leaves, or with a Fault as its reason when the daemon ends the request. */
  readonly signal: AbortSignal
  /** Hears at the end, whatever end it is, what the model has read and written as far as upstream has said. */
  readonly onUsage: (usage: Usage | undefined) => void
}

/** How a reply went, for the log. */
export interface ReplyReport {
  /** Upstream events that said nothing that is known here and were left out. */
  readonly skipped: number
  /** The complete reply, where later requests may refer to it. */
  readonly record?: ReplyRecord | undefined
  /** Of the complete reply, where the caller may leave it out of later requests. */
  readonly reasoning?: ReplyReasoning | undefined
  /** Set when the stream had started and had to end with an error event. */
  readonly failure?: Fault
}

/**
 * Answers with an event stream.
 * @throws Fault while nothing has been written; the signal's reason when the caller left
 */
export async function streamReply(stream: EventStream, context: ReplyContext): Promise<ReplyReport> {
  const { dialect, reader, signal } = context
  const reply = reader.createStream(context.seed)
  stream.answered(context.upstream.headers)

  let { headers } = context.upstream
  let text = ''
  /** Leaves the last words in `text`. */
  const read = async (upstream: UpstreamStream): Promise<void> => {
    headers = upstream.headers
    const decoder = createSseDecoder()
    await readUpstream(upstream, (chunk) => {
      // One write per chunk, however many events it holds.
      text = ''
      for (const event of decoder.push(chunk)) {
        text += reply.push(event)
        if (reply.isDone()) break
      }
      if (reply.isDone()) return 'done'
      const flushed = text === '' || stream.write(text)
      text = ''
      // Upstream may be done by now, and who has left or is sent away is heard of here alone.
      return flushed ? 'go' : waitFor(stream.taken(upstream.idleMs), signal)
    })
    for (const event of decoder.end()) text += reply.push(event)
  }

  try {
    await read(context.upstream)
    for (let more = reply.continuation?.(); more !== undefined; more = reply.continuation?.()) {
      // A slow caller is waited for with the next chunk.
      if (text !== '') stream.write(text)
      text = ''
      const upstream = await context.continueAnswer(more)
      if (upstream !== undefined) await read(upstream)
    }
    // In one write.
    stream.end(text + reply.end())
    return { skipped: reply.skipped(), record: reply.record?.(), reasoning: reply.reasoning?.() }
  } catch (error) {
    // What the failing chunk still said belongs to the caller.
    if (text !== '') stream.write(text)
    const told = withHeaders(error, headers)
    if (!endsInEvent(stream, signal)) throw told
    const failure = toFault(told)
    stream.end(context.seed.redact((reply.fail ?? dialect.errorEvent)(failure.error, context.requestId)))
    return { skipped: reply.skipped(), failure }
  } finally {
    context.onUsage(reply.usage())
  }
}

/** Whether a failure is told in the stream: its head is out, and somebody still reads it. */
export function endsInEvent(stream: EventStream, signal: AbortSignal): boolean {
  const callerLeft = signal.aborted && !(signal.reason instanceof Fault)
  return stream.isOpen() && !callerLeft
}

export function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault({ kind: 'internal' }, { cause: error })
}

/**
 * Answers with the whole body: a fold over the events a streaming caller would have got.
 * @throws Fault; the signal's reason when the caller left
 */
export async function foldReply(
  context: ReplyContext,
): Promise<{ readonly body: unknown; readonly report: ReplyReport }> {
  const fold = context.reader.createFold(context.seed)
  let { headers } = context.upstream
  const read = async (upstream: UpstreamStream): Promise<void> => {
    headers = upstream.headers
    const decoder = createSseDecoder()
    await readUpstream(upstream, (chunk) => {
      for (const event of decoder.push(chunk)) {
        fold.push(event)
        if (fold.isDone()) return 'done'
      }
      return 'go'
    })
    for (const event of decoder.end()) fold.push(event)
  }

  try {
    await read(context.upstream)
    for (let more = fold.continuation?.(); more !== undefined; more = fold.continuation?.()) {
      const upstream = await context.continueAnswer(more)
      if (upstream !== undefined) await read(upstream)
    }
    const body = fold.end()
    return {
      body,
      report: { skipped: fold.skipped(), record: fold.record?.(), reasoning: fold.reasoning?.() },
    }
  } catch (error) {
    throw withHeaders(error, headers)
  } finally {
    context.onUsage(fold.usage())
  }
}
