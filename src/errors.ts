/**
 * Every failure of a request, as data. Each kind holds the data of its message and no secrets. `statusOf` maps it to an
 * HTTP status; `translate/<d>/error.ts` writes the dialect's message.
 */
export type ProxyError =
  /** The caller's body is valid JSON but not acceptable. `path`: e.g. `messages[3].content`, '' for the body itself. */
  | {
      readonly kind: 'invalid_request'
      readonly path: string
      readonly detail: string
      readonly code?: string
      /** Members of the body that no such request has. */
      readonly unknown?: readonly string[]
      /** Machine-readable details for clients (`error.details` of the Messages API). */
      readonly details?: Readonly<Record<string, unknown>>
    }
  /** The body could not be read as JSON: syntax, encoding, truncation, or a broken content-encoding. */
  | { readonly kind: 'malformed_body'; readonly detail: string }
  /** `mostExpansion`: the body is compressed and would expand by more than this factor. */
  | { readonly kind: 'body_too_large'; readonly limitBytes: number; readonly mostExpansion?: number }
  /** The caller sent no more of the body for `afterMs`. */
  | { readonly kind: 'body_stalled'; readonly afterMs: number }
  | { readonly kind: 'unsupported_media_type'; readonly detail: string }
  /** The caller presented no key, a key that is not in `server.api-keys`, or one that was removed during the request. */
  | { readonly kind: 'key_required'; readonly problem?: 'wrong' | 'removed' }
  /** Too many wrong keys come from the caller's address, or from all addresses. */
  | { readonly kind: 'wrong_keys'; readonly retryAfterSeconds: number }
  /**
   * Host, Origin or Fetch-Metadata check refused the caller, or the caller is not the owner. `advice` is for the log only: it
   * repeats the caller's text, and no answer does that before a key is checked.
   */
  | { readonly kind: 'forbidden'; readonly detail: string; readonly advice?: string | undefined }
  /** `suggestion`: the route that the caller probably means, e.g. `POST /v1/messages`. */
  | {
      readonly kind: 'route_not_found'
      readonly method: string
      readonly path: string
      readonly suggestion?: string | undefined
      /** A sentence for a route of another API that has no counterpart here. */
      readonly advice?: string | undefined
    }
  | {
      readonly kind: 'method_not_allowed'
      readonly method: string
      readonly path: string
      readonly allow: readonly string[]
    }
  /** The caller asked for a WebSocket upgrade while that is turned off. */
  | { readonly kind: 'upgrade_refused' }
  /** No response with that id is stored. */
  | { readonly kind: 'not_stored' }
  | {
      readonly kind: 'model_not_found'
      readonly model: string
      readonly suggestions: readonly string[]
      /** A sentence if the model is not merely unknown, e.g. switched off for the account or an alias without a model. */
      readonly detail?: string
    }
  /** More requests than `max-concurrent-requests` + `max-queued-requests`. */
  | { readonly kind: 'queue_full'; readonly retryAfterSeconds: number }
  /** One caller exceeded the limit of this setting. */
  | {
      readonly kind: 'rate_limited'
      readonly perMinute: number
      readonly setting: string
      readonly retryAfterSeconds: number
    }
  /** A key, or without a name all callers together, have used up their credits of the period. */
  | {
      readonly kind: 'credits_spent'
      readonly limit: number
      readonly period: 'day' | 'month'
      readonly keyName?: string
      readonly retryAfterSeconds: number
    }
  /** What a caller asks of a session, a run or an approval cannot be done. `detail`: a sentence in place of the usual one. */
  | {
      readonly kind: 'session_refused'
      readonly problem: SessionProblem
      readonly detail?: string
      /** Where files differ from what an undo expects. */
      readonly conflicts?: readonly FileConflict[]
    }
  | { readonly kind: 'shutting_down' }
  /** Nobody is logged in to the provider, or the account has no access. `fix` is the command or page that helps. */
  | {
      readonly kind: 'copilot_unavailable' | 'codex_unavailable'
      readonly detail: string
      readonly fix: string
      readonly retryAfterSeconds?: number
    }
  /** Upstream still answers 401 after the one allowed refresh. */
  | { readonly kind: 'upstream_unauthorized'; readonly upstreamMessage: string; readonly headers?: PassedHeaders }
  /** Upstream answered with an error status. `message` is upstream's own, redacted, never HTML. */
  | {
      readonly kind: 'upstream_status'
      readonly status: number
      readonly message: string
      /** Our own sentences: when a limit ends, if known, and what to do. */
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
  /** Upstream sent something that is not the API's format: HTML, a wrong content type, endless whitespace. */
  | { readonly kind: 'upstream_unusable'; readonly detail: string; readonly headers?: PassedHeaders }
  | { readonly kind: 'internal' }

export interface FileConflict {
  readonly path: string
  /** Counted from 1. Absent: the whole file. */
  readonly line?: number | undefined
  /** Lines. */
  readonly expected: readonly string[]
  readonly found: readonly string[]
}

export type SessionProblem =
  | 'no_workspace'
  | 'session_not_found'
  | 'conversation_not_found'
  /** Another key has begun the conversation. */
  | 'conversation_of_other'
  | 'message_not_found'
  | 'run_not_found'
  | 'approval_not_found'
  | 'request_not_found'
  | 'change_not_found'
  | 'run_ended'
  | 'approval_decided'
  /** The history of a session cannot be deleted during a run. */
  | 'run_in_progress'
  /** A file has changed since the change that is to be undone. */
  | 'files_failed'
  | 'undo_conflict'
  | 'undo_denied'
  | 'undo_failed'
  | 'too_many_runs'
  | 'agent_disabled'
  /** Only the owner of the daemon may decide: its commands, and the page that they open. */
  | 'owner_required'
  /** The file of the sessions cannot be used. */
  | 'sessions_unavailable'

const sessionStatuses: Readonly<Record<SessionProblem, number>> = {
  no_workspace: 404,
  session_not_found: 404,
  conversation_not_found: 404,
  conversation_of_other: 403,
  message_not_found: 404,
  run_not_found: 404,
  approval_not_found: 404,
  request_not_found: 404,
  change_not_found: 404,
  run_ended: 409,
  approval_decided: 409,
  run_in_progress: 409,
  files_failed: 409,
  undo_conflict: 409,
  undo_denied: 403,
  undo_failed: 409,
  too_many_runs: 429,
  agent_disabled: 403,
  owner_required: 403,
  sessions_unavailable: 503,
}

/** Upstream headers that a caller may see: quota, rate limit, request id. */
type PassedHeaders = Readonly<Record<string, string>>

/** Carries a ProxyError; `cause` keeps the library's error for the log. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly error: ProxyError

  constructor(error: ProxyError, options?: ErrorOptions) {
    super(error.kind, options)
    this.error = error
  }
}

/** Anything thrown as a Fault: an error of another kind is a defect. */
export function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault({ kind: 'internal' }, { cause: error })
}

/** A fault as log fields: the error, and the library's error if there is one. */
export function faultFields({ error, cause }: Fault): Record<string, unknown> {
  return { error, ...(cause !== undefined && { cause }) }
}

/**
 * The error with the headers of upstream's reply, which include the request id. The error's own headers win; errors
 * without an upstream reply stay as they are.
 */
export function withHeaders(error: unknown, headers: PassedHeaders): unknown {
  if (!(error instanceof Fault) || !hasAnswerHeaders(error.error)) return error
  const merged = { ...error.error, headers: { ...headers, ...error.error.headers } }
  return new Fault(merged, { cause: error.cause })
}

type AnswerError = Extract<ProxyError, { readonly headers?: PassedHeaders }>

const answerErrorKinds: ReadonlySet<ProxyError['kind']> = new Set([
  'upstream_unauthorized',
  'upstream_status',
  'upstream_failed',
  'upstream_silent',
  'upstream_truncated',
  'upstream_unusable',
] satisfies readonly AnswerError['kind'][])

function hasAnswerHeaders(error: ProxyError): error is AnswerError {
  return answerErrorKinds.has(error.kind)
}

/**
 * Whether the error repeats a provider's text, which may contain a credential of the account. Only such texts are redacted in
 * answers: redaction of what the caller sent would tell whether its text is one of our credentials.
 */
export function isFromProvider({ kind }: ProxyError): boolean {
  return kind.startsWith('upstream_') || kind === 'copilot_unavailable' || kind === 'codex_unavailable'
}

export function headersOf(error: ProxyError): PassedHeaders {
  return (hasAnswerHeaders(error) ? error.headers : undefined) ?? {}
}

/** Passes error statuses on; any other unexpected status becomes 502. */
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
    case 'credits_spent':
    case 'wrong_keys':
      return 429
    case 'session_refused':
      return sessionStatuses[error.problem]
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

/** The status in logs and counters of a caller that disconnected before the end of its answer; from nginx. */
export const callerLeft = 499

/**
 * How a request ended that ended early: its caller left, or it failed.
 * @param signal of the request: aborted when the caller left, or with a Fault as its reason when the daemon ended it
 */
export function endOf(error: unknown, signal: AbortSignal): 'left' | Fault {
  if (!signal.aborted) return toFault(error)
  return signal.reason instanceof Fault ? signal.reason : 'left'
}

/** A caller that left is no failure. */
export function isFailure(status: number): boolean {
  return status >= 400 && status !== callerLeft
}

/** Limits that reset after hours or days (docs/copilot-wire.md, "Errors"); codes may carry a plan after a colon. */
const SPENT = /^(?:user_weekly_rate_limited|user_global_rate_limited|quota_exceeded|free_quota_exceeded)(?::|$)/

/** Both SDKs retry every 429 and 5xx unless `x-should-retry` is false. These errors stay until a person acts. */
export function isRetryFutile(error: ProxyError): boolean {
  switch (error.kind) {
    case 'wrong_keys':
    case 'credits_spent':
      return true
    case 'copilot_unavailable':
    case 'codex_unavailable':
      return error.retryAfterSeconds === undefined
    case 'upstream_status':
      return (
        error.status === 402 ||
        (error.status === 429 && SPENT.test(error.code ?? '')) ||
        error.headers?.['x-should-retry'] === 'false'
      )
    default:
      return false
  }
}

/** The value of a `Retry-After` header in seconds from now; NaN if it is neither seconds nor an HTTP date. */
export function toRetrySeconds(value: string, nowMs: number): number {
  return /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - nowMs) / 1000
}

/** The value of `Retry-After` if the error has one: seconds or an HTTP date. */
export function retryAfterOf(error: ProxyError): string | undefined {
  switch (error.kind) {
    case 'queue_full':
    case 'rate_limited':
    case 'credits_spent':
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
