import type { FastifyReply } from 'fastify'
import { waitFor } from '../auth/shared-fetch.ts'
import { Fault } from '../errors.ts'
import type { ModelAnswer } from '../pipeline/model-answer.ts'
import type { ChunkVerdict } from '../pipeline/read-upstream.ts'
import type { CallerDialect } from '../translate/caller-dialect.ts'
import type { ReplyReader } from '../translate/translated-call.ts'
import type { EventStream } from './event-stream.ts'

type Answer = Pick<ModelAnswer<ReplyReader>, 'read' | 'reader' | 'seed' | 'upstream'>

/**
 * Answers with an event stream. Returns the failure if the stream ended in an error event.
 * @param signal aborted when the caller leaves, or with a Fault as its reason when the daemon ends the request
 * @throws Fault before the first byte; the signal's reason if the caller left
 */
export async function streamReply(
  stream: EventStream,
  { read, reader, seed, upstream }: Answer,
  dialect: Pick<CallerDialect, 'errorEvent'>,
  signal: AbortSignal,
): Promise<Fault | undefined> {
  const reply = reader.createStream(seed)
  stream.upstreamAnswered(upstream.headers)
  let text = ''
  const take = (added: string): void => {
    text += added
  }
  /** One write per chunk, however many events the chunk holds. */
  const flush = (): ChunkVerdict => {
    const isDrained = text === '' || stream.write(text)
    text = ''
    // The signal matters here: if upstream has finished, nothing else notices that the caller left.
    return isDrained ? 'go' : waitFor(stream.drained(upstream.idleMs), signal)
  }
  try {
    const end = await read(reply, take, flush)
    stream.end(text + end)
    return undefined
  } catch (error) {
    // The failing chunk may have contained events before the failure.
    if (text !== '') stream.write(text)
    if (!endsInEvent(stream, signal)) throw error
    const failure = toFault(error)
    stream.end(seed.redact((reply.fail ?? dialect.errorEvent)(failure.error, seed.id)))
    return failure
  }
}

/**
 * Answers with the complete body: a fold over the events that a streaming caller would receive.
 * @throws Fault; the signal's reason if the caller left
 */
export function foldReply({ read, reader, seed }: Answer): Promise<unknown> {
  return read(
    reader.createFold(seed),
    () => {},
    () => 'go',
  )
}

/** Whether a failure becomes an error event: the head has been sent and the caller is still connected. */
export function endsInEvent(stream: EventStream, signal: AbortSignal): boolean {
  const callerLeft = signal.aborted && !(signal.reason instanceof Fault)
  return stream.isOpen() && !callerLeft
}

export function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault({ kind: 'internal' }, { cause: error })
}

/** The headers that hooks set on Fastify's reply, for heads that are written to the raw response. */
export function flatHeaders(reply: FastifyReply): Record<string, string> {
  const flat: Record<string, string> = {}
  const headers = reply.getHeaders()
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) flat[name] = String(value)
  }
  return flat
}
