import { htmlReply, jsonReply } from '../http/outcome.ts'
import type { HeaderMap, WholeReply } from '../http/outcome.ts'
import { withRetryAfter } from '../copilot/failures.ts'
import type { FailureWish } from '../copilot/failures.ts'
import { rateLimitHeaders } from './limits.ts'
import type { PlanUse } from './limits.ts'

/** Facts about the failed request. */
export interface FailureContext {
  readonly nowMs: number
  /** The requested model. */
  readonly model: string
  readonly plan: string
}

interface ErrorFields {
  readonly message: string
  readonly code: string | null
  readonly param?: string
  readonly type?: string
}

/** OpenAI's own envelope, which both upstreams use. */
export function openaiError(status: number, error: ErrorFields, headers: HeaderMap = {}): WholeReply {
  const { message, code, param = null, type = 'invalid_request_error' } = error
  return jsonReply(status, { error: { message, type, param, code } }, headers)
}

/** The envelope of errors from the ChatGPT backend's own layer. */
export function detail(status: number, value: unknown, headers: HeaderMap = {}): WholeReply {
  return jsonReply(status, { detail: value }, headers)
}

/** A 401 with its code in the body and in two headers (docs/codex-wire.md, "Errors"). */
export function unauthorized(code: 'token_expired' | 'token_invalidated' | 'token_revoked'): WholeReply {
  const error = { message: UNAUTHORIZED[code], type: 'invalid_request_error', code, param: null }
  return jsonReply(
    401,
    { error, status: 401 },
    {
      'x-openai-authorization-error': code,
      'x-error-json': Buffer.from(JSON.stringify({ error: { code } })).toString('base64'),
    },
  )
}

const UNAUTHORIZED = {
  token_expired: 'Provided authentication token is expired. Please try signing in again.',
  token_invalidated: 'Your authentication token has been invalidated. Please try signing in again.',
  token_revoked: 'Encountered invalidated oauth token for user, failing request',
} as const

/** The challenge page that Cloudflare shows to suspicious networks. */
function cloudflarePage(): WholeReply {
  return htmlReply(403, 'Just a moment...', { 'cf-mitigated': 'challenge', server: 'cloudflare' })
}

/** Time until the window of `usage_limit_reached` resets. */
const RESETS_IN_SECONDS = 13_872

/** The error object of a failure code, the same in an HTTP body and in a stream. */
export function errorOfCode(
  code: string,
  { nowMs, model, plan }: FailureContext,
): Readonly<Record<string, unknown>> & { readonly message: string } {
  if (code === 'usage_limit_reached') {
    return {
      type: code,
      message: 'The usage limit has been reached',
      plan_type: plan,
      resets_at: Math.floor(nowMs / 1000) + RESETS_IN_SECONDS,
      resets_in_seconds: RESETS_IN_SECONDS,
      eligible_promo: null,
    }
  }
  if (code === 'usage_not_included') {
    return { type: code, message: 'To use Codex with your ChatGPT plan, upgrade to Plus.', plan_type: plan }
  }
  const messages: Readonly<Record<string, string>> = {
    server_is_overloaded: 'Our servers are currently overloaded. Please try again later.',
    slow_down: 'Requests come too fast. Please slow down.',
    rate_limit_exceeded: `Rate limit reached for ${model} on tokens per min (TPM). Please try again in 1.5s.`,
    context_length_exceeded:
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
    invalid_encrypted_content: 'The encrypted content demo...demo could not be verified. Reason: simulated.',
    insufficient_quota: 'You exceeded your current quota, please check your plan and billing details.',
    cyber_policy: 'This request was flagged for possible cybersecurity risk.',
  }
  return {
    type: TYPES[code] ?? 'invalid_request_error',
    message: messages[code] ?? `Simulated failure: ${code}.`,
    code,
    param: null,
  }
}

const TYPES: Readonly<Record<string, string>> = {
  server_is_overloaded: 'service_unavailable_error',
  slow_down: 'service_unavailable_error',
  server_error: 'server_error',
  rate_limit_exceeded: 'rate_limit_error',
  insufficient_quota: 'insufficient_quota',
}

const USUAL_CODES: Readonly<Record<number, string>> = {
  400: 'invalid_prompt',
  429: 'usage_limit_reached',
  500: 'server_error',
  503: 'server_is_overloaded',
}

/** Returns the ChatGPT backend's failure for a status (docs/codex-wire.md, "Errors"). */
function codexFailure(request: FailureWish, context: FailureContext): WholeReply {
  return withRetryAfter(byStatus(request, context), request)
}

function byStatus({ status, code }: FailureWish, context: FailureContext): WholeReply {
  switch (status) {
    case 401:
      if (code === 'Unauthorized') return detail(401, code)
      return unauthorized(code === 'token_invalidated' || code === 'token_revoked' ? code : 'token_expired')
    case 402:
      return detail(402, { code: code ?? 'deactivated_workspace' })
    case 403:
      return code === undefined ? cloudflarePage() : detail(403, { code })
    case 404:
      return modelNotFound(context.model)
    default:
      return failureOfStatus({ status, code: code ?? USUAL_CODES[status] }, context)
  }
}

/** Returns the failures that the ChatGPT backend and the key API share. */
export function failureOfStatus({ status, code }: FailureWish, context: FailureContext): WholeReply {
  if (status === 413) return tooLarge()
  if (code !== undefined) return jsonReply(status, { error: errorOfCode(code, context) })
  if (status >= 500) return htmlReply(status, `${status} simulated gateway error`, { server: 'cloudflare' })
  return openaiError(status, { message: `simulated error ${status}`, code: 'simulated_error' })
}

export function tooLarge(): WholeReply {
  return openaiError(413, { message: 'Request body is too large.', code: 'request_too_large' })
}

/** The reply to the standard form from a model that accepts only the lite form (docs/codex-wire.md, "Lite form"). */
export function modelNotFound(model: string): WholeReply {
  return detail(404, `Model not found ${model}`)
}

/** The error code for a used-up window. */
const SPENT = 'usage_limit_reached'

/** The failure, with the plan's rate limits in its headers. */
export function failWithLimits(wish: FailureWish, context: FailureContext, use: PlanUse): WholeReply {
  const reply = codexFailure(wish, context)
  const isSpent = wish.status === 429 && (wish.code ?? SPENT) === SPENT
  const limits = rateLimitHeaders(context.plan, isSpent ? { ...use, primaryUsedPercent: 100 } : use, context.nowMs)
  return { ...reply, headers: { ...limits, ...reply.headers } }
}
