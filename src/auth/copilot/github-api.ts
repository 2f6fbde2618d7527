import { askGithub, exchangeCopilotToken, type ExchangeOutcome, type GithubApiDeps } from './token-exchange.ts'
import { personalTokenFailure, toUnusableReply, type GithubFailure } from './github-failure.ts'
import { parseJson } from '../http-json.ts'
import { toCopilotAccount, type CopilotAccount } from './quota.ts'
import { copilotUserReply, githubUserReply } from './wire.ts'

export type GithubUserOutcome = { readonly kind: 'ok'; readonly login: string } | GithubFailure
export type CopilotUserOutcome =
  | {
      readonly kind: 'ok'
      readonly account: CopilotAccount
      /** `endpoints.api` as received, not yet checked against the allowed hosts. */
      readonly apiBaseUrl?: string
    }
  | GithubFailure

/** `copilot.auth`: a GitHub token is traded for a Copilot token, or is sent to Copilot itself. */
export type CopilotAuth = 'exchange' | 'direct'

/**
 * Kinds of GitHub token that GitHub may not exchange and Copilot takes itself: of OAuth apps other than the editors',
 * and fine-grained personal ones (docs/copilot-wire.md, "Without exchange").
 */
export function isDirectKind(githubToken: string): boolean {
  return /^(?:gho_|github_pat_)/.test(githubToken)
}

const otherTokenFix =
  'Set COPILOT_GITHUB_TOKEN to a fine-grained token (github_pat_…) with the permission Copilot Requests, or unset it and log in: copilot-proxy login'

/** The host of an account can change with its plan. */
const directLookupSeconds = 24 * 3600

/**
 * The token that Copilot accepts for this login: a Copilot token, or the GitHub token itself if `auth` or its kind
 * requires that.
 */
export async function obtainCopilotToken(
  deps: GithubApiDeps,
  githubToken: string,
  auth: CopilotAuth,
  signal: AbortSignal,
): Promise<ExchangeOutcome> {
  if (githubToken.startsWith('ghp_')) {
    // A stored login is not used while the variable is set.
    return deps.tokenOrigin === 'environment' ? { ...personalTokenFailure, fix: otherTokenFix } : personalTokenFailure
  }
  if (auth === 'exchange' && !githubToken.startsWith('github_pat_')) {
    const outcome = await exchangeCopilotToken(deps, githubToken, signal)
    // The apps whose `gho_` tokens are exchanged are not known; the others get 404.
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

/** Whose token this is: GET /user. */
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
    : toUnusableReply(reply, 'The reply of /user is not what GitHub sends')
}

/**
 * Plan and quota: GET /copilot_internal/user, with the GitHub token. `not_available` for tokens of apps that have no
 * such endpoint (vbgate/opencode-mystatus#7): the account may work all the same.
 */
export async function fetchCopilotUser(
  deps: GithubApiDeps,
  githubToken: string,
  signal: AbortSignal,
): Promise<CopilotUserOutcome> {
  const reply = await askGithub(deps, '/copilot_internal/user', githubToken, signal)
  if (reply.kind !== 'reply') return isDirectKind(githubToken) ? toUnreported(reply) : reply
  const user = copilotUserReply.safeParse(parseJson(reply.text))
  if (!user.success) return toUnusableReply(reply, 'The reply of /copilot_internal/user is not what GitHub sends')
  const apiBaseUrl = user.data.endpoints?.api
  return { kind: 'ok', account: toCopilotAccount(user.data), ...(apiBaseUrl && { apiBaseUrl }) }
}

/** GitHub denies this endpoint to some kinds of token, which says nothing about the account. */
function toUnreported(failure: GithubFailure): GithubFailure {
  if (failure.kind !== 'not_available' && failure.kind !== 'no_access') return failure
  const detail = 'GitHub does not tell plan and quota to a token of this kind'
  return { kind: 'not_available', detail, fix: 'A login with a code is told them: copilot-proxy login' }
}
