import type { IncomingMessage } from 'node:http'
import { headerOf, openHost, tokenOf } from '../host.ts'
import type { Host, HostedRequest } from '../host.ts'
import { answerInference, DEFAULT_PACE } from '../inference.ts'
import type { Pace } from '../inference.ts'
import { jsonReply } from '../outcome.ts'
import type { HeaderMap, Outcome } from '../outcome.ts'
import { detail, unauthorized } from './failures.ts'
import { toEntry } from './models.ts'
import { CODEX_DEMO_MODELS, CODEX_ROUTE, DEMO_PLAN, PLAN_MODELS } from './route.ts'
import { mintTokens } from './tokens.ts'
import type { CodexPerson } from './tokens.ts'

/** A finished login. */
export interface CodexLogin {
  readonly accessToken: string
  readonly refreshToken: string
  readonly idToken: string
  readonly accountId: string
  readonly email: string
}

/** One server that plays OpenAI's issuer and the ChatGPT backend of Codex. The path decides which one answers. */
export interface DemoCodex extends Host {
  /** For `codex.issuer`. */
  readonly issuer: string
  /** For `codex.base-url`. */
  readonly baseUrl: string
  /** For `codex.api-base-url`. */
  readonly apiBaseUrl: string
  readonly login: () => CodexLogin
}

/** The demo account. It is the same in every run, so that sessions survive a restart. */
export const DEMO_PERSON: CodexPerson = {
  accountId: '00000000-0000-4000-8000-0000000000de',
  email: 'demo@example.com',
  plan: DEMO_PLAN,
}

export const CODEX_CLIENT_ID = 'app_EMoamEEZ73f0CkXaXp7hrann'

/** The lifetime of OpenAI's access tokens. */
export const ACCESS_TOKEN_SECONDS = 864_000

/** Starts the simulated Codex on a free port. Its tokens are valid until the server stops. */
export async function startDemoCodex(given: Partial<Pace> = {}): Promise<DemoCodex> {
  const pace = { ...DEFAULT_PACE, ...given }
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

  const answer = ({ request, path, body, number }: HostedRequest, url: string): Outcome => {
    const route = `${request.method} ${path}`
    // A daemon that runs for days renews its login.
    if (path === '/oauth/token') return jsonReply(200, tokenFields(logIn(url), ACCESS_TOKEN_SECONDS))
    if (route !== 'POST /backend-api/codex/responses' && route !== 'GET /backend-api/codex/models') {
      return detail(404, 'Not Found')
    }
    if (!accessTokens.has(tokenOf(request))) return unauthorized('token_expired')
    if (request.method === 'GET') return jsonReply(200, { models: PLAN_MODELS.map((model) => toEntry(model)) })
    const header = (name: string): string | undefined => headerOf(request, name)
    const call = { bodyText: body, header, number, nowMs: Date.now(), pace, models: CODEX_DEMO_MODELS }
    return answerInference(CODEX_ROUTE, call)
  }

  const host = await openHost({}, ({ url }) => ({ headers: codexHeaders, answer: (hosted) => answer(hosted, url) }))
  return {
    ...host,
    ...codexAddresses(host.url),
    login: () => ({ ...logIn(host.url), accountId: DEMO_PERSON.accountId, email: DEMO_PERSON.email }),
  }
}

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
