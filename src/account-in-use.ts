import { fetchCopilotUser, isDirectKind } from './auth/github-api.ts'
import type { GithubFailure } from './auth/github-failure.ts'
import { findLoginInUse } from './auth/login-in-use.ts'
import type { CopilotAccount, UntoldAccount } from './auth/quota.ts'
import { RecordStoreError } from './auth/record-fs.ts'
import type { RecordStore } from './auth/record-store.ts'
import { loginFix } from './auth/token-origin.ts'
import type { CopilotRecord } from './auth/wire.ts'
import type { Config } from './config/schema.ts'
import { Fault } from './errors.ts'

export interface AccountDeps {
  readonly store: RecordStore<CopilotRecord>
  /** `COPILOT_GITHUB_TOKEN`. */
  readonly githubToken: string | undefined
  readonly fetch: typeof globalThis.fetch
  /** Ms since epoch. */
  readonly now: () => number
}

const timeoutMs = 15_000

/**
 * Plan and quota of the account that requests are made with.
 * @throws Fault `copilot_unavailable`, `upstream_*`; the signal's reason on abort
 */
export async function fetchAccountInUse(
  { store, githubToken, fetch, now }: AccountDeps,
  { copilot, copilotOauth }: Config,
  signal: AbortSignal,
): Promise<CopilotAccount | UntoldAccount> {
  const sources = { store, githubToken, githubApiBaseUrl: copilotOauth.githubApiBaseUrl }
  const login = await findLoginInUse(sources).catch((cause: unknown) => {
    if (!(cause instanceof RecordStoreError)) throw cause
    const detail = 'The stored login cannot be read.'
    throw new Fault(
      { kind: 'copilot_unavailable', detail, fix: 'See what is wrong with: copilot-proxy status' },
      { cause },
    )
  })
  if (login === undefined) {
    throw new Fault({ kind: 'copilot_unavailable', detail: 'Nobody is logged in.', fix: loginFix })
  }
  const { apiBaseUrl, tokenOrigin } = login
  const api = { fetch, now, headers: copilot.headers, timeoutMs, apiBaseUrl, tokenOrigin }
  const answer = await fetchCopilotUser(api, login.githubToken, signal)
  if (answer.kind === 'ok') return answer.account
  if (answer.kind === 'not_available' && isDirectKind(login.githubToken)) {
    return { problem: `${answer.detail}. ${answer.fix}` }
  }
  throw answer.kind === 'aborted' ? signal.reason : toFault(answer)
}

function toFault(failure: Exclude<GithubFailure, { kind: 'aborted' }>): Fault {
  const { kind, detail } = failure
  switch (kind) {
    case 'bad_credentials':
    case 'no_access':
      return new Fault({ kind: 'copilot_unavailable', detail, fix: failure.fix })
    case 'rate_limited': {
      const { retryAfterSeconds } = failure
      const retryAfter = retryAfterSeconds === undefined ? {} : { retryAfter: String(retryAfterSeconds) }
      return new Fault({ kind: 'upstream_status', status: 429, message: detail, ...retryAfter })
    }
    case 'not_available':
      return new Fault({ kind: 'upstream_unusable', detail })
    case 'transient':
    case 'redirected':
      return new Fault({ kind: 'upstream_unreachable', detail })
  }
}
