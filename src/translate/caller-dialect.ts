import type { ProxyError } from '../errors.ts'
import type {
  CallerHeaders,
  CallerRequest,
  ConversationShape,
  DecodedTurn,
  DialectId,
  EncodeContext,
  ReplySeed,
  TurnFold,
  TurnStream,
} from './dialect.ts'
import type { ReplyMemory } from './reply-memory.ts'

/**
 * The caller's side of a wire dialect: decodes requests into a `Turn`, encodes `TurnEvent`s into a reply. Pure: no
 * clock, no network, no logger, no random.
 */
export interface CallerDialect {
  readonly id: DialectId
  /** SSE text that keeps a silent stream open and that clients ignore. */
  readonly heartbeat: string
  /** Fields that every request must have. A warning about one of them is no reason to refuse under `chat.strict`. */
  readonly mandatory?: ReadonlySet<string> | undefined
  /**
   * In a dialect without images, `itemsOf` returns [] and `mapItems` the request. `member` and `textType` may then be any
   * of their values, because nothing reads them.
   */
  readonly conversation: ConversationShape

  /**
   * Checks a caller's body. `bytes` is the UTF-8 that `text` was decoded from, so that a large body is not encoded again.
   * @throws Fault `malformed_body`, `invalid_request`
   */
  readonly decodeRequest: (text: string, bytes?: Buffer, headers?: CallerHeaders) => CallerRequest
  /**
   * Adds the parts of earlier replies that the request refers to or leaves out. Returns the same object if there are none.
   * @param strict `chat.strict`: adds only what the request refers to
   * @throws Fault `invalid_request` for a reference to something that is not kept
   */
  readonly recall?: ((request: CallerRequest, memory: ReplyMemory, strict: boolean) => CallerRequest) | undefined
  /** @throws Fault `invalid_request` for what can neither be carried over nor left out */
  readonly decodeTurn: (request: CallerRequest, context: EncodeContext) => DecodedTurn

  readonly createTurnStream: (seed: ReplySeed) => TurnStream
  readonly createTurnFold: (seed: ReplySeed) => TurnFold

  /** HTTP status of an error that is reported before the first byte. */
  readonly errorStatus: (error: ProxyError) => number
  /** The error envelope of a reply that has not started. */
  readonly errorBody: (error: ProxyError, requestId: string) => unknown
  /** SSE text of the error event that ends a started stream. */
  readonly errorEvent: (error: ProxyError, requestId: string) => string
}
