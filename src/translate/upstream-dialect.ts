import type {
  CallerRequest,
  EncodeContext,
  EncodedRequest,
  Recovery,
  ReplyFold,
  ReplySeed,
  ReplyStream,
  TurnAccepts,
  TurnDecoder,
  UpstreamDialectId,
  UpstreamRefusal,
} from './dialect.ts'
import type { SseEvent } from '../sse/decode.ts'
import type { FirstEvent } from '../upstream-errors/error-body.ts'
import type { Turn } from './turn.ts'

/**
 * The upstream's side of a wire dialect: encodes a `Turn` into a request, normalises the stream that answers it and
 * decodes that into `TurnEvent`s. Pure: no clock, no network, no logger, no random.
 */
export interface UpstreamDialect {
  readonly id: UpstreamDialectId
  /** Path below the upstream base URL. */
  readonly path: string

  /** @param learned the learned refusals of `EncodeContext`: a model may accept less than its dialect allows */
  readonly accepts: (learned: ReadonlySet<string>) => TurnAccepts
  /** @throws Fault `invalid_request` for what can neither be carried over nor left out */
  readonly encodeTurn: (turn: Turn, context: EncodeContext) => EncodedRequest
  readonly createDecoder: (seed: ReplySeed) => TurnDecoder
  /** Judges each event until the first that is no prelude. Lets an executor answer a failure inside a 200 with a status. */
  readonly judgeFirstEvent?: ((event: SseEvent) => FirstEvent) | undefined

  // For callers of the same dialect.
  /**
   * The body of a caller's request, with every byte kept that needs no change. Undefined if the request needs more than
   * repairs (for example, a tool name that upstream refuses): the request is then translated through a `Turn`.
   * @throws Fault `invalid_request`
   */
  readonly passRequest: (request: CallerRequest, context: EncodeContext) => EncodedRequest | undefined
  readonly createStream: (seed: ReplySeed) => ReplyStream
  readonly createFold: (seed: ReplySeed) => ReplyFold

  /**
   * The request that upstream may accept after it refused `sent`; undefined if the refusal is the answer. Never called
   * for 402, 429 or 5xx, and for 413 only if the request has images. Each call must remove something from the body, so
   * that a request is not repeated forever.
   */
  readonly recover: (sent: EncodedRequest, refusal: UpstreamRefusal, context: EncodeContext) => Recovery | undefined
}
