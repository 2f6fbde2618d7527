import type { RecordStore } from '../records/record-store.ts'
import { fetchCopilotUser, fetchGithubUser, obtainCopilotToken } from './github-api.ts'
import type { CopilotAuth, ExchangedToken, GithubApiDeps } from './github-api.ts'
import type { GithubFailure } from './github-failure.ts'
import type { GithubHosts } from './github-hosts.ts'
import { copilotRecordId } from './record.ts'
import type { CopilotRecord } from './wire.ts'

/** The GitHub account of a token that opens Copilot. */
export interface OpenedAccount {
  readonly kind: 'ok'
  readonly githubToken: string
  /** Undefined if GitHub does not report it. */
  readonly login: string | undefined
  /** As GitHub names it; undefined if GitHub does not report it. */
  readonly plan: string | undefined
  readonly opened: ExchangedToken
}

/** Finds out whether a token opens Copilot, and for whom. */
export async function openAccount(
  api: GithubApiDeps,
  githubToken: string,
  auth: CopilotAuth,
  signal: AbortSignal,
): Promise<OpenedAccount | GithubFailure> {
  const [user, opened, copilotUser] = await Promise.all([
    fetchGithubUser(api, githubToken, signal),
    obtainCopilotToken(api, githubToken, auth, signal),
    fetchCopilotUser(api, githubToken, signal),
  ])
  // Only the Copilot token decides; name and plan are for display.
  if (opened.kind !== 'ok') return opened
  const known = copilotUser.kind === 'ok' ? copilotUser.account : undefined
  return {
    kind: 'ok',
    githubToken,
    login: user.kind === 'ok' ? user.login : known?.login,
    plan: known?.plan,
    opened,
  }
}

/** The label of an account without a known name. A second one of the same host replaces it. */
const namelessAccount = 'account'

/** The record of a new login, which makes its account the one in use. Keeps the attributes of an older record of the account. */
export async function toCopilotRecord(
  records: Pick<RecordStore<CopilotRecord>, 'read'>,
  {
    hosts,
    account: { githubToken, login: name, opened },
    nowMs,
  }: {
    readonly hosts: GithubHosts
    readonly account: OpenedAccount
    /** Ms since epoch. */
    readonly nowMs: number
  },
): Promise<CopilotRecord> {
  const label = name ?? namelessAccount
  const id = copilotRecordId(label, hosts.baseUrl)
  const earlier = await records.read(id)
  const nowSeconds = Math.floor(nowMs / 1000)
  return {
    ...earlier,
    id,
    provider: 'copilot',
    label,
    attributes: earlier?.attributes ?? {},
    metadata: {
      github_access_token: githubToken,
      access_token: opened.token,
      ...(opened.expiresAtSeconds !== undefined && { expires_at: opened.expiresAtSeconds }),
      refresh_in: opened.refreshInSeconds,
      obtained_at: nowSeconds,
      ...(opened.apiBaseUrl !== undefined && { base_url: opened.apiBaseUrl }),
      ...(opened.sku !== undefined && { sku: opened.sku }),
      ...(name !== undefined && { login: name }),
      github_base_url: hosts.baseUrl,
      github_api_base_url: hosts.apiBaseUrl,
      logged_in_at: nowSeconds,
      // A login is a choice too, also in the second of another one.
      selected_at: nowMs / 1000,
    },
  }
}
