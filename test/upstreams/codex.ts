import { headerOf, openHost } from './http/host.ts'
import type { Host, HostedRequest } from './http/host.ts'
import { detail, openaiError, tooLarge } from './codex/failures.ts'
import { ACCESS_TOKEN_SECONDS, codexAddresses, codexHeaders, DEMO_PERSON } from './codex/account.ts'
import type { CodexLogin } from './codex/account.ts'
import { jsonReply } from './http/outcome.ts'
import type { Outcome } from './http/outcome.ts'
import { chatgptAccess, keyAccess } from './codex/access.ts'
import { createCodexChecks } from './codex/checks.ts'
import { createCodexRoutes } from './codex/chatgpt-routes.ts'
import { createIssuer } from './codex/issuer.ts'
import { answerKeyApi, answerKeyModels } from './codex/key-api.ts'
import { createLogins } from './codex/logins.ts'
import type { CodexLogins, CodexPerson } from './codex/logins.ts'
import { routeOf, STREAMING_ROUTES } from './codex/routes.ts'
import type { CodexRoute } from './codex/routes.ts'
import { refuseCopilotTraces } from './codex/separation.ts'
import { DEFAULT_UPSTREAM_SETTINGS } from './codex/settings.ts'
import type { CodexUpstreamSettings } from './codex/settings.ts'
import { createControl } from './control.ts'
import type { Controls } from './control.ts'
import type { StreamGate } from './gate.ts'

export interface CodexOptions {
  /** 0 or absent selects a free port. The server always listens on 127.0.0.1. */
  readonly port?: number
  readonly settings?: Partial<CodexUpstreamSettings>
  /** The number of newest requests to keep in `log`; default 0. */
  readonly record?: number
  /** Ms since epoch; default `Date.now`. */
  readonly now?: () => number
}

interface LoginOptions extends Partial<CodexPerson> {
  /** Lifetime of the access token; may be negative. */
  readonly lifetimeSeconds?: number
}

/** The simulated issuer, ChatGPT backend and key API, as strict as the real ones, with controls for tests. */
export interface CodexUpstream extends Host, ReturnType<typeof codexAddresses>, Omit<Controls<CodexRoute>, 'gateNext'> {
  /** For `codex.api-key`. */
  readonly apiKey: string
  readonly login: (options?: LoginOptions) => CodexLogin
  readonly logins: Pick<CodexLogins, 'accessState' | 'revoke' | 'revokeAll' | 'expireAccess' | 'expireRefresh'>
  readonly configure: (change: Partial<CodexUpstreamSettings>) => void
  /** Holds the next streamed reply of the route between its pieces. Default: the route of the ChatGPT backend. */
  readonly gateNext: (route?: CodexRoute) => StreamGate
}

/** Starts the strict simulated Codex. Rejects with Node's own error if the port is taken. */
export async function startCodex({
  port: wantedPort,
  settings: given,
  record = 0,
  now = Date.now,
}: CodexOptions = {}): Promise<CodexUpstream> {
  let current: CodexUpstreamSettings = { ...DEFAULT_UPSTREAM_SETTINGS, ...given }
  const settings = (): CodexUpstreamSettings => current
  const apiKey = 'sk-demo-key'
  const person = (): CodexPerson => {
    const { email, plan, isFedramp } = current
    return { accountId: DEMO_PERSON.accountId, email, plan, isFedramp }
  }
  const { controls, hookReplies, watch } = createControl<CodexRoute>({
    routeOf,
    streamingRoutes: STREAMING_ROUTES,
    record,
    maxBodyBytes: () => current.maxBodyBytes,
    tooLarge: tooLarge(),
  })

  const { promise: loginsMade, resolve: loginsAreMade } = Promise.withResolvers<CodexLogins>()
  const host: Host = await openHost({ port: wantedPort, hookReplies }, ({ url, port }) => {
    const logins = createLogins({ now, scope: String(port), issuer: url, clientId: () => current.clientId })
    loginsAreMade(logins)
    const issuer = createIssuer({ settings, logins, now, url, person })
    const checks = createCodexChecks(settings)
    const answerChatgpt = createCodexRoutes({
      settings,
      now,
      checks,
      personOf: (token) => {
        const state = logins.accessState(token)
        return state.is === 'live' ? state.person : undefined
      },
    })

    const answer = (route: CodexRoute, hosted: HostedRequest): Outcome => {
      const { request, path, body, number } = hosted
      const { headers, method = '', url: target = '' } = request
      const contentType = headers['content-type'] ?? ''
      switch (route) {
        case '/backend-api/codex/responses':
        case '/backend-api/codex/models':
          return (
            chatgptAccess(headers, logins) ??
            (method === 'POST' ? refuseMediaType(contentType) : undefined) ??
            answerChatgpt(hosted)
          )
        case '/v1/responses': {
          const header = (name: string): string | undefined => headerOf(request, name)
          const call = {
            person: NOBODY,
            account: apiKey,
            header,
            bodyText: body,
            number,
            nowMs: now(),
            settings: current,
          }
          return (
            keyAccess(headers, apiKey) ??
            refuseMediaType(contentType) ??
            answerKeyApi({ ...call, api: 'api-key' }, checks)
          )
        }
        case '/v1/models':
          return keyAccess(headers, apiKey) ?? answerKeyModels()
        case 'other':
          return path.startsWith('/v1')
            ? openaiError(404, { message: `Invalid URL (${method} ${target})`, code: null })
            : detail(404, 'Not Found')
        default:
          return issuer({ route, path: target, contentType, body, number }) ?? detail(404, 'Not Found')
      }
    }

    return {
      headers: codexHeaders,
      answer: (hosted) => {
        const route = routeOf(hosted.request)
        const isApi = route.startsWith('/backend-api') || route.startsWith('/v1')
        return refuseCopilotTraces(hosted.request.headers, isApi) ?? answer(route, hosted)
      },
    }
  })
  const logins = await loginsMade

  return {
    ...watch(host),
    ...controls,
    ...codexAddresses(host.url),
    apiKey,
    login: ({ lifetimeSeconds = ACCESS_TOKEN_SECONDS, ...change } = {}) => {
      const who = { ...person(), ...change }
      const { accessToken, refreshToken, idToken } = logins.start(who, { lifetimeSeconds })
      return { accessToken, refreshToken, idToken, accountId: who.accountId, email: who.email }
    },
    logins,
    configure: (change) => {
      current = { ...current, ...change }
    },
    gateNext: (route = '/backend-api/codex/responses') => controls.gateNext(route),
  }
}

/** A key belongs to a project, not to a person. */
const NOBODY = { accountId: '', email: '', plan: '' }

function refuseMediaType(given: string): Outcome | undefined {
  return given.startsWith('application/json')
    ? undefined
    : jsonReply(415, { detail: `Unsupported media type '${given}'` })
}
