import type { CodexLoginStatus } from '../auth/codex/credentials.ts'
import type { ProxyError } from '../errors.ts'
import { failed, ok, skipped, warning } from './check.ts'
import type { Findings } from './check.ts'
import type { ListingOutcome } from './models-check.ts'

export interface CodexAnswer {
  readonly outcome: ListingOutcome
  /** Of the login after it was asked with. */
  readonly status: CodexLoginStatus
}

type Describe = (error: ProxyError) => string

/** Whether OpenAI takes the login, renewed where that was due. */
export function judgeCodexToken({ outcome, status }: CodexAnswer, describe: Describe, nowMs: number): Findings {
  const { error } = outcome.kind === 'fault' ? outcome : { error: undefined }
  if (error?.kind === 'codex_unavailable') return failed(error.detail, error.fix)
  if (error?.kind === 'upstream_status' && error.status === 401) return failed(describe(error), fixOf(status))
  if (error !== undefined && planRefusal(error) === undefined) return skipped('Not known: OpenAI was asked in vain')
  return ok(`OpenAI takes the login${lifeOf(status, nowMs)}`)
}

/** Whether the plan includes Codex and has anything left. How much is told with answers only, and none is asked for. */
export function judgeCodexEntitlement({ outcome, status }: CodexAnswer, describe: Describe): Findings {
  const { error } = outcome.kind === 'fault' ? outcome : { error: undefined }
  const refusal = error && planRefusal(error)
  if (error !== undefined && refusal !== undefined) {
    return refusal === 429
      ? warning(
          describe(error),
          'Wait until it resets, or get a larger plan at https://chatgpt.com/codex/settings/usage',
        )
      : failed(describe(error), 'Log in with another account: copilot-proxy login codex')
  }
  if (error !== undefined) return skipped('Not known: OpenAI was asked in vain')
  return ok(
    status.source === 'api-key'
      ? 'Paid by the use of the API key'
      : status.plan === undefined
        ? 'The plan includes Codex'
        : `ChatGPT plan ${status.plan}`,
  )
}

/** The status of a refusal of the account and not of the login (docs/codex-wire.md, "Errors"). */
export function planRefusal(error: ProxyError): number | undefined {
  return error.kind === 'upstream_status' && [402, 403, 429].includes(error.status) ? error.status : undefined
}

const fixes: Readonly<Record<NonNullable<CodexLoginStatus['source']>, string>> = {
  'api-key': 'Set codex.api-key to a key that is valid',
  'codex-cli': 'Run: codex login',
  login: 'Run: copilot-proxy login codex',
}

function fixOf({ source = 'login' }: CodexLoginStatus): string {
  return fixes[source]
}

function lifeOf({ source, expiresAtMs }: CodexLoginStatus, nowMs: number): string {
  if (expiresAtMs === undefined) return ''
  const hours = Math.max(0, Math.floor((expiresAtMs - nowMs) / 3600_000))
  const time = hours < 48 ? `${hours} hours` : `${Math.floor(hours / 24)} days`
  return `; its token is good for ${time} and renewed by ${source === 'codex-cli' ? 'Codex CLI alone' : 'itself'}`
}
