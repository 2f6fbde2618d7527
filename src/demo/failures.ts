import { htmlReply, textReply } from './outcome.ts'
import type { HeaderMap, WholeReply } from './outcome.ts'

interface FailureFields {
  readonly message: string
  readonly code: string
  readonly param?: string
  readonly type?: string
}

/** A JSON error of the Copilot API, labelled text/plain as the real one often is (docs/copilot-wire.md, "Errors"). */
export function failure(status: number, error: FailureFields, headers: HeaderMap = {}): WholeReply {
  return {
    kind: 'whole',
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
    body: `${JSON.stringify({ error })}\n`,
  }
}

/** A parameter or shape that the request validation refuses. */
export function invalidBody(message: string): WholeReply {
  return failure(400, { message, code: 'invalid_request_body' })
}

/** Validation against the JSON schema; `reason` as in docs/copilot-wire.md, "Parameters by model". */
export function schemaFailure(reason: string, location: string): WholeReply {
  return invalidBody(
    `invalid request body, failed to validate schema: (1) Reason: ${reason}, Location: ${location || '/'}`,
  )
}

export function modelNotSupported(): WholeReply {
  return failure(400, {
    message: 'The requested model is not supported.',
    code: 'model_not_supported',
    param: 'model',
    type: 'invalid_request_error',
  })
}

export function tokenExpired(): WholeReply {
  return textReply(401, 'unauthorized: token expired')
}

export function bodyTooLarge(): WholeReply {
  return textReply(413, 'Request Entity Too Large')
}

export function misdirected(): WholeReply {
  return textReply(421, 'Misdirected Request')
}

const DAY_MS = 86_400_000

/**
 * What the real service answers with a given status, for `[demo:error N]`.
 * `nowMs` dates the `retry-after` of 402, which is an HTTP date there and seconds on 429.
 */
export function failureOfStatus(status: number, nowMs: number): WholeReply {
  switch (status) {
    case 400:
      return invalidBody('simulated: the request body is not acceptable')
    case 401:
      return tokenExpired()
    case 402:
      return failure(
        402,
        { message: 'You have exceeded your monthly quota', code: 'quota_exceeded' },
        { 'retry-after': new Date(nowMs + DAY_MS).toUTCString() },
      )
    case 403:
      return textReply(403, 'unauthorized: not authorized to use this Copilot feature')
    case 404:
      return textReply(404, '404 page not found')
    case 408:
      return failure(408, {
        message: 'Timed out reading request body. Try again, or use a smaller request size.',
        code: 'user_request_timeout',
      })
    case 413:
      return bodyTooLarge()
    case 421:
      return misdirected()
    case 429:
      return failure(
        429,
        { message: 'Sorry, you have exceeded your weekly rate limit.', code: 'user_weekly_rate_limited' },
        { 'retry-after': '30', 'x-ratelimit-exceeded': 'user_weekly' },
      )
    case 466:
      return textReply(
        466,
        'bad request: the specified API version is no longer supported. You may need to update your client to a newer version.',
      )
    case 500:
      return textReply(500, 'internal server error')
    case 502:
      return htmlReply(502, 'Unicorn! 502 Bad Gateway')
    case 503:
      return failure(503, { message: 'upstream provider is rate limited', code: 'upstream_provider_rate_limit' })
    case 504:
      return htmlReply(504, '504 Gateway Time-out')
    default:
      return failure(status, { message: `simulated error ${status}`, code: 'simulated_error' })
  }
}
