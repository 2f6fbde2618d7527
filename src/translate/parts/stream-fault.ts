import { Fault } from '../../errors.ts'
import { adviceOfName } from '../../upstream-advice.ts'
import { toUpstreamMessage } from '../../upstream-message.ts'
import { isFilled, isObject } from './wire-json.ts'

/**
 * What upstream's error codes amount to as an HTTP status, for failures that are reported inside a 200 stream.
 * Codes may carry a plan after a colon. Source: docs/copilot-wire.md, "Errors"; docs/codex-wire.md, "Errors".
 */
const statusOfCode: Readonly<Record<string, number>> = {
  rate_limited: 429,
  rate_limit_exceeded: 429,
  rate_limit_error: 429,
  user_model_rate_limited: 429,
  user_global_rate_limited: 429,
  user_weekly_rate_limited: 429,
  integration_rate_limited: 429,
  upstream_provider_rate_limit: 429,
  agent_mode_limit_exceeded: 429,
  usage_limit_reached: 429,
  usage_not_included: 403,
  insufficient_quota: 429,
  credit_balance_exhausted: 429,
  billing_hard_limit_reached: 429,
  extension_blocked: 429,
  model_overloaded: 429,
  overloaded_error: 529,
  server_is_overloaded: 503,
  slow_down: 503,
  service_unavailable: 503,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  timeout_error: 504,
  invalid_prompt: 400,
  cyber_policy: 400,
  bio_policy: 400,
  misalignment_policy_violation: 400,
  quota_exceeded: 402,
  free_quota_exceeded: 402,
  overage_limit_reached: 402,
  additional_spend_limit_reached: 402,
  billing_not_configured: 402,
  content_policy_violation: 400,
  invalid_encrypted_content: 400,
  context_too_large: 400,
  context_length_exceeded: 400,
  model_max_prompt_tokens_exceeded: 400,
  invalid_request_body: 400,
  invalid_request_error: 400,
  model_not_supported: 400,
  unsupported_api_for_model: 400,
  no_available_model_endpoints: 400,
  user_request_timeout: 408,
}

interface Sense {
  /** Whatever status the failure names. */
  readonly status: number
  readonly code: string
  readonly param?: string
}

const usageLimit: Sense = { status: 429, code: 'usage_limit_reached' }

/** Codes and types that mean one thing (docs/codex-wire.md, "Errors"). */
const named: ReadonlyMap<string | undefined, Sense> = new Map([
  [usageLimit.code, usageLimit],
  ['usage_not_included', { status: 403, code: 'usage_not_included' }],
])

const noSuchModel: Sense = { status: 404, code: 'model_not_found', param: 'model' }

/** Failures that have words and no name of their own (docs/codex-wire.md, "Errors"). */
const worded: readonly (readonly [RegExp, Sense])[] = [
  [/model is not supported when using Codex with a ChatGPT account/i, noSuchModel],
  [/^Model not found\b/i, noSuchModel],
]

/** Both SDKs repeat every 429 and 5xx unless told not to; of these it would change nothing for a long time. */
const inVain: ReadonlySet<string | undefined> = new Set([
  'usage_limit_reached',
  'usage_not_included',
  'insufficient_quota',
  'credit_balance_exhausted',
  'billing_hard_limit_reached',
])

/**
 * The failure an error of the stream reports: `{"error":{"code":…,"message":"…"}}`, an element of `copilot_errors`, or
 * the `error` of a failed response. `code` is a number or a string, `error` itself may be a string.
 * @param redact takes known credentials out of its words
 * @returns Fault `upstream_status` where the code says which status it would have been, else `upstream_failed`
 */
export function toStreamFault(error: unknown, redact: (text: string) => string): Fault {
  const fields = isObject(error) ? error : {}
  const text = isObject(error) ? fields['message'] : error
  const message = isFilled(text) ? toUpstreamMessage(text, redact) : 'Upstream reported a failure without a message.'
  // A number is the status once more, not a code that a client could know.
  const told = isFilled(fields['code']) && httpStatus(fields['code']) === undefined ? fields['code'] : undefined
  const type = isFilled(fields['type']) ? fields['type'] : undefined
  const sense = named.get(told) ?? wordedAs(told, message) ?? named.get(type)
  const code = told ?? sense?.code ?? (type !== undefined && isSpecific(type) ? type : undefined)
  const status =
    sense?.status ??
    httpStatus(fields['code']) ??
    httpStatus(fields['status']) ??
    statusOfName(told) ??
    statusOfName(type)
  if (status === undefined) {
    return new Fault({ kind: 'upstream_failed', message, ...(code !== undefined && { code }) })
  }
  const param = isFilled(fields['param']) ? fields['param'] : sense?.param
  const known = adviceOfName(code) ?? adviceOfName(type)
  const retryAfter = sense === usageLimit ? secondsToReset(fields['resets_in_seconds']) : undefined
  return new Fault({
    kind: 'upstream_status',
    status,
    message,
    ...(known !== undefined && { advice: known.advice }),
    ...(code !== undefined && { code }),
    ...(type !== undefined && { type }),
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(inVain.has(code) && { headers: { 'x-should-retry': 'false' } }),
  })
}

/** A code that is known says more than words do. */
function wordedAs(code: string | undefined, message: string): Sense | undefined {
  return statusOfName(code) === undefined ? worded.find(([words]) => words.test(message))?.[1] : undefined
}

/** Types are either kinds of failure (`error`, `server_error`) or as good as a code. */
function isSpecific(type: string): boolean {
  return type.length <= LONGEST_NAME && !type.endsWith('error')
}

/** Names are a few letters; anything longer is something else. */
const LONGEST_NAME = 200

/** A plan's windows are hours or a week; anything longer is a slip. Seconds. */
const LONGEST_RESET = 60 * 24 * 60 * 60

/** When a spent window opens again, as a `Retry-After`. */
function secondsToReset(within: unknown): string | undefined {
  return typeof within === 'number' && within > 0 && within <= LONGEST_RESET ? String(Math.ceil(within)) : undefined
}

function httpStatus(code: unknown): number | undefined {
  const status = typeof code === 'number' || isFilled(code) ? Number(code) : Number.NaN
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}

function statusOfName(code: string | undefined): number | undefined {
  const name = code?.split(':', 1)[0] ?? ''
  return Object.hasOwn(statusOfCode, name) ? statusOfCode[name] : undefined
}
