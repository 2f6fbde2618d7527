import { Fault, faultFields, withHeaders } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import { createSseDecoder, isKeepAlive } from '../sse/decode.ts'
import type { SseEvent } from '../sse/decode.ts'
import type { EncodedRequest, Reply } from '../translate/dialect.ts'
import type { EventWriter } from '../translate/reply.ts'
import type { TurnEvent } from '../translate/turn.ts'
import { askUpstream, isStatus } from './ask-upstream.ts'
import type { AskOptions, UpstreamTarget } from './ask-upstream.ts'
import type { PipelineState } from './pipeline-state.ts'
import { readUpstream } from './read-upstream.ts'
import type { ChunkVerdict } from './read-upstream.ts'

/** @param event of upstream, to which the reply has added `out` */
export type Take<Out> = (out: Out, event?: SseEvent) => void

/** An answer of upstream that can be read once. */
export interface Reading<Out, End> extends Pick<Reply<Out, End>, 'usage' | 'skipped' | 'remember'> {
  /**
   * Reads the answer to its end, which may take several upstream replies. Uses callbacks because an async iteration costs
   * two promises per upstream chunk, and a chunk is one token.
   * @param take called with what each upstream event adds to the answer
   * @param flush called after each chunk; a promise pauses upstream until it settles
   * @param stop ends this read early: upstream is asked for nothing more
   * @throws Fault; the signal's reason on abort
   */
  readonly read: (take: Take<Out>, flush: () => ChunkVerdict, stop?: AbortSignal) => Promise<End>
}

/** The answer as events; resolves with the last ones. */
export type EventReading = Reading<readonly TurnEvent[], readonly TurnEvent[]>

/** Reads an answer that upstream has started, and continues it if upstream pauses it. */
export function readReplies<Out, End>(
  state: PipelineState,
  target: UpstreamTarget,
  first: UpstreamStream,
  reply: Reply<Out, End>,
): Reading<Out, End> {
  return {
    usage: reply.usage,
    skipped: reply.skipped,
    remember: reply.remember,
    async read(take, flush, stop) {
      let upstream = first
      try {
        await readReply(upstream, reply, take, flush, stop)
        for (let more = reply.continuation?.(); more !== undefined; more = reply.continuation?.()) {
          await flush()
          stop?.throwIfAborted()
          const next = await askToContinue(state, target, more.request, { encodeAgain: more.request.encodeAgain })
          if (next === undefined) {
            more.refused()
            continue
          }
          upstream = next
          await readReply(next, reply, take, flush, stop)
        }
        return reply.end()
      } catch (error) {
        throw withHeaders(error, upstream.headers)
      }
    },
  }
}

/** Writes the events of a reading in the dialect of a caller. */
export function writeReading<Out, End>(reading: EventReading, writer: EventWriter<Out, End>): Reading<Out, End> {
  return {
    usage: reading.usage,
    skipped: reading.skipped,
    remember: writer.remember,
    async read(take, flush, stop) {
      return writer.end(await reading.read((events, event) => take(writer.push(events), event), flush, stop))
    },
  }
}

async function readReply<Out>(
  upstream: UpstreamStream,
  reply: Reply<Out, unknown>,
  take: Take<Out>,
  flush: () => ChunkVerdict,
  stop: AbortSignal | undefined,
): Promise<void> {
  const decoder = createSseDecoder()
  await readUpstream(
    upstream,
    (chunk) => {
      let isQuiet = true
      for (const event of decoder.push(chunk)) {
        isQuiet &&= isKeepAlive(event)
        take(reply.push(event), event)
        // The reply's end flushes what the last chunk added.
        if (reply.isDone()) return 'done'
      }
      const flushed = flush()
      return isQuiet && flushed === 'go' ? 'quiet' : flushed
    },
    stop,
  )
  for (const event of decoder.end()) take(reply.push(event), event)
}

/** Asks upstream to continue an answer. Returns undefined if upstream refuses: the answer then ends as it is. */
export async function askToContinue(
  state: PipelineState,
  target: UpstreamTarget,
  request: EncodedRequest,
  { searches = 0, ...options }: Pick<AskOptions, 'encodeAgain'> & { readonly searches?: number } = {},
): Promise<UpstreamStream | undefined> {
  const facts = { requestId: target.call.requestId, model: target.model.id }
  state.log.info({ ...facts, searches }, 'continuing an answer')
  try {
    return await askUpstream(state, target, request, { ...options, initiator: 'agent' })
  } catch (error) {
    // These statuses refuse the model's own output, or a request that upstream accepted before. A retry would fail again,
    // and a partial answer is worth more to the caller than a failure.
    if (!(error instanceof Fault) || !isStatus(error, [400, 404, 413, 422])) throw error
    state.log.warn({ ...facts, ...faultFields(error) }, 'the provider did not continue the answer')
    return undefined
  }
}
