import type { IncomingMessage } from 'node:http'
import type { HeaderMap } from '../http/outcome.ts'
import type { PlanUse } from './limits.ts'
import type { CodexPerson } from './tokens.ts'

/** A finished login. */
export interface CodexLogin {
  readonly accessToken: string
  readonly refreshToken: string
  readonly idToken: string
  readonly accountId: string
  readonly email: string
}

/** The simulated account. It is the same in every run, so that sessions survive a restart. */
export const DEMO_PERSON: CodexPerson = {
  accountId: '00000000-0000-4000-8000-0000000000de',
  email: 'demo@example.com',
  plan: 'plus',
}

/** The share of the account's plan that is used. */
export const DEMO_USE: PlanUse = { primaryUsedPercent: 12.5, secondaryUsedPercent: 40 }

export const CODEX_CLIENT_ID = 'app_EMoamEEZ73f0CkXaXp7hrann'

/** The lifetime of OpenAI's access tokens. */
export const ACCESS_TOKEN_SECONDS = 864_000

/** Headers of every reply: ids for logs, and headers that a proxy must not pass on. */
export function codexHeaders(_request: IncomingMessage, number: number): HeaderMap {
  const id = String(number).padStart(6, '0')
  return {
    'x-request-id': `demo-codex-${id}`,
    'x-oai-request-id': `demo-codex-${id}`,
    'cf-ray': `demo${id}-FRA`,
    'set-cookie': `__cf_bm=demo${id}; path=/; HttpOnly; Secure`,
    'cross-origin-opener-policy': 'same-origin-allow-popups',
  }
}

/** Body of a reply to `POST /oauth/token`. */
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

/** The addresses of the server's services, named like the settings that take them. */
export function codexAddresses(url: string) {
  return { issuer: url, baseUrl: `${url}/backend-api/codex`, apiBaseUrl: `${url}/v1` }
}
