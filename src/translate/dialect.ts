import type { ProxyError } from '../errors.ts'
import type { SseEvent } from '../sse/decode.ts'
import type { ModelTraits } from './model-traits.ts'

export type DialectId = 'chat'

/** Token counts as upstream reported them, for logs; never estimated. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
}

/** A caller's body, checked. The dialect that made it is the only one that reads `body`. */
export interface CallerRequest<Body = unknown> {
  readonly model: string
  readonly stream: boolean
  /** The caller asked for token counts in the stream (`stream_options.include_usage`). */
  readonly wantsUsage: boolean
  /** An image is anywhere in the request, history and tool results included. */
  readonly hasImage: boolean
  /** Some message is from the assistant or a tool: this is not the first turn. */
  readonly hasAgentHistory: boolean
  /** The last message alone is from the user. */
  readonly endsWithUser: boolean
  readonly body: Body
}

export interface EncodeContext {
  /** The routed model; its `id` replaces the name the caller used. */
  readonly model: ModelTraits
  /** `chat.history-window`: keep this many last turns; 0 keeps all. */
  readonly historyWindow: number
  /** `chat.strict`: refuse with 400 what would otherwise be adapted or dropped with a warning. */
  readonly strict: boolean
}

/** What could not be carried over, in words for `x-copilot-proxy-warnings` and the log. */
export type Warning = string

export interface EncodedRequest {
  /** The upstream body: JSON, UTF-8. */
  readonly body: Buffer
  readonly warnings: readonly Warning[]
}

/** Everything a reply needs that is not in the events, handed in so that output is reproducible. */
export interface ReplySeed {
  /** Unique among replies; makes up ids that upstream does not send. */
  readonly id: string
  /** Seconds since epoch, used when upstream sends none. */
  readonly createdSeconds: number
  /** Used when upstream names no model. */
  readonly model: string
  /** As in the request, which a long stream must not keep in memory for it. */
  readonly wantsUsage: boolean
}

/** What both ways of answering share: events in, upstream's end noticed, usage watched. */
interface Reply<Out> {
  /**
   * Takes one upstream event, returns what it adds to the reply.
   * @throws Fault `upstream_failed`, `upstream_status`, `upstream_unusable` when the event reports or amounts to a failure
   */
  readonly push: (event: SseEvent) => Out
  /** Upstream's own end mark was seen: later events do not matter. */
  readonly isDone: () => boolean
  readonly usage: () => Usage | undefined
  /** Upstream events that could not be read and were left out, for the log. */
  readonly skipped: () => number
}

/** The streaming answer: SSE text in the caller's dialect, '' where an event adds nothing yet. */
export interface ReplyStream extends Reply<string> {
  /**
   * Upstream closed the stream: closes the reply.
   * @throws Fault `upstream_truncated` when upstream had not finished
   */
  readonly end: () => string
}

/** The whole answer: a fold over the very events a streaming caller would have got. */
export interface ReplyFold extends Reply<void> {
  /**
   * Upstream closed the stream: the body as a JSON value.
   * @throws Fault `upstream_truncated` when upstream had not finished
   */
  readonly end: () => unknown
}

/** One wire dialect. Pure: no clock, no network, no logger, no random. */
export interface Dialect {
  readonly id: DialectId
  /** Path below the upstream base URL. */
  readonly upstreamPath: string
  /** Comment or event that keeps a silent stream open. */
  readonly heartbeat: string
  /**
   * Checks a caller's body, given as the JSON text that was received. With `bytes`, the UTF-8 the text was read from,
   * a large body is not encoded again.
   * @throws Fault `malformed_body`, `invalid_request`
   */
  readonly decodeRequest: (text: string, bytes?: Buffer) => CallerRequest
  /**
   * The body for an upstream of the same dialect; bytes that need no change are kept as received.
   * @throws Fault `invalid_request`
   */
  readonly passRequest: (request: CallerRequest, context: EncodeContext) => EncodedRequest
  readonly createStream: (seed: ReplySeed) => ReplyStream
  readonly createFold: (seed: ReplySeed) => ReplyFold
  /** The error envelope of a reply that has not started. */
  readonly errorBody: (error: ProxyError, requestId: string) => unknown
  /** The dialect's own error event: SSE text that ends a started stream. */
  readonly errorEvent: (error: ProxyError, requestId: string) => string
}
