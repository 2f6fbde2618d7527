import { headersOf, statusOf } from '../../errors.ts'
import type { ProxyError } from '../../errors.ts'
import { nameRequestId } from '../../upstream-errors/request-id.ts'

/** An error in OpenAI's form, which Chat Completions and Responses share. Messages uses the message only. */
export interface Wording {
  /** OpenAI's error type. */
  readonly type: string
  readonly message: string
  readonly code?: string | undefined
  readonly param?: string | undefined
}

/** Words an error for users, with upstream's request id in brackets behind the message. */
export function wordError(error: ProxyError, requestId: string): Wording {
  const wording = wordAlone(error, requestId)
  // Clients compare this message.
  if (error.kind === 'upstream_unauthorized') return wording
  const headers = headersOf(error)
  const id = nameRequestId((name) => headers[name])
  return id === undefined ? wording : { ...wording, message: `${wording.message} (${id})` }
}

function wordAlone(error: ProxyError, requestId: string): Wording {
  switch (error.kind) {
    case 'invalid_request': {
      const { path, detail, code } = error
      const message = path === '' ? `Invalid request: ${detail}` : `Invalid '${path}': ${detail}`
      return { type: 'invalid_request_error', message: sentence(message), param: path, code }
    }
    case 'malformed_body':
      return { type: 'invalid_request_error', message: sentence(`Could not read the request: ${error.detail}`) }
    case 'body_stalled':
      return {
        type: 'invalid_request_error',
        message: `The rest of the request body did not arrive within ${error.afterMs / 1000} seconds.`,
        code: 'request_timeout',
      }
    case 'body_too_large':
      return {
        type: 'invalid_request_error',
        message:
          error.mostExpansion === undefined
            ? `The request body is larger than ${size(error.limitBytes)} (server.body-limit-mb).`
            : `The request body decompresses to more than ${error.mostExpansion} times its size. Send it without content-encoding.`,
        code: 'request_too_large',
      }
    case 'unsupported_media_type':
      return {
        type: 'invalid_request_error',
        message: sentence(`Unsupported media type: ${error.detail}`),
        code: 'unsupported_media_type',
      }
    case 'key_required':
      return {
        type: 'authentication_error',
        message:
          error.removed === true
            ? 'The key of this request has been removed from server.api-keys.'
            : 'This copilot-proxy asks for a key: send one of its server.api-keys as "Authorization: Bearer <key>".',
        code: 'invalid_api_key',
      }
    case 'wrong_keys':
      return {
        type: 'rate_limit_error',
        message: `Wrong keys keep coming from this address. Check the key, and try again in ${error.retryAfterSeconds} s.`,
        code: 'too_many_wrong_keys',
      }
    case 'forbidden':
      return { type: 'permission_error', message: sentence(`Refused: ${error.detail}`), code: 'forbidden' }
    case 'route_not_found':
      return {
        type: 'invalid_request_error',
        message: `Unknown route ${error.method} ${error.path}. Routes: ${error.routes.join(', ')}.`,
        code: 'route_not_found',
      }
    case 'method_not_allowed':
      return {
        type: 'invalid_request_error',
        message: `${error.path} does not take ${error.method}. Allowed: ${error.allow.join(', ')}.`,
        code: 'method_not_allowed',
      }
    case 'upgrade_refused':
      return {
        type: 'invalid_request_error',
        message:
          'WebSocket is not supported here. Send the request as HTTP POST; the answer streams as server-sent events.',
        code: 'upgrade_refused',
      }
    case 'not_stored':
      return {
        type: 'invalid_request_error',
        message: 'No such response is stored here. Responses are kept in memory for an hour.',
        code: 'response_not_found',
      }
    case 'model_not_found':
      return { type: 'invalid_request_error', message: modelMessage(error), param: 'model', code: 'model_not_found' }
    case 'queue_full':
      return {
        type: 'rate_limit_error',
        message: `copilot-proxy has as many requests waiting as it takes. Try again in ${error.retryAfterSeconds} s.`,
        code: 'rate_limit_exceeded',
      }
    case 'rate_limited':
      return {
        type: 'rate_limit_error',
        message:
          `More than ${error.perMinute} requests in a minute (server.max-requests-per-minute). ` +
          `Try again in ${error.retryAfterSeconds} s.`,
        code: 'rate_limit_exceeded',
      }
    case 'shutting_down':
      return {
        type: 'service_unavailable_error',
        message: 'copilot-proxy is shutting down. Try again once it is back.',
        code: 'shutting_down',
      }
    case 'copilot_unavailable':
    case 'codex_unavailable':
      return {
        type: 'service_unavailable_error',
        message: `${sentence(error.detail)} ${error.fix}`,
        code: error.kind,
      }
    case 'upstream_unauthorized':
      return { type: 'authentication_error', message: 'Invalid API key', code: 'invalid_api_key' }
    case 'upstream_status':
      return upstreamWording(error)
    case 'upstream_failed':
      return { type: typeOfStatus(statusOf(error)), message: error.message, code: upstreamCode(error) }
    case 'upstream_unreachable':
      return {
        type: 'server_error',
        message: `${sentence(`Upstream cannot be reached: ${error.detail}`)} ${findOut}`,
        code: 'upstream_unreachable',
      }
    case 'upstream_silent':
      return {
        type: 'timeout_error',
        message: `${silence[error.phase]} within ${error.afterMs / 1000} s (timeouts.${error.phase}-seconds). ${
          error.phase === 'connect' ? findOut : 'Try again.'
        }`,
        code: 'upstream_timeout',
      }
    case 'upstream_truncated':
      return {
        type: 'server_error',
        message: 'The answer broke off: upstream closed the stream before it was finished.',
        code: 'upstream_truncated',
      }
    case 'upstream_unusable':
      return {
        type: 'server_error',
        message: sentence(`Upstream's answer cannot be used: ${error.detail}`),
        code: 'upstream_unusable',
      }
    case 'internal':
      return {
        type: 'server_error',
        message: `copilot-proxy failed. Its log has the details under request id ${requestId}.`,
        code: 'internal_error',
      }
  }
}

const findOut = 'To find out why: copilot-proxy doctor'

const silence = {
  connect: 'Upstream could not be connected to',
  headers: 'Upstream did not answer',
  idle: 'Upstream sent nothing more',
} as const

function modelMessage({ model, suggestions, detail }: Extract<ProxyError, { kind: 'model_not_found' }>): string {
  const reason = detail === undefined ? `The model '${model}' does not exist.` : sentence(detail)
  return suggestions.length === 0 ? reason : `${reason} Similar: ${suggestions.join(', ')}.`
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
  switch (status) {
    case 401:
      return 'authentication_error'
    case 402:
      return 'insufficient_quota'
    case 403:
      return 'permission_error'
    case 408:
    case 504:
      return 'timeout_error'
    case 429:
      return 'rate_limit_error'
    case 503:
    case OVERLOADED:
      return 'service_unavailable_error'
    default:
      return status < 500 ? 'invalid_request_error' : 'server_error'
  }
}

/** How backends report a prompt that is too long (docs/copilot-wire.md and docs/codex-wire.md, "Errors"). */
const TOO_LONG_CODES = new Set(['model_max_prompt_tokens_exceeded', 'context_length_exceeded', 'context_too_large'])
const TOO_LONG_MESSAGE =
  /prompt is too long|prompt token count of \d+ exceeds the limit|too large for model context window|context_length_exceeded|maximum context length is \d+ tokens/i

/** OpenAI clients shorten their history after this one code for a full context. */
function upstreamCode(error: { readonly code?: string; readonly message: string }): string | undefined {
  return isPromptTooLong(error) ? 'context_length_exceeded' : error.code
}

/** Whether upstream refused the prompt as too long for the model. */
export function isPromptTooLong({ code, message }: { readonly code?: string; readonly message: string }): boolean {
  return TOO_LONG_CODES.has(code ?? '') || TOO_LONG_MESSAGE.test(message)
}

function size(bytes: number): string {
  const megabytes = bytes / (1024 * 1024)
  return megabytes >= 0.1 ? `${Math.round(megabytes * 10) / 10} MB` : `${Math.round(bytes)} bytes`
}

/** Adds a full stop unless the text ends with one, possibly before a remark in brackets. */
function sentence(text: string): string {
  return /[.!?](?: \([^()]*\))?$/.test(text) ? text : `${text}.`
}
