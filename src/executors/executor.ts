export type ProviderId = 'copilot' | 'codex'

/** `chatgpt`: the ChatGPT backend of Codex, which refuses much of what the public Responses API takes. */
export type UpstreamProfile = 'chatgpt'

/** Who caused a request, as upstream counts it (`X-Initiator`). */
export type Initiator = 'user' | 'agent'

/**
 * What a request is for: a round of an agent with tools, plain chat, an agent that another agent has started, the
 * summary that takes the place of a long history, or work that nobody waits for, such as a title.
 */
export type Purpose = 'agent' | 'panel' | 'subagent' | 'compaction' | 'background'

/** How a request belongs to its conversation, for providers that ask (docs/copilot-wire.md, "Purpose"). */
export interface Interaction {
  readonly purpose: Purpose
  /** A UUID that all requests of one user turn share. */
  readonly id: string
  /** What the caller itself said of these in valid headers of the provider's; names in lower case. */
  readonly stated: Readonly<Record<string, string>>
}

/** One request to an upstream, in words that every provider understands. It knows no dialect. */
export interface UpstreamCall {
  /** Below the provider's base URL, e.g. `/chat/completions`. */
  readonly path: string
  /** JSON text. */
  readonly body: string | Buffer
  /** Of the body's format itself, e.g. `anthropic-beta`; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly initiator: Initiator
  /** Absent: the request is no part of a conversation (embeddings, a token count). */
  readonly interaction?: Interaction | undefined
  readonly hasImage: boolean
  readonly requestId: string
  /** Of an automatic choice of the model: upstream bills the request by it. */
  readonly sessionToken?: string | undefined
}

/** The code of a fault whose reason is that upstream does not know the call's `sessionToken` (any more). */
export const staleChoice = 'invalid_auto_mode_selector'

/** Hears a reply's body: its bytes in order, then `end` or `fail` once, and nothing after that. */
export interface BodyReader {
  readonly data: (chunk: Uint8Array) => void
  readonly end: () => void
  /** The connection broke, or the request's signal was aborted: then `error` is its reason. */
  readonly fail: (error: unknown) => void
}

/** A reply's body as callbacks. One of `read`, `finish` and `destroy` must be called, or its connection stays taken. */
export interface UpstreamBody {
  /** Begins to hand over, before it returns what has arrived already. Once only. */
  readonly read: (reader: BodyReader) => void
  /** Stops handing over, and upstream from sending, until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
  /** The reader has all it needs and hears no more. The connection serves the next request if upstream ends soon. */
  readonly finish: () => void
  /** Closes the connection; the reader hears no more. */
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
 * Talks to one provider: base URL, token, headers, deadlines, its error rules. Executors share no credential, header,
 * connection pool or base URL with each other.
 */
export interface Executor {
  readonly provider: ProviderId
  /** Rules of the upstream that a dialect has to encode for, where there are any beside the dialect's own. */
  readonly profile?: UpstreamProfile | undefined
  /**
   * Opens an event stream. Resolves once upstream has answered 2xx with headers.
   * @throws Fault `copilot_unavailable`, `upstream_*`
   * Aborting `signal` closes the upstream connection at once, also while the stream is read.
   */
  readonly stream: (call: UpstreamCall, options: { signal: AbortSignal }) => Promise<UpstreamStream>
  /** A JSON exchange (embeddings). Same rules as `stream`. */
  readonly json: (call: UpstreamCall, options: { signal: AbortSignal }) => Promise<unknown>
  /** The provider's model list as it came, unvalidated. */
  readonly listModels: (options: { signal: AbortSignal }) => Promise<unknown>
  readonly close: () => Promise<void>
}
