/**
 * Every way a request can fail, as data. An arm holds what its message needs and nothing secret.
 * `statusOf` maps it to HTTP once; each dialect words it once (`translate/<d>/error.ts`).
 */
export type ProxyError =
  /** The caller's body is well-formed JSON but not acceptable. `path` as in `messages[3].content`, '' for the body itself. */
  | {
      readonly kind: 'invalid_request'
      readonly path: string
      readonly detail: string
      readonly code?: string
      /** What a client reads in place of the words (`error.details` of the Messages API). */
      readonly details?: Readonly<Record<string, unknown>>
    }
  /** The body could not be read as JSON: syntax, encoding, truncation, or a broken content-encoding. */
  | { readonly kind: 'malformed_body'; readonly detail: string }
  /** `mostExpansion`: it is compressed and would become larger than that many times itself, which is too much. */
  | { readonly kind: 'body_too_large'; readonly limitBytes: number; readonly mostExpansion?: number }
  /** The rest of the body did not arrive. */
  | { readonly kind: 'body_stalled'; readonly afterMs: number }
  | { readonly kind: 'unsupported_media_type'; readonly detail: string }
  /** The caller did not present one of the configured `server.api-keys`; `removed`: it was one when the request came. */
  | { readonly kind: 'key_required'; readonly removed?: true }
  /** Wrong keys keep coming from the caller's address. */
  | { readonly kind: 'wrong_keys'; readonly retryAfterSeconds: number }
  /** Host, Origin or Fetch-Metadata check refused the caller. */
  | { readonly kind: 'forbidden'; readonly detail: string }
  | {
      readonly kind: 'route_not_found'
      readonly method: string
      readonly path: string
      readonly routes: readonly string[]
    }
  | {
      readonly kind: 'method_not_allowed'
      readonly method: string
      readonly path: string
      readonly allow: readonly string[]
    }
  /** A WebSocket upgrade, which no route takes. */
  | { readonly kind: 'upgrade_refused' }
  /** No response of that id is kept here. */
  | { readonly kind: 'not_stored' }
  | {
      readonly kind: 'model_not_found'
      readonly model: string
      readonly suggestions: readonly string[]
      /** A sentence for when the model is not simply unknown: switched off for the account, or an alias to nowhere. */
      readonly detail?: string
    }
  /** More requests than `max-concurrent-requests` + `max-queued-requests`. */
  | { readonly kind: 'queue_full'; readonly retryAfterSeconds: number }
  /** More than `server.max-requests-per-minute` of one caller's. */
  | { readonly kind: 'rate_limited'; readonly perMinute: number; readonly retryAfterSeconds: number }
  | { readonly kind: 'shutting_down' }
  /** Of that provider: nobody is logged in, or the account has no access. `fix` is the command or page that helps. */
  | {
      readonly kind: 'copilot_unavailable' | 'codex_unavailable'
      readonly detail: string
      readonly fix: string
      readonly retryAfterSeconds?: number
    }
  /** Upstream still says 401 after the one refresh that is allowed. */
  | { readonly kind: 'upstream_unauthorized'; readonly upstreamMessage: string; readonly headers?: PassedHeaders }
  /** Upstream answered with an error status. `message` is upstream's own, redacted, never HTML. */
  | {
      readonly kind: 'upstream_status'
      readonly status: number
      readonly message: string
      /** When a limit ends, where that is known, and the one thing to do: sentences of ours. */
      readonly advice?: string
      readonly code?: string
      readonly type?: string
      readonly param?: string
      /** As received: seconds or an HTTP date. */
      readonly retryAfter?: string
      readonly headers?: PassedHeaders
    }
  /** Upstream reported a failure inside a 200 stream. */
  | {
      readonly kind: 'upstream_failed'
      readonly message: string
      readonly code?: string
      readonly headers?: PassedHeaders
    }
  | { readonly kind: 'upstream_unreachable'; readonly detail: string }
  | {
      readonly kind: 'upstream_silent'
      readonly phase: 'connect' | 'headers' | 'idle'
      readonly afterMs: number
      readonly headers?: PassedHeaders
    }
  /** The stream ended before upstream said it was finished. */
  | { readonly kind: 'upstream_truncated'; readonly headers?: PassedHeaders }
  /** Upstream answered something that is not the API: HTML, a wrong content type, endless whitespace. */
  | { readonly kind: 'upstream_unusable'; readonly detail: string; readonly headers?: PassedHeaders }
  | { readonly kind: 'internal' }

/** Further headers of upstream's that a caller may see: quota, rate limit, its request id. */
type PassedHeaders = Readonly<Record<string, string>>

/** How a ProxyError travels; `cause` keeps what the library threw, for the log. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly error: ProxyError

  constructor(error: ProxyError, options?: ErrorOptions) {
    super(error.kind, options)
    this.error = error
  }
}

/** A fault as log fields: what went wrong, and what a library threw, where one did. */
export function faultFields({ error, cause }: Fault): Record<string, unknown> {
  return { error, ...(cause !== undefined && { cause }) }
}

/**
 * The error with the headers of the answer it was met in, so that whoever reads it has upstream's request id. Its own
 * headers win; errors that are not about an answer of upstream's stay as they are.
 */
export function withHeaders(error: unknown, headers: PassedHeaders): unknown {
  if (!(error instanceof Fault) || !isAboutAnswer(error.error)) return error
  const told = { ...error.error, headers: { ...headers, ...error.error.headers } }
  return new Fault(told, { cause: error.cause })
}

type AnswerError = Extract<ProxyError, { readonly headers?: PassedHeaders }>

const aboutAnswers: ReadonlySet<ProxyError['kind']> = new Set([
  'upstream_unauthorized',
  'upstream_status',
  'upstream_failed',
  'upstream_silent',
  'upstream_truncated',
  'upstream_unusable',
] satisfies readonly AnswerError['kind'][])

function isAboutAnswer(error: ProxyError): error is AnswerError {
  return aboutAnswers.has(error.kind)
}

/** The headers of upstream's answer that an error carries. */
export function headersOf(error: ProxyError): PassedHeaders {
  return (isAboutAnswer(error) ? error.headers : undefined) ?? {}
}

/** Statuses upstream sends that a caller can act on; anything else unexpected becomes 502. */
function upstreamStatus(status: number): number {
  return status >= 400 && status <= 599 ? status : 502
}

/** The HTTP status of an error that is reported before the first byte of a reply. */
export function statusOf(error: ProxyError): number {
  switch (error.kind) {
    case 'invalid_request':
    case 'malformed_body':
      return 400
    case 'key_required':
    case 'upstream_unauthorized':
      return 401
    case 'forbidden':
      return 403
    case 'route_not_found':
    case 'model_not_found':
    case 'not_stored':
      return 404
    case 'method_not_allowed':
      return 405
    case 'body_stalled':
      return 408
    case 'body_too_large':
      return 413
    case 'unsupported_media_type':
      return 415
    case 'upgrade_refused':
      return 426
    case 'queue_full':
    case 'rate_limited':
    case 'wrong_keys':
      return 429
    case 'upstream_status':
      return upstreamStatus(error.status)
    case 'upstream_failed':
    case 'upstream_unreachable':
    case 'upstream_truncated':
    case 'upstream_unusable':
      return 502
    case 'copilot_unavailable':
    case 'codex_unavailable':
    case 'shutting_down':
      return 503
    case 'upstream_silent':
      return 504
    case 'internal':
      return 500
  }
}

/** Seconds or an HTTP date for `Retry-After`, where the error carries one. */
export function retryAfterOf(error: ProxyError): string | undefined {
  switch (error.kind) {
    case 'queue_full':
    case 'rate_limited':
    case 'wrong_keys':
      return String(error.retryAfterSeconds)
    case 'copilot_unavailable':
    case 'codex_unavailable':
      return error.retryAfterSeconds === undefined ? undefined : String(error.retryAfterSeconds)
    case 'upstream_status':
      return error.retryAfter
    default:
      return undefined
  }
}
