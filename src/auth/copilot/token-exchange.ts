import {
  toGithubFailure,
  toUnusableReply,
  originWords,
  type GithubFailure,
  type TokenOrigin,
} from './github-failure.ts'
import { purposeHeaders } from '../../config/header-table.ts'
import { isHeaderSafe, parseJson, sendRequest, type Reply } from '../http-json.ts'
import { copilotTokenReply } from './wire.ts'

export interface GithubApiDeps {
  readonly fetch: typeof globalThis.fetch
  /** `https://api.github.com` or `https://api.SUB.ghe.com`, no slash at the end. */
  readonly apiBaseUrl: string
  /** `copilot.headers`: an exchange without the editor's identity yields tokens that inference refuses later. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Selects the texts about a refused token; a stored login by default. */
  readonly tokenOrigin?: TokenOrigin
  /** Ms since epoch. */
  readonly now: () => number
}

/**
 * `x-github-api-version` by path. GitHub answers 400 to a version that a path does not know: public REST paths know
 * dates of their own and are asked without one, as GitHub's editors do (docs/copilot-wire.md, "API versions").
 */
const apiVersions = {
  '/user': undefined,
  '/copilot_internal/user': '2025-04-01',
  '/copilot_internal/v2/token': '2025-04-01',
} as const
type GithubPath = keyof typeof apiVersions

/** Entries of `copilot.headers` that are for the model host only. */
const modelHostHeaders: ReadonlySet<string> = new Set(['x-github-api-version', ...purposeHeaders])

/** The identity headers of `copilot.headers`, with the headers that this path of GitHub's REST API accepts. */
function githubHeaders(
  { headers }: Pick<GithubApiDeps, 'headers'>,
  path: GithubPath,
  githubToken: string,
): Record<string, string> {
  const version = apiVersions[path]
  return {
    // Configured names are lower case already, so no name appears twice.
    ...Object.fromEntries(Object.entries(headers).filter(([name]) => !modelHostHeaders.has(name))),
    ...(version !== undefined && { 'x-github-api-version': version }),
    accept: 'application/json',
    authorization: `token ${githubToken}`,
  }
}

export type ExchangeOutcome = ({ readonly kind: 'ok' } & ExchangedToken) | GithubFailure

export interface ExchangedToken {
  readonly token: string
  /** The token is the GitHub token itself, which does not expire. */
  readonly direct?: true
  /** By upstream's clock: kept for the record, never used for timing. */
  readonly expiresAtSeconds?: number
  /** For a direct token: when its host is looked up again. */
  readonly refreshInSeconds: number
  /** `endpoints.api` as received, not yet checked against the allowed hosts. */
  readonly apiBaseUrl?: string
  readonly sku?: string
}

/** One GET with a GitHub token; the reply when its status is 200. A token that no header can carry is not sent. */
export async function askGithub(
  deps: GithubApiDeps,
  path: GithubPath,
  githubToken: string,
  signal: AbortSignal,
): Promise<Reply | GithubFailure> {
  const { tokenOrigin = 'record' } = deps
  if (!isHeaderSafe(githubToken)) {
    const { unusable: detail, fix } = originWords[tokenOrigin]
    return { kind: 'bad_credentials', detail, fix }
  }
  const headers = githubHeaders(deps, path, githubToken)
  const outcome = await sendRequest(deps, `${deps.apiBaseUrl}${path}`, { headers }, signal)
  return outcome.kind === 'reply' && outcome.status === 200
    ? outcome
    : toGithubFailure(outcome, { githubToken, tokenOrigin, nowMs: deps.now() })
}

/** Trades the GitHub token for a Copilot token: GET /copilot_internal/v2/token. One request, never repeated here. */
export async function exchangeCopilotToken(
  deps: GithubApiDeps,
  githubToken: string,
  signal: AbortSignal,
): Promise<ExchangeOutcome> {
  const outcome = await askGithub(deps, '/copilot_internal/v2/token', githubToken, signal)
  if (outcome.kind !== 'reply') return outcome
  const reply = copilotTokenReply.safeParse(parseJson(outcome.text))
  if (!reply.success || !isHeaderSafe(reply.data.token)) {
    return toUnusableReply(outcome, 'The reply of the token endpoint holds no usable token')
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
