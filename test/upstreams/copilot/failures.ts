import { htmlReply, jsonReply, textReply } from '../http/outcome.ts'
import type { DemoModel } from './catalogue-models.ts'
import type { HeaderMap, WholeReply } from '../http/outcome.ts'

interface FailureFields {
  readonly message: string
  readonly code: string
  readonly param?: string
  readonly type?: string
}

/** A JSON error of the Copilot API, labelled text/plain as real errors often are (docs/copilot-wire.md, "Errors"). */
export function failure(status: number, error: FailureFields, headers: HeaderMap = {}): WholeReply {
  return {
    kind: 'whole',
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
    body: `${JSON.stringify({ error })}\n`,
  }
}

/**
 * Anthropic's own envelope. The Copilot API passes it on if Anthropic's API refuses (docs/copilot-wire.md, "Messages
 * requests").
 */
export function anthropicFailure(status: number, type: string, message: string): WholeReply {
  return jsonReply(status, { type: 'error', error: { type, message }, request_id: 'req_vrtx_demo' })
}

/** A failure in OpenAI's wording, which the Copilot API passes on for `/responses`. */
export function openaiFailure(error: Omit<FailureFields, 'type'>): WholeReply {
  return failure(400, { type: 'invalid_request_error', ...error })
}

/** The refusal of a parameter or shape by Copilot's request validation. */
export function invalidBody(message: string): WholeReply {
  return failure(400, { message, code: 'invalid_request_body' })
}

export function modelNotSupported(): WholeReply {
  return failure(400, {
    message: 'The requested model is not supported.',
    code: 'model_not_supported',
    param: 'model',
    type: 'invalid_request_error',
  })
}

export function wrongEndpoint(model: DemoModel, path: string): WholeReply {
  return failure(400, {
    message: `model "${model.id}" is not accessible via the ${path} endpoint`,
    code: 'unsupported_api_for_model',
  })
}

const DAY_MS = 86_400_000

/**
 * Refuses a prompt that is too long. The wording is that of the model's backend: Anthropic, Google or the Copilot API itself
 * (docs/copilot-wire.md, "Errors"). `isNative`: the request uses Anthropic's API.
 */
function promptTooLong({ profile, contextTokens, maxPromptTokens }: DemoModel, isNative: boolean): WholeReply {
  switch (profile) {
    case 'claude':
      return claudePromptTooLong(contextTokens + 10_194, contextTokens, isNative)
    case 'gemini-2.5':
    case 'gemini-3':
      return invalidBody('Request body is too large for model context window')
    case 'gpt-4':
    case 'gpt-5':
    case 'grok':
    case 'kimi':
    case 'mai':
      return gptPromptTooLong(maxPromptTokens + 74_898, maxPromptTokens)
  }
}

export function gptPromptTooLong(count: number, limit: number): WholeReply {
  return failure(400, {
    message: `prompt token count of ${count} exceeds the limit of ${limit}`,
    code: 'model_max_prompt_tokens_exceeded',
  })
}

export function claudePromptTooLong(count: number, limit: number, isNative: boolean): WholeReply {
  const message = `prompt is too long: ${count} tokens > ${limit} maximum`
  return isNative ? anthropicFailure(400, 'invalid_request_error', message) : invalidBody(message)
}

/** Anthropic's own errors by status, in its own envelope. */
const ANTHROPIC_FAILURES: ReadonlyMap<number, { readonly type: string; readonly message: string }> = new Map([
  [500, { type: 'api_error', message: 'Internal server error' }],
  [529, { type: 'overloaded_error', message: 'Overloaded' }],
])

/** Error code of a prompt that is too long. */
export const OVERFLOW = 'context_length_exceeded'

/** A failure that a marker asks for. */
export interface FailureWish {
  readonly status: number
  /**
   * Selects one of several failures with that status, by its code or by a key of `TEXT_FAILURES`. Absent: the usual
   * failure.
   */
  readonly code?: string | undefined
  /** Replaces the usual `retry-after`. */
  readonly retryAfterSeconds?: number | undefined
}

interface FailureContext {
  readonly model: DemoModel
  /** The start of `retry-after` on 402, which is an HTTP date. On 429 it is in seconds. */
  readonly nowMs: number
  /** The request uses Anthropic's API. */
  readonly isNative: boolean
}

/** Returns the Copilot API's reply for a requested failure. */
export function copilotFailure(wish: FailureWish, { model, nowMs, isNative }: FailureContext): WholeReply {
  const { status, code } = wish
  if (code === OVERFLOW) return promptTooLong(model, isNative)
  const own = isNative && code === undefined ? ANTHROPIC_FAILURES.get(status) : undefined
  const reply =
    own === undefined
      ? (namedFailure(status, code, nowMs) ?? usualFailure(status, nowMs))
      : anthropicFailure(status, own.type, own.message)
  return withRetryAfter(reply, wish)
}

/** Sets `retry-after` if the marker states seconds. */
export function withRetryAfter(reply: WholeReply, { retryAfterSeconds: seconds }: FailureWish): WholeReply {
  return seconds === undefined ? reply : { ...reply, headers: { ...reply.headers, 'retry-after': String(seconds) } }
}

/**
 * Failures in plain text, by a key for markers. Only the wording distinguishes them (docs/copilot-wire.md, "Errors").
 * The text of `policy` is made up.
 */
const TEXT_FAILURES = new Map<string, readonly [status: number, text: string]>([
  ['editor-version', [400, 'bad request: unknown Editor-Version header for IDE auth']],
  ['integration-id', [400, 'bad request: unknown Copilot-Integration-Id']],
  ['personal-token', [400, 'bad request: Personal Access Tokens are not supported for this endpoint']],
  ['authorization', [400, 'bad request: Authorization header is badly formatted']],
  ['endpoint', [403, 'access to this endpoint is forbidden']],
  ['license', [403, 'This API requires a valid Copilot license.']],
  ['trial', [403, 'Copilot Pro trials have been temporarily paused.']],
  ['policy', [403, 'access denied by Copilot policy']],
  ['editor-too-old', [466, 'bad request: this client is no longer supported.']],
])

const WEEK_MS = 7 * DAY_MS
const SESSION_MS = 5 * 3_600_000

/** Message and wait for each code of 429 (docs/copilot-wire.md, "Errors"). */
const LIMITS = new Map<string, readonly [message: string, waitMs: number]>([
  ['user_weekly_rate_limited', ['Sorry, you have exceeded your weekly rate limit.', WEEK_MS]],
  ['user_global_rate_limited', ['Sorry, you have exceeded your 5 hour session limits.', SESSION_MS]],
  ['user_model_rate_limited', ['Sorry, you have exceeded the rate limit of this model.', 60_000]],
  ['rate_limited', ['rate limit exceeded', 30_000]],
  ['integration_rate_limited', ['This integration has exceeded its rate limit.', 60_000]],
  ['model_overloaded', ['The model is overloaded.', 10_000]],
  ['upstream_provider_rate_limit', ['upstream provider is rate limited', 10_000]],
  ['agent_mode_limit_exceeded', ['You have exceeded the limit of agent requests.', DAY_MS]],
])

const QUOTA_MESSAGES: ReadonlyMap<string, string> = new Map([
  ['quota_exceeded', 'You have exceeded your monthly quota'],
  ['free_quota_exceeded', 'You have exceeded your free quota'],
  ['overage_limit_reached', 'You have reached the limit of paid requests'],
  ['additional_spend_limit_reached', 'You have reached your additional spend limit'],
  ['billing_not_configured', 'Billing is not configured'],
])

/** Returns one of several failures that share a status; undefined for an unknown name. */
function namedFailure(status: number, name: string | undefined, nowMs: number): WholeReply | undefined {
  const [code = '', ...plan] = (name ?? '').split(':')
  const [textStatus, text = ''] = TEXT_FAILURES.get(code) ?? []
  if (textStatus === status) return textReply(status, text)
  const [message, waitMs = 0] = (status === 429 ? LIMITS.get(code) : undefined) ?? []
  if (message !== undefined) {
    return failure(
      429,
      { message, code: [code, ...plan].join(':') },
      { 'retry-after': String(waitMs / 1000), 'x-ratelimit-exceeded': code },
    )
  }
  return status === 402 && QUOTA_MESSAGES.has(code) ? quotaFailure(code, nowMs) : undefined
}

function quotaFailure(code: string, nowMs: number): WholeReply {
  const message = QUOTA_MESSAGES.get(code) ?? ''
  return failure(402, { message, code }, { 'retry-after': new Date(nowMs + DAY_MS).toUTCString() })
}

/** Statuses that the real service answers with a line of text or an HTML page, and the wording. */
const TEXTS: ReadonlyMap<number, string> = new Map([
  [401, 'unauthorized: token expired'],
  [403, 'unauthorized: not authorized to use this Copilot feature'],
  [404, '404 page not found'],
  [413, 'Request Entity Too Large'],
  [421, 'Misdirected Request'],
  [
    466,
    'bad request: the specified API version is no longer supported. You may need to update your client to a newer version.',
  ],
  [500, 'internal server error'],
])
const PAGES: ReadonlyMap<number, string> = new Map([
  [502, 'Unicorn! 502 Bad Gateway'],
  [504, '504 Gateway Time-out'],
])

/** The Copilot API's usual reply for a status. */
export function usualFailure(status: number, nowMs = 0): WholeReply {
  const page = PAGES.get(status)
  if (page !== undefined) return htmlReply(status, page)
  const text = TEXTS.get(status)
  if (text !== undefined) return textReply(status, text)
  switch (status) {
    case 400:
      return invalidBody('simulated: the request body is not acceptable')
    case 402:
      return quotaFailure('quota_exceeded', nowMs)
    case 408:
      return failure(408, {
        message: 'Timed out reading request body. Try again, or use a smaller request size.',
        code: 'user_request_timeout',
      })
    case 429:
      return failure(
        429,
        { message: 'Sorry, you have exceeded your weekly rate limit.', code: 'user_weekly_rate_limited' },
        { 'retry-after': '30', 'x-ratelimit-exceeded': 'user_weekly' },
      )
    case 503:
      return failure(503, { message: 'upstream provider is rate limited', code: 'upstream_provider_rate_limit' })
    default:
      return failure(status, { message: `simulated error ${status}`, code: 'simulated_error' })
  }
}

/** A refusal by the validation against the JSON schema. `reason` as in docs/copilot-wire.md, "Parameters by model". */
export function schemaFailure(reason: string, location: string): WholeReply {
  return invalidBody(
    `invalid request body, failed to validate schema: (1) Reason: ${reason}, Location: ${location || '/'}`,
  )
}

export function missingVisionHeader(): WholeReply {
  return failure(400, { message: 'missing required Copilot-Vision-Request header for vision requests', code: '' })
}

/** The refusal of an effort that the model does not list, the same on every route. */
export function invalidEffort(effort: string, { id, efforts }: DemoModel): WholeReply {
  const message =
    efforts.length === 0
      ? `model ${id} does not support reasoning effort`
      : `reasoning effort "${effort}" is not supported by model ${id}; supported values: [${efforts.join(' ')}]`
  return failure(400, { message, code: 'invalid_reasoning_effort' })
}
