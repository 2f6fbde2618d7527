import type { StreamGate } from '../gate.ts'
import { openHost } from '../host.ts'
import type { Host } from '../host.ts'
import { detail, tooLarge } from './failures.ts'
import { createIssuer } from './issuer.ts'
import { createLogins } from './logins.ts'
import type { CodexLogins, CodexPerson } from './logins.ts'
import { CODEX_STREAMING_ROUTES, codexHeaders, codexRouteOf, createCodexRoutes } from './routes.ts'
import type { CodexRoute } from './routes.ts'
import { DEFAULT_CODEX_SETTINGS } from './settings.ts'
import type { CodexPollAnswer, CodexSettings } from './settings.ts'

export interface DemoCodexOptions {
  /** 0 or absent picks a free one. Always on 127.0.0.1. */
  readonly port?: number
  readonly settings?: Partial<CodexSettings>
  /** Answers to the first polls of the device flow; after them every poll is approved. */
  readonly polls?: readonly CodexPollAnswer[]
  /** Keep this many of the newest requests in `log`; default 0. */
  readonly record?: number
  /** Ms since epoch; default `Date.now`. */
  readonly now?: () => number
}

/** A login that is already made. */
export interface DemoCodexLogin {
  readonly accessToken: string
  readonly refreshToken: string
  readonly idToken: string
  readonly accountId: string
  readonly email: string
}

interface LoginWish extends Partial<CodexPerson> {
  /** Of the access token; may be negative. */
  readonly lifetimeSeconds?: number
}

/** One server that plays OpenAI's issuer, the ChatGPT backend of Codex and the key API, told apart by path. */
export interface DemoCodex extends Omit<Host<CodexRoute>, 'gateNext'> {
  /** For `codex.issuer`. */
  readonly issuer: string
  /** For `codex.base-url`. */
  readonly baseUrl: string
  /** For `codex.api-base-url`. */
  readonly apiBaseUrl: string
  /** For `codex.api-key`. */
  readonly apiKey: string
  readonly login: (wish?: LoginWish) => DemoCodexLogin
  readonly logins: Pick<CodexLogins, 'accessState' | 'revoke' | 'revokeAll' | 'expireAccess' | 'expireRefresh'>
  readonly configure: (change: Partial<CodexSettings>) => void
  readonly answerPolls: (...answers: readonly CodexPollAnswer[]) => void
  /** Holds the next streamed reply of the route between its pieces; default the ChatGPT backend's. */
  readonly gateNext: (route?: CodexRoute) => StreamGate
}

/** The demo account; the same in every run, so that sessions outlive a restart. */
const ACCOUNT_ID = '00000000-0000-4000-8000-0000000000de'

/** Starts the simulated Codex upstreams. Rejects with node's own error when the port is taken. */
export async function startDemoCodex(options: DemoCodexOptions = {}): Promise<DemoCodex> {
  const now = options.now ?? Date.now
  let current: CodexSettings = { ...DEFAULT_CODEX_SETTINGS, ...options.settings }
  const settings = (): CodexSettings => current
  const pollAnswers = [...(options.polls ?? [])]

  const { host, serve } = await openHost<CodexRoute>({ ...options, streamingRoutes: CODEX_STREAMING_ROUTES })
  const { url, port } = host
  const apiKey = 'sk-demo-key'
  const logins = createLogins({ now, scope: String(port), issuer: url, clientId: () => current.clientId })
  const person = (): CodexPerson => {
    const { email, plan, isFedramp } = current
    return { accountId: ACCOUNT_ID, email, plan, isFedramp }
  }
  const issuer = createIssuer({ settings, logins, now, url, person, pollAnswers })
  serve({
    routeOf: codexRouteOf,
    answer: createCodexRoutes({ settings, logins, issuer, now, apiKey }),
    headers: codexHeaders,
    notFound: detail(404, 'Not Found'),
    tooLarge: tooLarge(),
    maxBodyBytes: () => current.maxBodyBytes,
  })

  return {
    ...host,
    issuer: url,
    baseUrl: `${url}/backend-api/codex`,
    apiBaseUrl: `${url}/v1`,
    apiKey,
    login: ({ lifetimeSeconds = current.accessTokenLifetimeSeconds, ...given } = {}) => {
      const who = { ...person(), ...given }
      const { accessToken, refreshToken, idToken } = logins.start(who, { lifetimeSeconds })
      return { accessToken, refreshToken, idToken, accountId: who.accountId, email: who.email }
    },
    logins,
    configure: (change) => {
      current = { ...current, ...change }
    },
    answerPolls: (...answers) => {
      pollAnswers.push(...answers)
    },
    gateNext: (route = '/backend-api/codex/responses') => host.gateNext(route),
  }
}
