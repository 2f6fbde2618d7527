import { Fault } from '../errors.ts'
import { toCodexFault } from '../executors/codex-fault.ts'
import { toStatusFault } from '../executors/copilot-fault.ts'
import type { ProviderId } from '../executors/executor.ts'
import type { Model } from '../models/model.ts'
import { isNumber } from './markers.ts'
import type { Prompt } from './answer.ts'

interface Failure {
  readonly status: number
  readonly message: string
  /** Absent: the provider states no code, and its wording says what is wrong. */
  readonly code?: string
  readonly retryAfterSeconds?: number | undefined
}

/** Failures by code, with Copilot's words (docs/copilot-wire.md, "Errors"). Other codes get a general message. */
const messages: Readonly<Record<string, readonly [text: string, waitSeconds?: number]>> = {
  quota_exceeded: ['You have exceeded your monthly quota'],
  free_quota_exceeded: ['You have exceeded your free quota'],
  user_weekly_rate_limited: ['Sorry, you have exceeded your weekly rate limit.', 7 * 24 * 3600],
  user_global_rate_limited: ['Sorry, you have exceeded your 5 hour session limits.', 5 * 3600],
  user_model_rate_limited: ['Sorry, you have exceeded the rate limit of this model.', 60],
  usage_limit_reached: ['The usage limit has been reached', 13_872],
  server_is_overloaded: ['Our servers are currently overloaded. Please try again later.'],
}

/** Failures for which Copilot has no code, only words. */
const wordings: Readonly<Record<string, string>> = {
  'editor-version': 'bad request: unknown Editor-Version header for IDE auth',
  policy: 'access denied by Copilot policy',
  license: 'This API requires a valid Copilot license.',
}

/** The usual code of a status. */
const usualCodes = {
  copilot: { 402: 'quota_exceeded', 429: 'user_weekly_rate_limited', 503: 'upstream_provider_rate_limit' },
  codex: { 429: 'usage_limit_reached', 503: 'server_is_overloaded' },
} satisfies Record<ProviderId, Readonly<Record<number, string>>>

/** The failure that a marker or a step of a script asks for. */
export function failureOf({ model, conversation: { step }, markers }: Prompt): Fault | undefined {
  if (markers.asked.has('overflow')) return overflowOf(model)
  const error = step?.error
  if (error !== undefined) {
    return error.models?.includes(model.id) === false ? undefined : faultOf(model, error.status, error.code)
  }
  const given = markers.asked.get('error')
  if (given === undefined) return undefined
  const [status, word] = given
  if (!isNumber(word)) return faultOf(model, Number(status), word)
  return faultOf(model, Number(status), undefined, Number(word))
}

function faultOf(model: Model, status: number, name: string | undefined, seconds?: number): Fault {
  const usual: Readonly<Record<number, string>> = usualCodes[model.provider]
  const code = name ?? usual[status]
  const wording = wordings[code ?? '']
  if (code === undefined || wording !== undefined) {
    return toFault(model, { status, message: wording ?? `Simulated error ${status}.`, retryAfterSeconds: seconds })
  }
  const [message = `Simulated failure: ${code}.`, wait] = messages[code] ?? []
  return toFault(model, { status, code, message, retryAfterSeconds: seconds ?? wait })
}

function overflowOf(model: Model): Fault {
  const limit = model.maxPromptTokens ?? model.contextWindow ?? 128_000
  if (model.provider === 'codex') {
    const message = 'Your input exceeds the context window of this model.'
    return toFault(model, { status: 400, code: 'context_length_exceeded', message })
  }
  return model.id.startsWith('claude')
    ? toFault(model, { status: 400, message: `prompt is too long: ${limit + 10_194} tokens > ${limit} maximum` })
    : toFault(model, {
        status: 400,
        code: 'model_max_prompt_tokens_exceeded',
        message: `prompt token count of ${limit + 74_898} exceeds the limit of ${limit}`,
      })
}

/** As the executor of the real provider reports such a refusal. */
export function toFault({ provider }: Pick<Model, 'provider'>, failure: Failure): Fault {
  const { status, message, code, retryAfterSeconds } = failure
  if (status === 401) return new Fault({ kind: 'upstream_unauthorized', upstreamMessage: message })
  const reply = {
    status,
    headers: {},
    retryAfter: retryAfterSeconds === undefined ? undefined : String(retryAfterSeconds),
  }
  return provider === 'copilot'
    ? toStatusFault({ ...reply, body: JSON.stringify({ error: { message, code } }) }, String)
    : toCodexFault({ ...reply, error: { message, code } }, Date.now(), String)
}

/** As Copilot refuses a model that the account does not have. */
export function modelNotSupported(): Fault {
  const message = 'The requested model is not supported.'
  return toFault({ provider: 'copilot' }, { status: 400, message, code: 'model_not_supported' })
}
