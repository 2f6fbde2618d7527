import { purposeHeaders } from '../../config/header-table.ts'
import { isHeaderSafe, sendRequest, type Reply } from '../http-json.ts'
import {
  originWords,
  personalTokenFailure,
  toGithubFailure,
  toUnusableReply,
  type GithubFailure,
  type TokenOrigin,
} from './github-failure.ts'
import { toCopilotAccount, type CopilotAccount } from './quota.ts'
import { copilotTokenReply, copilotUserReply, githubUserReply } from './wire.ts'
import { parseJson } from '../../json/json.ts'

export interface GithubApiDeps {
  readonly fetch: typeof globalThis.fetch
  /** `https://api.github.com` or `https://api.SUB.ghe.com`, without a final slash. */
  readonly apiBaseUrl: string
  /** `copilot.headers`. A token exchange without the editor's identity returns tokens that inference refuses later. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Selects the texts about a refused token. Default: those for a stored login. */
  readonly tokenOrigin?: TokenOrigin
  /** Ms since epoch. */
  readonly now: () => number
}

/**
 * `x-github-api-version` by path. GitHub answers 400 to a version that a path does not know. Public REST paths have
 * other versions, so they get no version, as from GitHub's editors (docs/copilot-wire.md, "API versions").
 */
const apiVersions = {
  '/user': undefined,
  '/copilot_internal/user': '2025-04-01',
  '/copilot_internal/v2/token': '2025-04-01',
} as const

/** Entries of `copilot.headers` that only the model host gets. */
const modelHostHeaders: ReadonlySet<string> = new Set(['x-github-api-version', ...purposeHeaders])

/**
 * Sends one GET with a GitHub token and returns a reply with status 200. A token that no header can carry is not sent.
 */
async function askGithub(
  deps: GithubApiDeps,
  path: keyof typeof apiVersions,
  githubToken: string,
  signal: AbortSignal,
): Promise<Reply | GithubFailure> {
  const { tokenOrigin = 'record' } = deps
  if (!isHeaderSafe(githubToken)) {
    const { unusable: detail, fix } = originWords[tokenOrigin]
    return { kind: 'bad_credentials', detail, fix }
  }
  const version = apiVersions[path]
  const headers = {
    // Configured names are lower case already, so no name appears twice.
    ...Object.fromEntries(Object.entries(deps.headers).filter(([name]) => !modelHostHeaders.has(name))),
    ...(version !== undefined && { 'x-github-api-version': version }),
    accept: 'application/json',
    authorization: `token ${githubToken}`,
  }
  const outcome = await sendRequest(deps, `${deps.apiBaseUrl}${path}`, { headers }, signal)
  return outcome.kind === 'reply' && outcome.status === 200
    ? outcome
    : toGithubFailure(outcome, { githubToken, tokenOrigin, nowMs: deps.now() })
}

export type ExchangeOutcome = ({ readonly kind: 'ok' } & ExchangedToken) | GithubFailure

export interface ExchangedToken {
  readonly token: string
  /** The token is the GitHub token itself, which does not expire. */
  readonly direct?: true
  /** By upstream's clock. Stored in the record, never used for timing. */
  readonly expiresAtSeconds?: number
  /** For a direct token: when to look up its host again. */
  readonly refreshInSeconds: number
  /** `endpoints.api` as received, not yet checked against the allowed hosts. */
  readonly apiBaseUrl?: string
  readonly sku?: string
  /** `endpoints.proxy` as received, not yet checked against the allowed hosts. */
  readonly completionsUrl?: string
}

/**
 * Exchanges the GitHub token for a Copilot token: GET /copilot_internal/v2/token. Sends one request and never repeats
 * it.
 */
export async function exchangeCopilotToken(
  deps: GithubApiDeps,
  githubToken: string,
  signal: AbortSignal,
): Promise<ExchangeOutcome> {
  const outcome = await askGithub(deps, '/copilot_internal/v2/token', githubToken, signal)
  if (outcome.kind !== 'reply') return outcome
  const reply = copilotTokenReply.safeParse(parseJson(outcome.text))
  if (!reply.success || !isHeaderSafe(reply.data.token)) {
    return toUnusableReply(outcome, 'The token endpoint’s reply has no usable token')
  }
  const { token, expires_at, refresh_in, sku, endpoints } = reply.data
  return {
    kind: 'ok',
    token,
    expiresAtSeconds: expires_at,
    refreshInSeconds: refresh_in,
    ...(endpoints?.api ? { apiBaseUrl: endpoints.api } : {}),
    ...(endpoints?.proxy ? { completionsUrl: endpoints.proxy } : {}),
    ...(sku ? { sku } : {}),
  }
}

/** `copilot.auth`: whether a GitHub token is exchanged for a Copilot token or sent to Copilot itself. */
export type CopilotAuth = 'exchange' | 'direct'

/**
 * Kinds of GitHub token that GitHub may not exchange and Copilot accepts directly: tokens of OAuth apps other than the
 * editors', and fine-grained personal tokens (docs/copilot-wire.md, "Without exchange").
 */
export function isDirectKind(githubToken: string): boolean {
  return /^(?:gho_|github_pat_)/.test(githubToken)
}

const otherTokenFix =
  'Set COPILOT_GITHUB_TOKEN to a fine-grained token (github_pat_…) with the permission Copilot Requests, or unset it and log in: copilot-proxy login'

/** The host of an account can change with its plan. */
const directLookupSeconds = 24 * 3600

/**
 * Returns the token that Copilot accepts for this login: a Copilot token, or the GitHub token itself if `auth` or its
 * kind requires that.
 */
export async function obtainCopilotToken(
  deps: GithubApiDeps,
  githubToken: string,
  auth: CopilotAuth,
  signal: AbortSignal,
): Promise<ExchangeOutcome> {
  if (githubToken.startsWith('ghp_')) {
    // While the variable is set, no stored login is used.
    return deps.tokenOrigin === 'environment' ? { ...personalTokenFailure, fix: otherTokenFix } : personalTokenFailure
  }
  if (auth === 'exchange' && !githubToken.startsWith('github_pat_')) {
    const outcome = await exchangeCopilotToken(deps, githubToken, signal)
    // It is unknown which apps have `gho_` tokens that GitHub exchanges. The tokens of other apps get 404.
    if (outcome.kind !== 'not_available' || !isDirectKind(githubToken)) return outcome
  }
  const user = await fetchCopilotUser(deps, githubToken, signal)
  if (user.kind !== 'ok' && user.kind !== 'not_available') return user
  const { apiBaseUrl, account } = user.kind === 'ok' ? user : {}
  return {
    kind: 'ok',
    token: githubToken,
    direct: true,
    refreshInSeconds: directLookupSeconds,
    ...(apiBaseUrl !== undefined && { apiBaseUrl }),
    ...(account?.sku !== undefined && { sku: account.sku }),
  }
}

export type GithubUserOutcome = { readonly kind: 'ok'; readonly login: string } | GithubFailure
export type CopilotUserOutcome =
  | {
      readonly kind: 'ok'
      readonly account: CopilotAccount
      /** `endpoints.api` as received, not yet checked against the allowed hosts. */
      readonly apiBaseUrl?: string
    }
  | GithubFailure

/** Fetches the user of a token: GET /user. */
export async function fetchGithubUser(
  deps: GithubApiDeps,
  githubToken: string,
  signal: AbortSignal,
): Promise<GithubUserOutcome> {
  const reply = await askGithub(deps, '/user', githubToken, signal)
  if (reply.kind !== 'reply') return reply
  const user = githubUserReply.safeParse(parseJson(reply.text))
  return user.success
    ? { kind: 'ok', login: user.data.login }
    : toUnusableReply(reply, 'GitHub’s reply to /user has an unexpected form')
}

/**
 * Fetches plan and quota: GET /copilot_internal/user, with the GitHub token. `not_available` if the token's app has no
 * such endpoint (vbgate/opencode-mystatus#7); the account may still work.
 */
export async function fetchCopilotUser(
  deps: GithubApiDeps,
  githubToken: string,
  signal: AbortSignal,
): Promise<CopilotUserOutcome> {
  const reply = await askGithub(deps, '/copilot_internal/user', githubToken, signal)
  if (reply.kind !== 'reply') return isDirectKind(githubToken) ? toUnreported(reply) : reply
  const user = copilotUserReply.safeParse(parseJson(reply.text))
  if (!user.success) return toUnusableReply(reply, 'GitHub’s reply to /copilot_internal/user has an unexpected form')
  const apiBaseUrl = user.data.endpoints?.api
  return { kind: 'ok', account: toCopilotAccount(user.data), ...(apiBaseUrl && { apiBaseUrl }) }
}

/** GitHub denies this endpoint to some kinds of token, so the refusal says nothing about the account. */
function toUnreported(failure: GithubFailure): GithubFailure {
  if (failure.kind !== 'not_available' && failure.kind !== 'no_access') return failure
  const detail = 'GitHub does not show plan and quota to this kind of token'
  return { kind: 'not_available', detail, fix: 'To see them, log in with a code: copilot-proxy login' }
}
