import { fetchCopilotUser, isDirectKind } from './github-api.ts'
import { loginFix, type GithubFailure, type TokenOrigin } from './github-failure.ts'
import type { CopilotAccount, UnreportedAccount } from './quota.ts'
import { RecordStoreError } from '../records/record-fs.ts'
import type { RecordStore } from '../records/record-store.ts'
import type { CopilotRecord } from './wire.ts'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'

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
 * Fetches plan and quota of the account in use.
 * @throws Fault `copilot_unavailable`, `upstream_*`; the signal's reason on abort
 */
export async function fetchAccountInUse(
  { store, githubToken, fetch, now }: AccountDeps,
  { copilot, copilotOauth }: Config,
  signal: AbortSignal,
): Promise<CopilotAccount | UnreportedAccount> {
  const sources = { store, githubToken, githubApiBaseUrl: copilotOauth.githubApiBaseUrl }
  const login = await findLoginInUse(sources).catch((cause: unknown) => {
    if (!(cause instanceof RecordStoreError)) throw cause
    const detail = 'The stored login cannot be read.'
    throw new Fault({ kind: 'copilot_unavailable', detail, fix: 'Run: copilot-proxy status' }, { cause })
  })
  if (login === undefined) {
    throw new Fault({ kind: 'copilot_unavailable', detail: 'Not logged in to GitHub Copilot.', fix: loginFix })
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

/** The GitHub token in use and the API it belongs to. */
export interface LoginInUse {
  readonly githubToken: string
  readonly apiBaseUrl: string
  /** For `GithubApiDeps`. */
  readonly tokenOrigin: TokenOrigin
  /** Undefined when the token comes from the environment. */
  readonly record: CopilotRecord | undefined
}

export interface LoginSources {
  readonly store: Pick<RecordStore<CopilotRecord>, 'current'>
  /** `COPILOT_GITHUB_TOKEN`. It wins over every stored login. */
  readonly githubToken: string | undefined
  /** `copilot-oauth.github-api-base-url`. A record of another host states its own. */
  readonly githubApiBaseUrl: string
}

/** The login in use; undefined if there is none. */
export async function findLoginInUse(sources: LoginSources): Promise<LoginInUse | undefined> {
  const { store, githubToken, githubApiBaseUrl } = sources
  if (githubToken !== undefined) {
    return { githubToken, apiBaseUrl: githubApiBaseUrl, tokenOrigin: 'environment', record: undefined }
  }
  const record = await store.current()
  if (record === undefined) return undefined
  const { github_access_token: stored, github_api_base_url: apiBaseUrl = githubApiBaseUrl } = record.metadata
  return { githubToken: stored, apiBaseUrl, tokenOrigin: 'record', record }
}
