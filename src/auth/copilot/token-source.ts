import { Fault } from '../../errors.ts'
import { githubHostsOf } from '../../config/upstream-hosts.ts'
import { createMemoryRecordStore } from '../records/memory-record-store.ts'
import { createCredential, RETRY_FIX, type CredentialDeps } from '../credential/credential.ts'
import { MIN_REFRESH_GAP_MS, type HeldCredential, type RefreshFailure } from '../credential/state.ts'
import { isExpired, type Moment, type TokenLife } from '../token-life.ts'
import { completionsUrlOf, endpointCandidates, hintedBaseUrl } from './endpoint.ts'
import { isDirectKind, obtainCopilotToken, type CopilotAuth, type ExchangedToken } from './github-api.ts'
import { loginFix, type GithubFailure } from './github-failure.ts'
import { copilotRecordKind, tokenLife } from './record.ts'

import type { CopilotToken, CopilotTokenSource } from './token.ts'
import { isUsedDirectly, type CopilotRecord } from './wire.ts'

export interface CopilotTokenOptions {
  /** `copilot-oauth.github-base-url` and `-api-base-url`. A record of another host states its own. */
  readonly githubBaseUrl: string
  readonly githubApiBaseUrl: string
  /** `copilot.base-url`; '' if it is not set. */
  readonly baseUrl: string
  /** `copilot.headers`, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly refreshSafetyMarginSeconds: number
  /** `copilot.auth`; `exchange` by default. */
  readonly auth?: CopilotAuth
  /** `COPILOT_GITHUB_TOKEN`. Used instead of the stored records, and never stored. */
  readonly githubToken?: string
  /** The name of the only account that the store returns. Undefined: the account in use. */
  readonly account?: string
  /** Time limit of one token exchange. Ms; 15,000 by default. */
  readonly exchangeTimeoutMs?: number
}

/**
 * A refused account can become usable without a new login, for example when the user starts a plan. So the exchange is
 * tried again after this. Ms.
 */
const REFUSED_RETRY_MS = 60_000

/** Keeps one Copilot token valid. A refresh is a token exchange with GitHub. */
export function createCopilotTokenSource(
  deps: CredentialDeps<CopilotRecord>,
  options: CopilotTokenOptions,
): CopilotTokenSource {
  const { githubToken, auth = 'exchange' } = options
  const githubHosts = githubHostsOf([options.githubBaseUrl, options.githubApiBaseUrl])
  const warned = new Set<string>()

  const warnOfRefused = (urls: readonly string[]): void => {
    for (const url of urls) {
      if (warned.has(url)) continue
      warned.add(url)
      deps.log.warn({ host: hostOf(url) }, 'ignored a base URL, because Copilot tokens must not be sent to this host')
    }
  }

  const lifeOf = ({ metadata }: CopilotRecord, at: Moment, random: number): TokenLife | undefined => {
    const { access_token, obtained_at: obtainedAtSeconds, refresh_in: refreshInSeconds } = metadata
    if (access_token === undefined || obtainedAtSeconds === undefined || refreshInSeconds === undefined) {
      return undefined
    }
    const direct = isUsedDirectly(metadata)
    // The token was stored under another `copilot.auth`.
    if (direct ? auth === 'exchange' && !isDirectKind(access_token) : auth === 'direct') return undefined
    const settings = { marginSeconds: options.refreshSafetyMarginSeconds, random }
    const life = tokenLife({ obtainedAtSeconds, refreshInSeconds }, settings, at)
    return direct ? { ...life, expiresAfterMs: Infinity } : life
  }

  const toHeld = (record: CopilotRecord, life: TokenLife): HeldCredential<CopilotRecord, CopilotToken> => {
    const { candidates, refused } = endpointCandidates(record, { explicitBaseUrl: options.baseUrl, githubHosts })
    warnOfRefused(refused)
    const credential: CopilotToken = {
      value: record.metadata.access_token ?? '',
      recordId: record.id,
      ...(isUsedDirectly(record.metadata) && { direct: true }),
      candidates,
      completionsUrl: completionsUrlOf(record, githubHosts),
    }
    return { credential, record, life }
  }

  const hold = (
    record: CopilotRecord,
    held: HeldCredential<CopilotRecord, CopilotToken> | undefined,
    at: Moment,
    random: number,
  ): HeldCredential<CopilotRecord, CopilotToken> | undefined => {
    if (held === undefined || isNewer(record, held.record)) {
      const life = lifeOf(record, at, random)
      if (life !== undefined && !isExpired(life, at)) return toHeld(record, life)
    }
    if (held === undefined) return undefined
    // The user may have edited the base URLs. Memory may hold a token that could not be stored in the record.
    const isStored = record.metadata.access_token === held.credential.value
    const metadata = isStored ? record.metadata : { ...record.metadata, ...held.record.metadata }
    return toHeld({ ...record, metadata }, held.life)
  }

  const withToken = (record: CopilotRecord, got: ExchangedToken): CopilotRecord => {
    const base = got.apiBaseUrl === undefined ? undefined : hintedBaseUrl(got.apiBaseUrl, githubHosts)
    if (got.apiBaseUrl !== undefined && base === undefined) warnOfRefused([got.apiBaseUrl])
    const { expires_at: _, ...metadata } = record.metadata
    return {
      ...record,
      metadata: {
        ...metadata,
        access_token: got.token,
        ...(got.expiresAtSeconds !== undefined && { expires_at: got.expiresAtSeconds }),
        refresh_in: got.refreshInSeconds,
        obtained_at: Math.floor(deps.now() / 1000),
        ...(base !== undefined && { base_url: base }),
        ...(got.completionsUrl !== undefined && { completions_url: got.completionsUrl }),
        ...(got.sku !== undefined && { sku: got.sku }),
      },
    }
  }

  const store =
    githubToken === undefined
      ? deps.store
      : createMemoryRecordStore(copilotRecordKind, [environmentRecord(githubToken)])
  const credential = createCredential<CopilotRecord, CopilotToken, CopilotToken>(
    { ...deps, store },
    {
      loginKey: ({ id, metadata }) => JSON.stringify([id, metadata.github_access_token, metadata.logged_in_at]),
      secretsOf: ({ metadata }) => [metadata.github_access_token, metadata.access_token],
      hold,
      accountOf: ({ credential: token }) => ({ key: [token.recordId, ...token.candidates].join(), account: token }),
      async refresh(record, closing) {
        const outcome = await obtainCopilotToken(
          {
            fetch: deps.fetch,
            apiBaseUrl: record.metadata.github_api_base_url ?? options.githubApiBaseUrl,
            headers: options.headers,
            timeoutMs: options.exchangeTimeoutMs ?? 15_000,
            now: deps.now,
            tokenOrigin: githubToken === undefined ? 'record' : 'environment',
          },
          record.metadata.github_access_token,
          auth,
          closing,
        )
        if (outcome.kind === 'aborted') return outcome
        return outcome.kind === 'ok'
          ? { kind: 'refreshed', record: withToken(record, outcome) }
          : { kind: 'failed', failure: toRefreshFailure(outcome) }
      },
      // GitHub never replaces a direct token, but may state that it is revoked.
      mayReplace: (token, { isSettled, sinceMs }) =>
        token.direct ? sinceMs >= REFUSED_RETRY_MS : !isSettled && sinceMs >= MIN_REFRESH_GAP_MS,
      withUnsaved: withNewerToken,
      faultKind: 'copilot_unavailable',
      texts: {
        nobody:
          options.account === undefined
            ? 'Not logged in to GitHub Copilot'
            : `The GitHub account ${options.account} of this key (server.key-limits, account) is not logged in`,
        loginFix,
        starting: 'copilot-proxy is fetching the first token',
        expired: 'The token has expired; the next request fetches a new one',
        busy: 'Another copilot-proxy process is refreshing the login and has not finished',
        unwritable: 'The stored login cannot be read',
        refreshed: 'the new Copilot token',
        notRefreshed: 'the Copilot token was not renewed',
        unusable: 'the stored login could not be used',
        ended: 'the login has ended',
      },
    },
  )

  return {
    get: credential.get,
    async replace(rejected, signal) {
      const token = await credential.replace(rejected, signal)
      // A failed exchange says nothing about the login. A 401 would send callers looking for a wrong key.
      const fault = token.value === rejected && token.direct !== true ? credential.refreshFault() : undefined
      if (fault?.error.kind !== 'copilot_unavailable') return token
      const { retryAfterSeconds = 0 } = fault.error
      throw new Fault({
        ...fault.error,
        retryAfterSeconds: Math.max(retryAfterSeconds, MIN_REFRESH_GAP_MS / 1000),
      })
    },
    renewBeforeNext(refused) {
      // A refresh would return the same direct token.
      if (!credential.held()?.credential.direct) credential.markStale(refused)
    },
    status: () => ({ ...credential.status(), login: credential.login()?.metadata.login }),
    onChange: credential.onChange,
    close: credential.close,
  }
}

function toRefreshFailure(failure: Exclude<GithubFailure, { kind: 'aborted' }>): RefreshFailure {
  const { detail } = failure
  switch (failure.kind) {
    case 'bad_credentials':
      return { state: 'login_required', detail, fix: failure.fix, retryAfterMs: Infinity }
    case 'no_access':
    case 'not_available':
      return { state: 'no_access', detail, fix: failure.fix, retryAfterMs: REFUSED_RETRY_MS }
    case 'rate_limited': {
      const retryAfterMs = Math.max(MIN_REFRESH_GAP_MS, (failure.retryAfterSeconds ?? 60) * 1000)
      return { state: 'rate_limited', detail, fix: 'Wait; copilot-proxy retries automatically', retryAfterMs }
    }
    case 'transient':
      return { state: 'unreachable', detail, fix: RETRY_FIX, timedOut: failure.timedOut }
    case 'redirected':
      return { state: 'unreachable', detail, fix: RETRY_FIX }
  }
}

function isNewer(record: CopilotRecord, than: CopilotRecord): boolean {
  return (record.metadata.obtained_at ?? 0) > (than.metadata.obtained_at ?? 0)
}

/** Undefined if the stored record now belongs to another login, or has a newer token. */
function withNewerToken(
  stored: CopilotRecord,
  { after }: { readonly after: CopilotRecord },
): CopilotRecord | undefined {
  const [known, got] = [stored.metadata, after.metadata]
  const isSameLogin = known.github_access_token === got.github_access_token && known.logged_in_at === got.logged_in_at
  if (!isSameLogin || !isNewer(after, stored)) return undefined
  // Another account may have been chosen since, and this one again.
  const { selected_at: _, ...token } = got
  return { ...stored, metadata: { ...known, ...token } }
}

function environmentRecord(githubToken: string): CopilotRecord {
  return {
    id: 'copilot-environment',
    provider: 'copilot',
    label: 'COPILOT_GITHUB_TOKEN',
    attributes: {},
    metadata: { github_access_token: githubToken },
  }
}

/** For the log: a refused URL may hold user information. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'not a URL'
}
