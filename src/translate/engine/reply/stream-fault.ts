import { Fault } from '../../../errors.ts'
import { adviceOfName } from '../../../upstream-errors/advice.ts'
import { toUpstreamMessage } from '../../../upstream-errors/message.ts'
import { isFilled, isObject, isTooComplex, objectOf } from '../../../json/json.ts'

/**
 * Upstream's error codes by the HTTP status they imply, for failures inside a 200 stream. Sources: docs/copilot-wire.md,
 * "Errors"; docs/codex-wire.md, "Errors".
 */
const codesOfStatus: readonly (readonly [status: number, codes: string])[] = [
  [
    400,
    `invalid_prompt cyber_policy bio_policy misalignment_policy_violation content_policy_violation
    invalid_encrypted_content context_too_large context_length_exceeded model_max_prompt_tokens_exceeded
    invalid_request_body invalid_request_error model_not_supported unsupported_api_for_model
    no_available_model_endpoints model_not_available_for_integrator model_degraded invalid_tool_call_format
    invalid_stateful_marker unsupported_tier`,
  ],
  [401, 'authentication_error'],
  [
    402,
    `billing_error quota_exceeded free_quota_exceeded overage_limit_reached
    additional_spend_limit_reached billing_not_configured custom_billing_not_configured
    session_quota_exceeded`,
  ],
  [403, 'usage_not_included permission_error'],
  [404, 'not_found_error'],
  [408, 'user_request_timeout'],
  [413, 'request_too_large'],
  [
    429,
    `rate_limited rate_limit_exceeded rate_limit_error user_model_rate_limited user_global_rate_limited
    user_weekly_rate_limited integration_rate_limited upstream_provider_rate_limit
    agent_mode_limit_exceeded usage_limit_reached insufficient_quota credit_balance_exhausted
    billing_hard_limit_reached extension_blocked model_overloaded`,
  ],
  [503, 'server_is_overloaded slow_down service_unavailable'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]

const statusOfCode: ReadonlyMap<string, number> = new Map(
  codesOfStatus.flatMap(([status, codes]) => codes.split(/\s+/).map((code) => [code, status] as const)),
)

interface KnownFailure {
  /** Overrides the status in the failure. */
  readonly status: number
  readonly code: string
  readonly param?: string
}

const usageLimit: KnownFailure = { status: 429, code: 'usage_limit_reached' }

/** Failures recognised by code or type (docs/codex-wire.md, "Errors"). */
const byName: ReadonlyMap<string | undefined, KnownFailure> = new Map([
  [usageLimit.code, usageLimit],
  ['usage_not_included', { status: 403, code: 'usage_not_included' }],
])

const noSuchModel: KnownFailure = { status: 404, code: 'model_not_found', param: 'model' }

/** Failures without a code, recognised by message (docs/codex-wire.md, "Errors"). */
const byMessage: readonly (readonly [RegExp, KnownFailure])[] = [
  [/model is not supported when using Codex with a ChatGPT account/i, noSuchModel],
  [/^Model not found\b/i, noSuchModel],
]

/** Codes after which a retry cannot succeed for a long time. Both SDKs retry every 429 and 5xx unless a header forbids it. */
const notRetryable: ReadonlySet<string | undefined> = new Set([
  'usage_limit_reached',
  'usage_not_included',
  'insufficient_quota',
  'credit_balance_exhausted',
  'billing_hard_limit_reached',
])

/**
 * Converts an error inside a stream: `{"error":{"code":…,"message":"…"}}`, an element of `copilot_errors`, or the `error`
 * of a failed response. `code` is a number or a string; `error` may itself be a string.
 * @param redact removes known credentials from the message
 * @returns Fault `upstream_status` if the error implies a status, else `upstream_failed`
 */
export function toStreamFault(error: unknown, redact: (text: string) => string): Fault {
  const fields = objectOf(error)
  const text = isObject(error) ? fields['message'] : error
  const message = isFilled(text)
    ? toUpstreamMessage(text, redact)
    : 'The provider reported a failure without a message.'
  // A numeric code repeats the status.
  const name = isFilled(fields['code']) && httpStatus(fields['code']) === undefined ? fields['code'] : undefined
  const type = isFilled(fields['type']) ? fields['type'] : undefined
  const failure = byName.get(name) ?? failureOfMessage(name, message) ?? byName.get(type)
  const code = name ?? failure?.code ?? (type !== undefined && isSpecific(type) ? type : undefined)
  const status =
    failure?.status ??
    httpStatus(fields['code']) ??
    httpStatus(fields['status']) ??
    statusOfName(name) ??
    statusOfName(type)
  if (status === undefined) {
    return new Fault({ kind: 'upstream_failed', message, ...(code !== undefined && { code }) })
  }
  const param = isFilled(fields['param']) ? fields['param'] : failure?.param
  const known = adviceOfName(code) ?? adviceOfName(type)
  const retryAfter = failure === usageLimit ? secondsToReset(fields['resets_in_seconds']) : undefined
  return new Fault({
    kind: 'upstream_status',
    status,
    message,
    ...(known !== undefined && { advice: known.advice }),
    ...(code !== undefined && { code }),
    ...(type !== undefined && { type }),
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...(notRetryable.has(code) && { headers: { 'x-should-retry': 'false' } }),
  })
}

/** A known code takes precedence over the message. */
function failureOfMessage(code: string | undefined, message: string): KnownFailure | undefined {
  return statusOfName(code) === undefined ? byMessage.find(([pattern]) => pattern.test(message))?.[1] : undefined
}

/** Whether a type is as precise as a code, unlike `error` or `server_error`. */
function isSpecific(type: string): boolean {
  return type.length <= MAX_NAME_LENGTH && !type.endsWith('error')
}

/** Longer types are not names. Characters. */
const MAX_NAME_LENGTH = 200

/** A plan's windows last hours or a week; longer values are wrong. Seconds. */
const MAX_RESET_SECONDS = 60 * 24 * 60 * 60

/** The time until a usage window resets, as a `Retry-After`. */
function secondsToReset(within: unknown): string | undefined {
  return typeof within === 'number' && within > 0 && within <= MAX_RESET_SECONDS ? String(Math.ceil(within)) : undefined
}

function httpStatus(code: unknown): number | undefined {
  const status = typeof code === 'number' || isFilled(code) ? Number(code) : Number.NaN
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}

/** @param code may end with a colon and a plan */
function statusOfName(code: string | undefined): number | undefined {
  return statusOfCode.get(code?.split(':', 1)[0] ?? '')
}

/**
 * Checks the data of an event that is no JSON object. Other JSON values are harmless. Text that is not JSON may have been a
 * part of the answer, so the answer would be incomplete; GitHub's own client ignores that.
 * @throws Fault `upstream_unusable` if the data is not JSON or is too complex
 */
export function refuseDamaged(data: string): void {
  if (isTooComplex(data)) {
    const detail = 'it sent a JSON event that is nested too deeply or has too many values'
    throw new Fault({ kind: 'upstream_unusable', detail })
  }
  try {
    JSON.parse(data)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent an event that is not JSON' }, { cause })
  }
}
