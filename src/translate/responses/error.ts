import { type ProxyError, isRetryFutile, retryAfterOf, statusOf, toRetrySeconds } from '../../errors.ts'
import { encodeJsonEvent } from '../../sse/encode.ts'
import { overflowOf } from '../engine/error-wording.ts'
import { toOpenAiError } from '../engine/openai-error.ts'
import { type JsonObject, isObject } from '../../json/json.ts'
import { echoOf } from './response-object.ts'

/**
 * The body of an error reply. A limit that lasts has the type and the time that Codex CLI knows from OpenAI. After any
 * other 429 it waits as long as `retry-after` says, even for days, and shows only "Reconnecting" (0.169.0, 2026-11).
 * @param nowMs ms since epoch
 */
export function toResponsesError(error: ProxyError, requestId: string, nowMs: number): unknown {
  const body = toOpenAiError(error, requestId)
  if ((error.kind !== 'upstream_status' && error.kind !== 'credits_spent') || statusOf(error) !== 429) return body
  const waitSeconds = Math.ceil(toRetrySeconds(retryAfterOf(error) ?? '', nowMs))
  if (!isRetryFutile(error) && !(waitSeconds > LONGEST_WAIT_SECONDS)) return body
  const resets = waitSeconds > 0 && {
    resets_at: Math.floor(nowMs / 1000) + waitSeconds,
    resets_in_seconds: waitSeconds,
  }
  return { error: { ...body.error, type: 'usage_limit_reached', ...resets } }
}

/** Nobody watches a silent client for longer. */
const LONGEST_WAIT_SECONDS = 600

/**
 * Ends a started stream: `error`, then `response.failed`, as OpenAI's servers do. Both are needed, in this order:
 * openai-node's stream helpers throw on `error` and treat a `response.failed` as a normal end; Codex CLI ignores
 * `error` and reads the code of `response.failed` (openai 7.55.0, @ai-sdk/openai 4.0.118, openai/codex
 * `codex-rs/codex-api/src/sse/responses.rs`, 2026-11). The AI SDK reports only the first of the two. The `error` event
 * has both forms: flat as OpenAI documents it, and nested as OpenAI's servers and Open Responses (2026-04-24) send it.
 *
 * @param response the response object with its echo and the items so far
 * @param sequenceNumber of the first event
 * @param upstreamError as upstream sent it, if it sent one
 */
export function encodeResponsesFailure(
  error: ProxyError,
  requestId: string,
  response: JsonObject,
  sequenceNumber: number,
  upstreamError?: unknown,
): string {
  const limit = limitIn(upstreamError)
  const { error: body } = toOpenAiError(error, requestId)
  const { message, param } = body
  const failure = failureCode(error)
  const code = body.code ?? failure
  const errorEvent = {
    type: 'error',
    code,
    message,
    param,
    sequence_number: sequenceNumber,
    error: { ...body, code, ...limit },
  }
  const failed = {
    type: 'response.failed',
    sequence_number: sequenceNumber + 1,
    response: { ...response, status: 'failed', error: { code: failure, message, ...limit } },
  }
  return (
    encodeJsonEvent('error', JSON.stringify(errorEvent)) + encodeJsonEvent('response.failed', JSON.stringify(failed))
  )
}

/** Members of an error about a spent plan: clients read from them when the plan resets (docs/codex-wire.md, "Errors"). */
function limitIn(error: unknown): JsonObject {
  if (!isObject(error)) return {}
  const { plan_type: plan, resets_at: at, resets_in_seconds: within } = error
  return {
    ...(typeof plan === 'string' && plan.length <= LONGEST_PLAN && { plan_type: plan }),
    ...(typeof at === 'number' && { resets_at: at }),
    ...(typeof within === 'number' && { resets_in_seconds: within }),
  }
}

/** Characters. */
const LONGEST_PLAN = 64

/** Above any number that a stream reaches, within 32 bits. */
const lateSequenceNumber = 0x7f_ff_ff_fe

/**
 * Ends a stream whose state is unknown. The response object is made up; only a client that reads on after `error` sees
 * it. Streams of this dialect use their own `fail`.
 */
export function encodeResponsesErrorEvent(error: ProxyError, requestId: string): string {
  const response = {
    ...echoOf({ model: '' }),
    id: `resp_${requestId}`,
    object: 'response',
    created_at: 0,
    completed_at: null,
    incomplete_details: null,
    model: '',
    output: [],
    usage: null,
  }
  return encodeResponsesFailure(error, requestId, response, lateSequenceNumber)
}

/**
 * Upstream's codes that clients know and that no status expresses. Source: OpenAI API reference, response errors,
 * 2026-11.
 */
const KEPT = new Set([
  'invalid_prompt',
  'bio_policy',
  'cyber_policy',
  'misalignment_policy_violation',
  'insufficient_quota',
])

/**
 * The code in a failed response, by which Codex CLI decides: it gives up on a full context, a spent quota, an invalid
 * prompt and an overload, and sends the request again for any other code (openai/codex, as above).
 */
function failureCode(error: ProxyError): string {
  if (overflowOf(error) !== undefined) return 'context_length_exceeded'
  const status = statusOf(error)
  if (error.kind === 'upstream_status' || error.kind === 'upstream_failed') {
    if (error.code !== undefined && KEPT.has(error.code)) return error.code
    if (status === 402) return 'insufficient_quota'
    if (status === 503 || status === 529) return 'server_is_overloaded'
  }
  if (status === 429) return 'rate_limit_exceeded'
  // Most errors of the proxy itself are worth a retry, but a request that it refuses is not.
  return status < 500 && status !== 408 ? 'invalid_prompt' : 'server_error'
}
