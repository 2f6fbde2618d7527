import { githubHeaders, type GithubApiDeps } from './copilot-exchange.ts'
import { toGithubFailure, type GithubFailure } from './github-failure.ts'
import { parseJson, sendRequest } from './http-json.ts'
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
  const read = await getJson(deps, '/user', githubToken, signal)
  if (read.kind !== 'json') return read
  const user = githubUserReply.safeParse(read.body)
  return user.success ? { kind: 'ok', login: user.data.login } : unusable('/user')
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
  const read = await getJson(deps, '/copilot_internal/user', githubToken, signal)
  if (read.kind !== 'json') return read
  const user = copilotUserReply.safeParse(read.body)
  return user.success ? { kind: 'ok', account: toCopilotAccount(user.data) } : unusable('/copilot_internal/user')
}

async function getJson(
  deps: GithubApiDeps,
  path: string,
  githubToken: string,
  signal: AbortSignal,
): Promise<{ readonly kind: 'json'; readonly body: unknown } | GithubFailure> {
  const outcome = await sendRequest(
    deps,
    `${deps.apiBaseUrl}${path}`,
    { headers: githubHeaders(deps, githubToken) },
    signal,
  )
  if (outcome.kind !== 'reply' || outcome.status !== 200) return toGithubFailure(outcome, githubToken, deps.now())
  return { kind: 'json', body: parseJson(outcome.text) }
}

function unusable(path: string): GithubFailure {
  return { kind: 'transient', detail: `the reply of ${path} is not what GitHub sends`, timedOut: false }
}
