import type { SseEvent } from '../sse/decode.ts'
import type { FirstEvent } from '../upstream-errors/error-body.ts'

export type ProviderId = 'copilot' | 'codex'

/** `chatgpt`: the ChatGPT backend of Codex, which refuses many fields that the public Responses API accepts. */
export type UpstreamProfile = 'chatgpt'

/** Who caused a request, as upstream counts it (`X-Initiator`). */
export type Initiator = 'user' | 'agent'

/**
 * The purpose of a request: a round of an agent with tools, plain chat, an agent that another agent has started, the
 * summary that replaces a long history, or background work, such as a title.
 */
export type Purpose = 'agent' | 'panel' | 'subagent' | 'compaction' | 'background'

/** How a request belongs to its conversation, for providers that ask (docs/copilot-wire.md, "Purpose"). */
export interface Interaction {
  readonly purpose: Purpose
  /** A UUID that all requests of one user turn share. */
  readonly id: string
  /** The caller's own statements about these two, in valid headers of the provider; names in lower case. */
  readonly stated: Readonly<Record<string, string>>
}

/** One upstream request, independent of provider and dialect. */
export interface UpstreamCall {
  /** Below the provider's base URL, e.g. `/chat/completions`. */
  readonly path: string
  /** JSON text, unless `contentType` says otherwise. */
  readonly body: string | Buffer
  readonly contentType?: string | undefined
  /** `completions`: the provider's host for code completion. Default: its host for everything else. */
  readonly host?: 'completions' | undefined
  /** Headers of the body's format, e.g. `anthropic-beta`; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly initiator: Initiator
  /** Absent: the request is no part of a conversation (embeddings, a token count). */
  readonly interaction?: Interaction | undefined
  readonly hasImage: boolean
  readonly requestId: string
  /**
   * Judges the first events of the stream. If the provider reports refusals inside a 200, its executor holds the stream
   * back until this finds output.
   */
  readonly judgeFirstEvent?: ((event: SseEvent) => FirstEvent) | undefined
  /** Identifies an automatic choice of the model: upstream bills the request by it. */
  readonly sessionToken?: string | undefined
}

/** The code of a fault whose reason is that upstream does not know the call's `sessionToken` (any more). */
export const staleChoice = 'invalid_auto_mode_selector'

/** Receives a reply's body: its bytes in order, then `end` or `fail` once, and nothing after that. */
export interface BodyReader {
  readonly data: (chunk: Uint8Array) => void
  readonly end: () => void
  /** The connection broke, or the request's signal was aborted: then `error` is its reason. */
  readonly fail: (error: unknown) => void
}

/** A reply's body as callbacks. One of `read`, `finish` and `destroy` must be called, or the connection stays busy. */
export interface UpstreamBody {
  /** Starts delivery; delivers what has already arrived before it returns. Once only. */
  readonly read: (reader: BodyReader) => void
  /** Pauses, and gives chunks back that the next reader will get first. */
  readonly putBack: (chunks: readonly Uint8Array[]) => void
  /** Stops delivery, and upstream from sending, until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
  /** Ends delivery. The connection serves the next request if upstream ends soon. */
  readonly finish: () => void
  /** Ends delivery and closes the connection. */
  readonly destroy: () => void
}

export interface UpstreamStream {
  /** Bytes of the event stream. */
  readonly body: UpstreamBody
  /** The longest silence between two chunks that is still healthy. The reader enforces it. Ms. */
  readonly idleMs: number
  /** Response headers a caller may see, by allow-list, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Sends requests to one provider, with its base URL, token, headers, deadlines and error rules. Executors share no
 * credential, header, connection pool or base URL.
 */
export interface Executor {
  readonly provider: ProviderId
  /** Rules of the upstream that a dialect has to encode for, beyond the dialect's own. */
  readonly profile?: UpstreamProfile | undefined
  /**
   * Opens an event stream. Resolves once upstream has answered 2xx with headers.
   * @throws Fault `copilot_unavailable`, `upstream_*`
   * Aborting `signal` closes the upstream connection at once, also while the stream is read.
   */
  readonly stream: (call: UpstreamCall, options: { signal: AbortSignal }) => Promise<UpstreamStream>
  /** A JSON request and reply (embeddings, token counts). Same rules as `stream`. */
  readonly json: (call: UpstreamCall, options: { signal: AbortSignal }) => Promise<unknown>
  /** The provider's model list as it came, unvalidated. */
  readonly listModels: (options: { signal: AbortSignal }) => Promise<unknown>
  readonly close: () => Promise<void>
}
