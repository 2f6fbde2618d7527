import { Fault } from '../../errors.ts'
import { toUpstreamMessage } from '../../upstream-message.ts'
import { isFilled, isObject } from './wire-json.ts'

/**
 * What upstream's error codes amount to as an HTTP status, for failures that are reported inside a 200 stream.
 * Codes may carry a plan after a colon. Source: docs/copilot-wire.md, "Errors".
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
  context_length_exceeded: 400,
  model_max_prompt_tokens_exceeded: 400,
  invalid_request_body: 400,
  invalid_request_error: 400,
  model_not_supported: 400,
  unsupported_api_for_model: 400,
  no_available_model_endpoints: 400,
  user_request_timeout: 408,
}

/**
 * The failure an error of the stream reports: `{"error":{"code":…,"message":"…"}}`, an element of `copilot_errors`, or
 * the `error` of a failed response. `code` is a number or a string, `error` itself may be a string.
 * @returns Fault `upstream_status` where the code says which status it would have been, else `upstream_failed`
 */
export function toStreamFault(error: unknown): Fault {
  const fields = isObject(error) ? error : {}
  const text = isObject(error) ? fields['message'] : error
  const message = isFilled(text) ? toUpstreamMessage(text) : 'Upstream reported a failure without a message.'
  const code = isFilled(fields['code']) ? fields['code'] : undefined
  const type = isFilled(fields['type']) ? fields['type'] : undefined
  const status = httpStatus(fields['code']) ?? httpStatus(fields['status']) ?? statusOfName(code) ?? statusOfName(type)
  if (status === undefined) {
    return new Fault({ kind: 'upstream_failed', message, ...(code !== undefined && { code }) })
  }
  return new Fault({
    kind: 'upstream_status',
    status,
    message,
    // A number is the status once more, not a code that a client could know.
    ...(code !== undefined && httpStatus(code) === undefined && { code }),
    ...(type !== undefined && { type }),
    ...(isFilled(fields['param']) && { param: fields['param'] }),
  })
}

function httpStatus(code: unknown): number | undefined {
  const status = typeof code === 'number' || isFilled(code) ? Number(code) : Number.NaN
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}

function statusOfName(code: string | undefined): number | undefined {
  const name = code?.split(':', 1)[0] ?? ''
  return Object.hasOwn(statusOfCode, name) ? statusOfCode[name] : undefined
}
