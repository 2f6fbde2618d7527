import { Fault } from '../errors.ts'
import { adviceOfName } from '../upstream-errors/advice.ts'
import { readErrorValue } from '../upstream-errors/error-body.ts'
import type { ErrorBody } from '../upstream-errors/error-body.ts'
import { parseObject } from '../json/json.ts'
import type { JsonObject } from '../json/json.ts'
import { inWords, sentence, timeInWords, toUpstreamMessage } from '../upstream-errors/message.ts'

/** An error of a Codex upstream, by status or inside a 200 stream. */
export interface CodexRefusal {
  /** Undefined if an error inside a stream names none. */
  readonly status: number | undefined
  readonly error: ErrorBody
  /** As received: seconds or an HTTP date. */
  readonly retryAfter: string | undefined
  /** The headers that a caller may see. */
  readonly headers: Readonly<Record<string, string>>
}

interface Rule {
  readonly status: number
  /** `status` replaces the status of upstream, not only a missing one. */
  readonly always?: true
  /** A retry will not help for a long time. Both SDKs retry every 429 and 5xx unless `x-should-retry` is false. */
  readonly noRetry?: true
  /** The message, if upstream sends none. */
  readonly message?: string
  /** A sentence before upstream's message. */
  readonly lead?: string
  /** The code, if upstream sends none. */
  readonly code?: string
  readonly param?: string
}

const usageLimit = 'usage_limit_reached'

/** The rule for a code or a type. Sources: docs/codex-wire.md, "Errors"; OpenAI API reference, errors, 2026-11. */
const rules: ReadonlyMap<string, Rule> = new Map(
  [
    rule(
      {
        status: 429,
        always: true,
        noRetry: true,
        message: 'The usage limit of the ChatGPT plan is reached.',
        code: usageLimit,
      },
      [usageLimit],
    ),
    rule(
      {
        status: 403,
        always: true,
        noRetry: true,
        lead: 'The plan of this ChatGPT login does not include Codex.',
        code: 'usage_not_included',
      },
      ['usage_not_included'],
    ),
    rule({ status: 402, message: 'The workspace of this ChatGPT login is deactivated.' }, ['deactivated_workspace']),
    rule({ status: 403, message: 'This ChatGPT login may not use its workspace.' }, ['invalid_workspace_selected']),
    rule({ status: 429, noRetry: true }, [
      'insufficient_quota',
      'credit_balance_exhausted',
      'organization_spend_limit_exceeded',
      'project_spend_limit_exceeded',
      'organization_usage_limit_exceeded',
      'billing_hard_limit_reached',
    ]),
    rule({ status: 429 }, ['rate_limit_exceeded', 'rate_limit_error']),
    rule({ status: 401, always: true }, ['token_expired', 'token_invalidated', 'token_revoked']),
    rule({ status: 401 }, ['invalid_api_key', 'authentication_error', 'unauthorized']),
    rule({ status: 400, always: true }, ['context_length_exceeded', 'context_too_large']),
    rule({ status: 400 }, [
      'invalid_request_error',
      'invalid_encrypted_content',
      'invalid_prompt',
      'cyber_policy',
      'bio_policy',
      'misalignment_policy_violation',
      'content_policy_violation',
      'image_content_policy_violation',
      'invalid_value',
      'unsupported_value',
      'unsupported_parameter',
      'unknown_parameter',
      'missing_required_parameter',
      'invalid_image',
      'invalid_image_format',
      'invalid_image_mode',
      'invalid_image_url',
      'invalid_base64_image',
      'image_too_large',
      'image_too_small',
      'image_parse_error',
      'image_file_too_large',
      'image_file_not_found',
      'unsupported_image_media_type',
      'empty_image_file',
      'failed_to_download_image',
    ]),
    rule({ status: 403 }, ['permission_error', 'unsupported_country_region_territory']),
    rule({ status: 404 }, ['model_not_found']),
    rule({ status: 500 }, ['server_error', 'internal_server_error']),
    rule({ status: 503 }, ['server_is_overloaded', 'slow_down', 'overloaded_error', 'service_unavailable_error']),
  ].flat(),
)

function rule(what: Rule, names: readonly string[]): readonly (readonly [string, Rule])[] {
  return names.map((name) => [name, what] as const)
}

const noSuchModel: Rule = { status: 404, always: true, code: 'model_not_found', param: 'model' }

/** Rules for errors that upstream sends with a message but without a code (docs/codex-wire.md, "Errors"). */
const worded: readonly (readonly [RegExp, Rule])[] = [
  [/model is not supported when using Codex with a ChatGPT account/i, noSuchModel],
  [/^Model not found\b/i, noSuchModel],
  [/\bmodel is at capacity\b/i, { status: 503, always: true, code: 'server_is_overloaded' }],
]

/** Codes that end the login. A token renewal fails after them; the official client asks for a new login too. */
const deadLogin: ReadonlySet<string> = new Set(['token_invalidated', 'token_revoked'])

/** Whether upstream has ended the login, not only the token. */
export function isLoginDead({ code, type }: ErrorBody): boolean {
  return deadLogin.has(code ?? '') || deadLogin.has(type ?? '')
}

/**
 * Converts an error of a Codex upstream to a Fault. The code, the message and the type of the error outrank its status.
 * @param redact removes known credentials from its message
 * @returns Fault `upstream_status`; `upstream_failed` for an error inside a stream without a known status
 */
export function toCodexFault(
  { status, error, retryAfter, headers }: CodexRefusal,
  nowMs: number,
  redact: (text: string) => string,
): Fault {
  const said = error.message === undefined ? undefined : toUpstreamMessage(error.message, redact)
  const found = ruleOf(error, said ?? '')
  const code = shortName(error.code) ?? found?.code
  const settled = found !== undefined && (found.always === true || status === undefined) ? found.status : status
  if (settled === undefined) {
    const message = said ?? 'OpenAI reported a failure without a message.'
    return new Fault({ kind: 'upstream_failed', message, ...(code !== undefined && { code }), headers })
  }
  const own = said ?? found?.message ?? `OpenAI answered ${settled} without a message.`
  const base = found?.lead === undefined ? own : [found.lead, said].filter(Boolean).join(' ')
  const reset = isReached(error) ? resetOf(error.fields ?? {}, nowMs) : undefined
  const waitMs = retryAfter === undefined && isBusy(settled) ? waitIn(base) : undefined
  const type = shortName(error.type)
  const advice = adviceOf(settled, { code, type }, headers)
  const param = shortName(error.param) ?? found?.param
  return new Fault({
    kind: 'upstream_status',
    status: settled,
    message: reset === undefined ? base : `${sentence(base)} ${reset.words}`,
    ...(advice !== undefined && { advice }),
    ...(code !== undefined && { code }),
    // `error` is the type of every error event.
    ...(type !== undefined && type !== 'error' && { type }),
    ...(param !== undefined && { param }),
    ...retryFields(reset?.seconds, waitMs, retryAfter),
    headers: {
      ...headers,
      ...(waitMs !== undefined && { 'retry-after-ms': String(waitMs) }),
      ...(found?.noRetry === true && { 'x-should-retry': 'false' }),
    },
  })
}

/** Finds the rule by code, then by message, then by type. The type comes last because it can be general. */
function ruleOf({ code, type }: ErrorBody, message: string): Rule | undefined {
  return rules.get(code ?? '') ?? worded.find(([words]) => words.test(message))?.[1] ?? rules.get(type ?? '')
}

/** Advice for a used-up plan, by `x-codex-rate-limit-reached-type` (docs/codex-wire.md, "Rate limits"). */
const spentWorkspace: readonly (readonly [RegExp, string])[] = [
  [/^workspace_owner_/, 'Buy credits for the workspace at https://chatgpt.com/codex/settings/usage'],
  [/^workspace_member_/, 'Ask the owner of the workspace for more credits.'],
]

function adviceOf(
  status: number,
  { code, type }: { readonly code: string | undefined; readonly type: string | undefined },
  { 'x-codex-rate-limit-reached-type': reached = '' }: Readonly<Record<string, string>>,
): string | undefined {
  const ofWorkspace = code === usageLimit ? spentWorkspace.find(([names]) => names.test(reached))?.[1] : undefined
  const known = ofWorkspace ?? (adviceOfName(code) ?? adviceOfName(type))?.advice
  return (
    known ?? (status >= 500 ? 'Try again in a moment; https://status.openai.com shows known incidents.' : undefined)
  )
}

const longestName = 200

/** Drops a value that is too long to be a code, a type or a parameter. */
function shortName(name: string | undefined): string | undefined {
  return name === undefined || name.length > longestName ? undefined : name
}

function isReached({ code, type }: ErrorBody): boolean {
  return code === usageLimit || type === usageLimit
}

function isBusy(status: number): boolean {
  return status === 429 || status === 503
}

function retryFields(
  resetSeconds: number | undefined,
  waitMs: number | undefined,
  retryAfter: string | undefined,
): { readonly retryAfter?: string } {
  if (resetSeconds !== undefined) return { retryAfter: String(resetSeconds) }
  if (waitMs !== undefined) return { retryAfter: String(Math.ceil(waitMs / 1000)) }
  return retryAfter === undefined ? {} : { retryAfter }
}

/** Longest reset time that is believed. The windows of a plan last hours or a week. Seconds. */
const longestReset = 60 * 24 * 60 * 60

/** Time until a used-up window resets: `resets_in_seconds`, which does not depend on our clock, else `resets_at`. */
function resetOf(fields: JsonObject, nowMs: number): { readonly seconds: number; readonly words: string } | undefined {
  const { resets_in_seconds: within, resets_at: at } = fields
  const candidates = [within, typeof at === 'number' ? at - nowMs / 1000 : undefined]
  const found = candidates.find((value) => typeof value === 'number' && value > 0 && value <= longestReset)
  if (typeof found !== 'number') return undefined
  const seconds = Math.ceil(found)
  return { seconds, words: `It resets in ${inWords(seconds)}, at ${timeInWords(nowMs + seconds * 1000)}.` }
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
])

const AMOUNT = String.raw`\d{1,9}(?:\.\d{1,9})?\s?(?:ms|s(?:econds?)?|m(?:inutes?)?|h(?:ours?)?)(?![a-z])\s?`
const WAIT = new RegExp(`try again in ((?:${AMOUNT}){1,4})`, 'i')

/** The wait in a message such as `Please try again in 1.5s` (also `20ms`, `6m0s`, `2 seconds`). Ms. */
function waitIn(message: string): number | undefined {
  const words = WAIT.exec(message)?.[1]
  if (words === undefined) return undefined
  let totalMs = 0
  for (const [, amount, unit] of words.matchAll(/([\d.]+)\s?(ms|[smh])/gi)) {
    totalMs += Number(amount) * (unitMs.get(unit?.toLowerCase() ?? '') ?? 0)
  }
  return totalMs > 0 && totalMs <= longestReset * 1000 ? Math.ceil(totalMs) : undefined
}

/** Longer than any known `x-error-json`. Characters. */
const longestHeader = 16 * 1024

/**
 * Adds the error in the headers of a 401: `x-error-json` is a whole error body in base64, and
 * `x-openai-authorization-error` is an error code. A code that ends the login wins, wherever it comes from.
 */
export function withHeaderError(
  error: ErrorBody,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ErrorBody {
  const { 'x-error-json': encoded, 'x-openai-authorization-error': name } = headers
  const record =
    typeof encoded === 'string' && encoded.length <= longestHeader
      ? parseObject(Buffer.from(encoded, 'base64').toString('utf8'))
      : undefined
  const stated = record && readErrorValue(record)
  const codes = [error.code, stated?.code, typeof name === 'string' && isName(name) ? name : undefined]
  return {
    ...error,
    message: error.message ?? stated?.message,
    code: codes.find((code) => deadLogin.has(code ?? '')) ?? codes.find((code) => code !== undefined),
  }
}

function isName(text: string): boolean {
  return /^[a-z_]{1,64}$/.test(text)
}
