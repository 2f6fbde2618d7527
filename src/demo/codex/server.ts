import { openHost } from '../host.ts'
import type { Host } from '../host.ts'
import { jsonReply } from '../outcome.ts'
import { codexHeaders, createCodexRoutes } from './routes.ts'
import type { CodexSettings } from './request.ts'
import { mintTokens } from './tokens.ts'
import type { CodexPerson } from './tokens.ts'

/** A login that is already made. */
export interface CodexLogin {
  readonly accessToken: string
  readonly refreshToken: string
  readonly idToken: string
  readonly accountId: string
  readonly email: string
}

/** One server that plays OpenAI's issuer and the ChatGPT backend of Codex, told apart by path. */
export interface DemoCodex extends Host {
  /** For `codex.issuer`. */
  readonly issuer: string
  /** For `codex.base-url`. */
  readonly baseUrl: string
  /** For `codex.api-base-url`. */
  readonly apiBaseUrl: string
  readonly login: () => CodexLogin
}

/** The demo account; the same in every run, so that sessions outlive a restart. */
export const DEMO_PERSON: CodexPerson = {
  accountId: '00000000-0000-4000-8000-0000000000de',
  email: 'demo@example.com',
  plan: 'plus',
}

export const CODEX_CLIENT_ID = 'app_EMoamEEZ73f0CkXaXp7hrann'

/** Life of an access token, as OpenAI's. */
export const ACCESS_TOKEN_SECONDS = 864_000

export const DEFAULT_CODEX_SETTINGS: CodexSettings = {
  eventDelayMs: 0,
  eventsPerWrite: 1,
  sendsAsides: true,
  primaryUsedPercent: 12.5,
  secondaryUsedPercent: 40,
  catalogueRevision: 1,
}

/** Starts the simulated Codex on a free port. Its tokens are good as long as it runs. */
export async function startDemoCodex(given: Partial<CodexSettings> = {}): Promise<DemoCodex> {
  const settings = { ...DEFAULT_CODEX_SETTINGS, ...given }
  const accessTokens = new Set<string>()

  const logIn = (issuer: string) => {
    const id = `demo-${accessTokens.size + 1}`
    const { accessToken, idToken } = mintTokens({
      person: DEMO_PERSON,
      login: 1,
      id,
      issuer,
      clientId: CODEX_CLIENT_ID,
      nowMs: Date.now(),
      lifetimeSeconds: ACCESS_TOKEN_SECONDS,
    })
    accessTokens.add(accessToken)
    return { accessToken, idToken, refreshToken: `rt_${id}` }
  }

  const host = await openHost({}, ({ url }) => {
    const answer = createCodexRoutes({
      settings: () => settings,
      now: Date.now,
      personOf: (token) => (accessTokens.has(token) ? DEMO_PERSON : undefined),
    })
    return {
      headers: codexHeaders,
      // A daemon that runs for days renews its login.
      answer: (hosted) =>
        hosted.path === '/oauth/token' ? jsonReply(200, tokenFields(logIn(url), ACCESS_TOKEN_SECONDS)) : answer(hosted),
    }
  })
  return {
    ...host,
    ...codexAddresses(host.url),
    login: () => ({ ...logIn(host.url), accountId: DEMO_PERSON.accountId, email: DEMO_PERSON.email }),
  }
}

/** Body of the reply of `POST /oauth/token`. */
export function tokenFields(
  { accessToken, idToken, refreshToken }: Pick<CodexLogin, 'accessToken' | 'idToken' | 'refreshToken'>,
  expiresInSeconds: number,
) {
  return {
    id_token: idToken,
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: expiresInSeconds,
    token_type: 'Bearer',
  }
}

/** Where the services of a server are, for the settings of the same names. */
export function codexAddresses(url: string) {
  return { issuer: url, baseUrl: `${url}/backend-api/codex`, apiBaseUrl: `${url}/v1` }
}
