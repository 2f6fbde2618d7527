import { contextOf, failureOfStatus, openaiError } from '../../../src/demo/codex/failures.ts'
import type { FailureRequest } from '../../../src/demo/codex/failures.ts'
import { failureOf, readPrompt, streamAnswer } from '../../../src/demo/codex/inference.ts'
import { CODEX_MODELS } from '../../../src/demo/codex/models.ts'
import type { CodexCall, CodexChecks, CodexSubject } from '../../../src/demo/codex/request.ts'
import { htmlReply, jsonReply } from '../../../src/demo/outcome.ts'
import type { HeaderMap, Outcome } from '../../../src/demo/outcome.ts'

/** Models as a project with an API key has them. */
const KEY_MODELS = CODEX_MODELS.filter(({ isHidden }) => isHidden !== true)

/** `POST /v1/responses` of the key API. */
export function answerKeyApi(call: CodexCall, checks: CodexChecks): Outcome {
  const read = readPrompt(call, KEY_MODELS, checks)
  if (!read.ok) return read.refusal
  return failAtOnce(read.value) ?? streamAnswer(read.value, { ...limitHeaders(), 'openai-processing-ms': '12' })
}

function failAtOnce(subject: CodexSubject): Outcome | undefined {
  const { markers } = subject
  if (markers.asked.has('silent')) return { kind: 'silent' }
  if (markers.asked.has('html')) return htmlReply(200, 'Sign in to the network')
  const failure = failureOf(markers)
  if (failure === undefined) return undefined
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

function codeOf({ status, code = USUAL_CODES[status] }: FailureRequest): string | undefined {
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

/** Ids of the key API that no catalogue of Codex has. */
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

/** The real text goes on with the key, masked. */
export function invalidKey() {
  return openaiError(401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' })
}
