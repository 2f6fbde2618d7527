import type { RecordStore } from './record-store.ts'
import type { TokenOrigin } from './token-origin.ts'
import type { CopilotRecord } from './wire.ts'

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
  /** `COPILOT_GITHUB_TOKEN`; goes before every stored login. */
  readonly githubToken: string | undefined
  /** `copilot-oauth.github-api-base-url`; a record of another host carries its own. */
  readonly githubApiBaseUrl: string
}

/** The login that requests are made with; undefined when there is none. */
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
