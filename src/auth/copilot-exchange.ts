import { toGithubFailure, type GithubFailure } from './github-failure.ts'
import { isHeaderSafe, parseJson, sendRequest } from './http-json.ts'
import { copilotTokenReply } from './wire.ts'

export interface GithubApiDeps {
  readonly fetch: typeof globalThis.fetch
  /** `https://api.github.com` or `https://api.SUB.ghe.com`, no slash at the end. */
  readonly apiBaseUrl: string
  /** `copilot.headers`: an exchange without the editor's identity yields tokens that inference refuses later. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Ms since epoch. */
  readonly now: () => number
}

export type ExchangeOutcome = ({ readonly kind: 'ok' } & ExchangedToken) | GithubFailure

export interface ExchangedToken {
  readonly token: string
  /** By upstream's clock: kept for the record, never used for timing. */
  readonly expiresAtSeconds: number
  readonly refreshInSeconds: number
  /** `endpoints.api` as received, not yet checked against the allowed hosts. */
  readonly apiBaseUrl?: string
  readonly sku?: string
}

/** Headers of a call with a GitHub token; configured names are lower case already, so no name appears twice. */
export function githubHeaders(deps: GithubApiDeps, githubToken: string): Record<string, string> {
  return { ...deps.headers, accept: 'application/json', authorization: `token ${githubToken}` }
}

/** Trades the GitHub token for a Copilot token: GET /copilot_internal/v2/token. One request, never repeated here. */
export async function exchangeCopilotToken(
  deps: GithubApiDeps,
  githubToken: string,
  signal: AbortSignal,
): Promise<ExchangeOutcome> {
  const outcome = await sendRequest(
    deps,
    `${deps.apiBaseUrl}/copilot_internal/v2/token`,
    { headers: githubHeaders(deps, githubToken) },
    signal,
  )
  if (outcome.kind !== 'reply' || outcome.status !== 200) return toGithubFailure(outcome, githubToken, deps.now())
  const reply = copilotTokenReply.safeParse(parseJson(outcome.text))
  if (!reply.success || !isHeaderSafe(reply.data.token)) {
    return { kind: 'transient', detail: 'the reply of the token endpoint holds no usable token', timedOut: false }
  }
  const { token, expires_at, refresh_in, sku, endpoints } = reply.data
  return {
    kind: 'ok',
    token,
    expiresAtSeconds: expires_at,
    refreshInSeconds: refresh_in,
    ...(endpoints?.api ? { apiBaseUrl: endpoints.api } : {}),
    ...(sku ? { sku } : {}),
  }
}
