import { isLoopbackHost } from '../../config/loopback.ts'
import { Fault } from '../../errors.ts'
import { isHeaderSafe } from '../http-json.ts'
import { createCredential, RETRY_FIX, type CredentialDeps } from '../credential/credential.ts'
import { MIN_REFRESH_GAP_MS } from '../credential/state.ts'
import type { UnsavedRecord } from '../credential/unsaved-records.ts'
import { readClaims } from './claims.ts'
import type { CodexAccount, CodexCredential, CodexCredentialSource } from './credentials.ts'
import {
  accessLife,
  codexLoginFix,
  isRenewalInDoubt,
  withRenewalBegun,
  withRenewedTokens,
  type CodexRecord,
} from './record.ts'
import { refreshTokens } from './token-endpoint.ts'
import { sentence } from '../../upstream-errors/message.ts'

export type CodexLoginDeps = CredentialDeps<CodexRecord>

export interface CodexLoginOptions {
  /** `codex.issuer`, without a final slash. A record from another issuer states its own. */
  readonly issuer: string
  /** The OAuth client that the login belongs to. */
  readonly clientId: string
  /** The time limit of one renewal, even if no caller waits for it any more. Ms; 120,000 by default. */
  readonly renewalTimeoutMs?: number
}

/**
 * How long a caller without a token waits. The renewal continues after that, because its answer cannot be requested
 * again. Ms.
 */
const PATIENCE_WITHOUT_TOKEN_MS = 20_000
/**
 * The shortest time between renewals for tokens that upstream refused. It doubles from one to the next, because new
 * tokens do not help against a backend that refuses everything. Ms.
 */
const MIN_REPLACEMENT_GAP_MS = 60_000
const MAX_REPLACEMENT_GAP_MS = 3600_000

const CUT_OFF = 'The ChatGPT login has ended: its last renewal was interrupted before the new tokens were stored'

/**
 * Keeps the stored ChatGPT login valid. A refresh redeems the refresh token, which is single use.
 *
 * If the process dies between sending the refresh token and storing the new tokens, the new tokens are lost. The same
 * is true if the answer never arrives. The mark of `withRenewalBegun` tells the next process, and `sent` tells this
 * one. Either then uses the old access token for as long as it works, and only after that sends the refresh token once
 * more. If the login server had already redeemed it, the user has to log in again.
 */
export function createCodexLoginSource(deps: CodexLoginDeps, options: CodexLoginOptions): CodexCredentialSource {
  /** The refresh token that this process sent last, and whether it may be spent. */
  let sent: { readonly token: string; readonly mayBeSpent: boolean } | undefined
  const mayBeSpent = (record: CodexRecord): boolean =>
    sent?.token === record.metadata.refresh_token ? sent.mayBeSpent : isRenewalInDoubt(record)

  type ChatgptCredential = Extract<CodexCredential, { kind: 'chatgpt' }>
  const credential = createCredential<CodexRecord, ChatgptCredential, CodexAccount>(deps, {
    loginKey,
    secretsOf: ({ metadata }) => [metadata.access_token, metadata.refresh_token, metadata.id_token],
    hold(record, held, at, random) {
      const { access_token: value, account_id: accountId } = record.metadata
      if (!isHeaderSafe(value)) return undefined
      if (held?.credential.value === value) return held
      const { isFedramp } = readClaims(value)
      const next: ChatgptCredential = { kind: 'chatgpt', value, accountId, isFedramp }
      return { credential: next, record, life: accessLife(record, random, at) }
    },
    accountOf: ({ record }) => ({ key: loginKey(record), account: { id: record.id, label: record.label } }),
    begin: withRenewalBegun,
    // If a login server sees a refresh token twice, it may end the login and with it the access token that still works.
    isRisky: mayBeSpent,
    // Nothing cancels the request, because its reply is the only copy of the login.
    async refresh(record) {
      const { refresh_token: refreshToken, issuer } = record.metadata
      const wasCutOff = mayBeSpent(record)
      sent = { token: refreshToken, mayBeSpent: true }
      const outcome = await refreshTokens(
        { fetch: deps.fetch, timeoutMs: options.renewalTimeoutMs ?? 120_000 },
        { issuer: usableIssuer(issuer) ?? options.issuer, clientId: options.clientId, refreshToken },
        neverAborted,
      )
      switch (outcome.kind) {
        case 'ok':
          // A refresh token stays valid if the answer contains no other one.
          sent = { token: refreshToken, mayBeSpent: false }
          return { kind: 'refreshed', record: withRenewedTokens(record, outcome.tokens, deps.now()) }
        case 'permanent': {
          const detail = wasCutOff ? CUT_OFF : outcome.detail
          const failure = { state: 'login_required', detail, fix: codexLoginFix, retryAfterMs: Infinity } as const
          return { kind: 'failed', failure }
        }
        case 'transient': {
          // A refusal does not show whether the server redeemed the token in an earlier attempt without an answer.
          sent = { token: refreshToken, mayBeSpent: wasCutOff || outcome.inDoubt }
          const retryAfterMs = (outcome.retryAfterSeconds ?? 0) * 1000
          const failure = { state: 'unreachable', detail: outcome.detail, fix: RETRY_FIX, retryAfterMs } as const
          return { kind: 'failed', failure }
        }
        case 'aborted':
          return outcome
      }
    },
    mayReplace: (_credential, { isSettled, replacementsSinceAccepted, sinceMs }) =>
      !isSettled && sinceMs >= replacementGapMs(replacementsSinceAccepted),
    withUnsaved,
    patienceMs: PATIENCE_WITHOUT_TOKEN_MS,
    faultKind: 'codex_unavailable',
    texts: {
      nobody: 'Not logged in to OpenAI Codex',
      loginFix: codexLoginFix,
      starting: 'copilot-proxy is reading the stored login',
      expired: 'The token has expired; the next request renews it',
      busy: 'Another copilot-proxy process is renewing the login and has not finished',
      unwritable: 'The login cannot be renewed, because copilot-proxy cannot store the new tokens',
      underWay: {
        detail: 'copilot-proxy is renewing the login, and the login server has not answered yet',
        fix: 'Try again in a moment',
      },
      refreshed: 'the renewed ChatGPT login',
      notRefreshed: 'the ChatGPT login was not renewed',
      unusable: 'the stored ChatGPT login could not be used',
      ended: 'the ChatGPT login has ended',
    },
  })

  return {
    kind: 'chatgpt',
    get: credential.get,
    replace: credential.replace,
    markAccepted: credential.markAccepted,
    markRevoked: credential.markRevoked,
    refused(message) {
      const text = `OpenAI refuses the ChatGPT login, although it was renewed: ${sentence(message)} ${codexLoginFix}`
      return (
        credential.refreshFault() ??
        new Fault({ kind: 'upstream_status', status: 401, message: text, code: 'invalid_api_key' })
      )
    },
    status() {
      const login = credential.login()
      const { seenAt, expiresAfterMs } = credential.held()?.life ?? { expiresAfterMs: Infinity }
      return {
        source: 'login',
        ...credential.status(),
        recordId: login?.id,
        email: login?.metadata.email,
        plan: login?.metadata.plan,
        expiresAtMs: seenAt !== undefined && expiresAfterMs < Infinity ? seenAt.wallMs + expiresAfterMs : undefined,
      }
    },
    onChange: credential.onChange,
    close: credential.close,
  }
}

const neverAborted = new AbortController().signal

function loginKey({ id, metadata }: CodexRecord): string {
  return JSON.stringify([id, metadata.account_id, metadata.logged_in_at])
}

function replacementGapMs(replacementsSinceAccepted: number): number {
  return replacementsSinceAccepted === 0
    ? MIN_REFRESH_GAP_MS
    : Math.min(MIN_REPLACEMENT_GAP_MS * 2 ** (replacementsSinceAccepted - 1), MAX_REPLACEMENT_GAP_MS)
}

/** The tokens in memory are newer only if the file still holds the refresh token that was spent. */
function withUnsaved(stored: CodexRecord, { before, after }: UnsavedRecord<CodexRecord>): CodexRecord | undefined {
  if (stored.metadata.refresh_token !== before.metadata.refresh_token) return undefined
  const { renewal_begun: _, ...metadata } = stored.metadata
  return { ...stored, metadata: { ...metadata, ...after.metadata } }
}

/**
 * The login server that made a record. No other server accepts its refresh token. Undefined for an unsafe or invalid
 * address.
 */
function usableIssuer(issuer: string | undefined): string | undefined {
  const url = URL.parse(issuer ?? '')
  if (url === null || issuer === undefined) return undefined
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))
  return isSafe ? issuer.replace(/\/+$/, '') : undefined
}
