import { failureOfStatus, openaiError } from './failures.ts'
import type { FailureWish } from '../copilot/failures.ts'
import { failInTransit, failureOf } from '../inference.ts'
import { readPrompt, streamAnswer } from './inference.ts'
import { CODEX_MODELS } from './catalogue.ts'
import { contextOf } from './request.ts'
import type { CodexCall, CodexChecks, CodexSubject } from './request.ts'
import { jsonReply } from '../http/outcome.ts'
import type { HeaderMap, Outcome } from '../http/outcome.ts'

/** The models that a project with an API key has. */
const KEY_MODELS = CODEX_MODELS.filter(({ isHidden }) => isHidden !== true)

/** `POST /v1/responses` of the key API. */
export function answerKeyApi(call: CodexCall, checks: CodexChecks): Outcome {
  const read = readPrompt(call, KEY_MODELS, checks)
  if (!read.ok) return read.refusal
  return failAtOnce(read.value) ?? streamAnswer(read.value, { ...limitHeaders(), 'openai-processing-ms': '12' })
}

function failAtOnce(subject: CodexSubject): Outcome | undefined {
  const { markers } = subject
  const early = failInTransit(markers)
  const failure = failureOf(markers)
  if (early !== undefined || failure === undefined) return early
  const { status, code, retryAfterSeconds: seconds } = failure
  const reply = status === 401 ? invalidKey() : failureOfStatus({ status, code: codeOf(failure) }, contextOf(subject))
  return {
    ...reply,
    headers: {
      ...limitHeaders(),
      ...reply.headers,
      ...((status === 429 || status >= 500) && { 'x-should-retry': String(code !== 'insufficient_quota') }),
      ...(seconds !== undefined && { 'retry-after': String(seconds) }),
    },
  }
}

function codeOf({ status, code = USUAL_CODES[status] }: FailureWish): string | undefined {
  return code
}

const USUAL_CODES: Readonly<Record<number, string>> = {
  400: 'invalid_prompt',
  429: 'rate_limit_exceeded',
  500: 'server_error',
  503: 'server_is_overloaded',
}

function limitHeaders(): HeaderMap {
  return {
    'openai-organization': 'demo-org',
    'openai-version': '2020-10-01',
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '499',
    'x-ratelimit-reset-requests': '120ms',
    'x-ratelimit-limit-tokens': '500000',
    'x-ratelimit-remaining-tokens': '499000',
    'x-ratelimit-reset-tokens': '6ms',
  }
}

/** Models that only the key API lists. */
const OTHER_KEY_MODELS = ['gpt-4.1', 'text-embedding-3-small']

/** `GET /v1/models`. */
export function answerKeyModels(): Outcome {
  const ids = [...KEY_MODELS.map(({ slug }) => slug), ...OTHER_KEY_MODELS]
  const data = ids.map((id) => ({ id, object: 'model', created: 1_760_000_000, owned_by: 'system' }))
  return jsonReply(200, { object: 'list', data })
}

export function refuseUnknownModel(model: string): Outcome | undefined {
  if (KEY_MODELS.some(({ slug }) => slug === model)) return undefined
  const message = `The model '${model}' does not exist or you do not have access to it.`
  return openaiError(404, { message, code: 'model_not_found' })
}

/** In the real message, the masked key follows. */
export function invalidKey() {
  return openaiError(401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' })
}
