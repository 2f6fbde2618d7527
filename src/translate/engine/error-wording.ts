import { cutText } from '../../json/cut-text.ts'
import { headersOf, statusOf } from '../../errors.ts'
import type { ProxyError, SessionProblem } from '../../errors.ts'
import { isPromptTooLong } from '../../upstream-errors/full-context.ts'
import { inWords, nameRequestId, sentence } from '../../upstream-errors/message.ts'
import { missingParameter, unknownParameter } from './request/invalid.ts'

/** An error in OpenAI's form, which Chat Completions and Responses share. Messages uses the message only. */
export interface Wording {
  /** OpenAI's error type. */
  readonly type: string
  readonly message: string
  readonly code?: string | undefined
  readonly param?: string | undefined
}

/** Names of unknown members in one message. */
const maxUnknown = 5

/** A message that repeats what the caller has sent is cut. Longer than any other message. Characters. */
const longestMessage = 8000
const longestParam = 500

/** Words an error for users. The message ends with upstream's request id in brackets. */
export function wordError(error: ProxyError, requestId: string): Wording {
  const wording = bounded(wordAlone(error, requestId))
  // Clients compare this message.
  if (error.kind === 'upstream_unauthorized') return wording
  const headers = headersOf(error)
  const id = nameRequestId((name) => headers[name])
  return id === undefined ? wording : { ...wording, message: `${wording.message} (${id})` }
}

function bounded(wording: Wording): Wording {
  const { message, param } = wording
  if (message.length <= longestMessage && (param?.length ?? 0) <= longestParam) return wording
  return { ...wording, message: cutText(message, longestMessage), param: param && cutText(param, longestParam) }
}

function wordAlone(error: ProxyError, requestId: string): Wording {
  switch (error.kind) {
    case 'invalid_request': {
      const { path, detail, code } = error
      const unknown = (error.unknown ?? []).slice(0, maxUnknown).map((name) => `'${shortened(name)}'`)
      const nameUnknown = unknown.length === 0 ? '' : `Unknown parameter: ${unknown.join(', ')}.`
      if (code === unknownParameter) return invalid(nameUnknown, code, path)
      // OpenAI's own sentence.
      if (code === missingParameter) {
        return invalid(`Missing required parameter: '${path}'. ${nameUnknown}`.trimEnd(), code, path)
      }
      const message = path === '' ? `Invalid request: ${detail}` : `Invalid '${path}': ${detail}`
      return invalid(sentence(message), code, path)
    }
    case 'malformed_body':
      return invalid(sentence(`Could not read the request: ${error.detail}`))
    case 'body_stalled':
      return invalid(
        `The rest of the request body did not arrive within ${error.afterMs / 1000} seconds.`,
        'request_timeout',
      )
    case 'body_too_large':
      return invalid(
        error.mostExpansion === undefined
          ? `The request body is larger than ${size(error.limitBytes)} (server.body-limit-mb).`
          : `The request body decompresses to more than ${error.mostExpansion} times its size. Send it without content-encoding.`,
        'request_too_large',
      )
    case 'unsupported_media_type':
      return invalid(sentence(`Unsupported media type: ${error.detail}`), error.kind)
    case 'key_required':
      return {
        type: 'authentication_error',
        message: keyMessages[error.problem ?? 'missing'],
        code: 'invalid_api_key',
      }
    case 'wrong_keys':
      return tooMany(
        `Too many wrong keys from this address. Check the key and try again in ${error.retryAfterSeconds} s.`,
        'too_many_wrong_keys',
      )
    case 'forbidden':
      return { type: 'permission_error', message: sentence(`Refused: ${error.detail}`), code: error.kind }
    case 'route_not_found':
      return invalid(
        error.advice ??
          `Unknown path: ${shortened(`${error.method} ${error.path}`)}. ` +
            (error.suggestion === undefined
              ? 'The APIs are at /v1/chat/completions, /v1/responses and /v1/messages.'
              : `Did you mean ${error.suggestion}?`),
        error.kind,
      )
    case 'method_not_allowed':
      return invalid(
        `Method ${error.method} is not allowed for ${shortened(error.path)}. Use ${error.allow.join(' or ')}.`,
        error.kind,
      )
    case 'upgrade_refused':
      return invalid(
        'This is no complete WebSocket handshake. Or send the request as HTTP POST; the answer streams as server-sent events.',
        error.kind,
      )
    case 'not_stored':
      return invalid(
        'This response is not stored. copilot-proxy keeps responses in memory for an hour.',
        'response_not_found',
      )
    case 'model_not_found':
      return invalid(modelMessage(error), error.kind, 'model')
    case 'queue_full':
      return tooMany(`The queue is full (server.max-queued-requests). Try again in ${error.retryAfterSeconds} s.`)
    case 'rate_limited':
      return tooMany(
        `Rate limit reached: ${error.perMinute} requests a minute (${error.setting}). ` +
          `Try again in ${error.retryAfterSeconds} s.`,
      )
    case 'credits_spent':
      return tooMany(spentMessage(error), 'insufficient_quota')
    case 'session_refused':
      return {
        type: sessionTypes[error.problem] ?? 'invalid_request_error',
        message: error.detail ?? sessionMessages[error.problem],
        code: error.problem,
      }
    case 'shutting_down':
      return unavailable('copilot-proxy is shutting down. Try again after it has restarted.', error.kind)
    case 'copilot_unavailable':
    case 'codex_unavailable':
      return unavailable(`${sentence(error.detail)} ${error.fix}`, error.kind)
    case 'upstream_unauthorized':
      return { type: 'authentication_error', message: 'Invalid API key', code: 'invalid_api_key' }
    case 'upstream_status':
      return upstreamWording(error)
    case 'upstream_failed':
      return { type: typeOfStatus(statusOf(error)), message: error.message, code: upstreamCode(error) }
    case 'upstream_unreachable':
      return failed(`${sentence(`Cannot reach the provider: ${error.detail}`)} ${findOut}`, error.kind)
    case 'upstream_silent':
      return {
        type: 'timeout_error',
        message: `${silence[error.phase]} within ${error.afterMs / 1000} s (timeouts.${error.phase}-seconds). ${
          error.phase === 'connect' ? findOut : 'Try again.'
        }`,
        code: 'upstream_timeout',
      }
    case 'upstream_truncated':
      return failed('The answer is incomplete: the provider closed the stream before it had finished.', error.kind)
    case 'upstream_unusable':
      return failed(sentence(`The provider sent an unusable answer: ${error.detail}`), error.kind)
    case 'internal':
      return failed(`Internal error in copilot-proxy. See its log for request id ${requestId}.`, 'internal_error')
  }
}

function invalid(message: string, code?: string, param?: string): Wording {
  return { type: 'invalid_request_error', message, code, param }
}

/** The other header is not named: Claude Code 2.1.329 shows "Not logged in" for each error with its name in the message. */
const sendKey = 'Send one of server.api-keys as "Authorization: Bearer <key>".'

const keyMessages = {
  missing: `No key: this copilot-proxy requires one. ${sendKey}`,
  wrong: `Wrong key: this copilot-proxy does not know it. ${sendKey}`,
  removed: 'The key of this request has been removed from server.api-keys.',
} as const

const sessionMessages: Readonly<Record<SessionProblem, string>> = {
  no_workspace:
    'No workspace is configured. Add one to workspaces in the configuration, or run: copilot-proxy serve --workspace DIR',
  session_not_found: 'There is no session with this id. List them with GET /sessions.',
  conversation_not_found: 'There is no conversation with this id. List them with GET /sessions/{id}/conversations.',
  conversation_of_other:
    'Another key has begun this conversation. Begin a new one, or fork it: POST /sessions/{id}/conversations {"forkOf": …}.',
  message_not_found: 'The conversation has no message with this id.',
  run_not_found: 'There is no run with this id.',
  approval_not_found: 'There is no approval with this id.',
  request_not_found: 'The run does not wait for an answer with this id.',
  change_not_found: 'There is no change with this id.',
  run_ended: 'The run has ended.',
  approval_decided: 'The approval has been decided, or its run has ended.',
  run_in_progress: 'A run of the session is in progress. Wait until it ends, or cancel it.',
  files_failed: 'The files of the workspace cannot be listed.',
  undo_conflict: 'A file has changed since. Nothing was undone.',
  undo_denied: 'The policy denies this. Nothing was undone.',
  undo_failed: 'Nothing was undone.',
  too_many_runs: 'The session has too many runs. Try again when one has ended.',
  agent_disabled: 'The agent is disabled (agent.enabled: false).',
  owner_required:
    'Only the owner of this copilot-proxy may decide this. Open the page with: copilot-proxy page. Commands of copilot-proxy may decide too.',
  sessions_unavailable: 'The session file cannot be used. See the log of copilot-proxy.',
}

const sessionTypes: Readonly<Partial<Record<SessionProblem, string>>> = {
  too_many_runs: 'rate_limit_error',
  agent_disabled: 'permission_error',
  owner_required: 'permission_error',
  undo_denied: 'permission_error',
  sessions_unavailable: 'service_unavailable_error',
}

function spentMessage({
  limit,
  period,
  keyName,
  retryAfterSeconds,
}: Extract<ProxyError, { kind: 'credits_spent' }>): string {
  const when = period === 'day' ? 'today' : 'this month'
  const wait = `ry again in ${inWords(retryAfterSeconds)}.`
  return keyName === undefined
    ? `Your budget is used up: ${limit} credits for ${when} (usage.credits-per-${period}). ` +
        `To go on today, run: copilot-proxy usage allow. Or raise the setting, or t${wait}`
    : `The key ${keyName} has used its ${limit} credits for ${when} (server.key-limits, credits-per-${period}). T${wait}`
}

function tooMany(message: string, code = 'rate_limit_exceeded'): Wording {
  return { type: 'rate_limit_error', message, code }
}

function unavailable(message: string, code: string): Wording {
  return { type: 'service_unavailable_error', message, code }
}

function failed(message: string, code: string): Wording {
  return { type: 'server_error', message, code }
}

const findOut = 'To find the cause, run: copilot-proxy doctor'

const silence = {
  connect: 'Could not connect to the provider',
  headers: 'The provider did not answer',
  idle: 'The provider sent nothing more',
} as const

function modelMessage({ model, suggestions, detail }: Extract<ProxyError, { kind: 'model_not_found' }>): string {
  const reason = detail === undefined ? `The model '${shortened(model)}' does not exist.` : sentence(detail)
  const similar = suggestions.length === 0 ? '' : ` Similar: ${suggestions.join(', ')}.`
  return `${reason}${similar} Run: copilot-proxy models`
}

function upstreamWording(error: Extract<ProxyError, { kind: 'upstream_status' }>): Wording {
  const { status, message, advice, param } = error
  const type = error.type && !NOT_OPENAIS.has(error.type) ? error.type : typeOfStatus(status)
  return {
    type,
    message: advice === undefined ? message : `${sentence(message)} ${advice}`,
    param,
    code: upstreamCode(error) ?? (status === OVERLOADED ? 'server_is_overloaded' : undefined),
  }
}

/**
 * Types that OpenAI does not have: `error`, which newer Copilot bodies carry and which says nothing
 * (docs/copilot-wire.md, "Errors"), and Anthropic's own words (Anthropic API reference, errors, 2026-11).
 */
const NOT_OPENAIS: ReadonlySet<string> = new Set([
  'error',
  'api_error',
  'billing_error',
  'not_found_error',
  'overloaded_error',
  'request_too_large',
])

/** Anthropic's status for an overload, which OpenAI reports as 503. */
const OVERLOADED = 529

/** OpenAI's error type for an upstream status, or the nearest type if OpenAI does not use the status. */
function typeOfStatus(status: number): string {
  return openaiTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
}

const openaiTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  408: 'timeout_error',
  429: 'rate_limit_error',
  503: 'service_unavailable_error',
  504: 'timeout_error',
  [OVERLOADED]: 'service_unavailable_error',
}

/** OpenAI clients shorten their history after this one code for a full context. */
function upstreamCode(error: {
  readonly status?: number
  readonly code?: string
  readonly message: string
}): string | undefined {
  return isPromptTooLong(error) ? 'context_length_exceeded' : error.code
}

/** Shortens a name that the caller has sent. */
function shortened(name: string): string {
  return cutText(name, 200)
}

function size(bytes: number): string {
  const megabytes = bytes / (1024 * 1024)
  return megabytes >= 0.1 ? `${Math.round(megabytes * 10) / 10} MB` : `${Math.round(bytes)} bytes`
}

/** Upstream's message about a prompt that is too long; undefined for any other error. */
export function overflowOf(error: ProxyError): string | undefined {
  if (error.kind !== 'upstream_status' && error.kind !== 'upstream_failed') return undefined
  return isPromptTooLong(error) ? error.message : undefined
}
