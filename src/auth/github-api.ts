import { askGithub, type GithubApiDeps } from './copilot-exchange.ts'
import { toUnusableReply, type GithubFailure } from './github-failure.ts'
import { parseJson } from './http-json.ts'
import { toCopilotAccount, type CopilotAccount } from './quota.ts'
import { copilotUserReply, githubUserReply } from './wire.ts'

export type GithubUserOutcome = { readonly kind: 'ok'; readonly login: string } | GithubFailure
export type CopilotUserOutcome = { readonly kind: 'ok'; readonly account: CopilotAccount } | GithubFailure

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
  if (reply.kind !== 'reply') return reply
  const user = copilotUserReply.safeParse(parseJson(reply.text))
  return user.success
    ? { kind: 'ok', account: toCopilotAccount(user.data) }
    : toUnusableReply(reply, 'The reply of /copilot_internal/user is not what GitHub sends')
}
