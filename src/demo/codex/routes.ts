import type { IncomingMessage } from 'node:http'
import type { HostedRequest } from '../host.ts'
import { jsonReply } from '../outcome.ts'
import type { HeaderMap, Outcome } from '../outcome.ts'
import { chatgptAccess, keyAccess } from './access.ts'
import { detail, openaiError } from './failures.ts'
import { answerCodex } from './inference.ts'
import type { Issuer } from './issuer.ts'
import { answerUsage } from './limits.ts'
import { LITE_HEADER } from './lite-checks.ts'
import type { CodexLogins, CodexPerson } from './logins.ts'
import { answerKeyModels, answerModels } from './models.ts'
import { refuseCopilotTraces } from './separation.ts'
import type { CodexSettings } from './settings.ts'

const ROUTES = {
  '/oauth/authorize': 'GET',
  '/oauth/token': 'POST',
  '/oauth/revoke': 'POST',
  '/api/accounts/deviceauth/usercode': 'POST',
  '/api/accounts/deviceauth/token': 'POST',
  '/codex/device': 'GET',
  '/backend-api/codex/responses': 'POST',
  '/backend-api/codex/models': 'GET',
  '/backend-api/wham/usage': 'GET',
  '/v1/responses': 'POST',
  '/v1/models': 'GET',
} as const

/** Paths of the simulated services; `other` is everything else, which is refused, and recorded all the same. */
export type CodexRoute = keyof typeof ROUTES | 'other'

export const CODEX_STREAMING_ROUTES: ReadonlySet<CodexRoute> = new Set<CodexRoute>([
  '/backend-api/codex/responses',
  '/v1/responses',
])

export function codexRouteOf({ method = '', url = '' }: IncomingMessage): CodexRoute {
  const [path = ''] = url.split('?', 1)
  return isRoute(path) && ROUTES[path] === method ? path : 'other'
}

function isRoute(path: string): path is keyof typeof ROUTES {
  return Object.hasOwn(ROUTES, path)
}

export interface CodexRoutesDeps {
  readonly settings: () => CodexSettings
  readonly logins: CodexLogins
  readonly issuer: Issuer
  readonly now: () => number
  readonly apiKey: string
}

/** The simulation's own answer to each route, after a look for anything that was meant for Copilot. */
export function createCodexRoutes(deps: CodexRoutesDeps): (routed: HostedRequest<CodexRoute>) => Outcome {
  const { settings, logins, issuer, now, apiKey } = deps

  const asPerson = ({ headers }: IncomingMessage, answer: (person: CodexPerson) => Outcome): Outcome => {
    const access = chatgptAccess(headers, logins)
    return access.ok ? answer(access.value) : access.refusal
  }

  const answerRoute = ({ route, request, body, number }: HostedRequest<CodexRoute>): Outcome => {
    const { headers, url: path = '' } = request
    const toIssuer = { path, contentType: headers['content-type'] ?? '', body, number }
    const prompt = { bodyText: body, number, nowMs: now(), settings: settings() }
    switch (route) {
      case '/oauth/authorize':
        return issuer.authorize(toIssuer)
      case '/oauth/token':
        return issuer.token(toIssuer)
      case '/oauth/revoke':
        return issuer.revoke(toIssuer)
      case '/api/accounts/deviceauth/usercode':
        return issuer.userCode(toIssuer)
      case '/api/accounts/deviceauth/token':
        return issuer.deviceToken(toIssuer)
      case '/codex/device':
        return issuer.devicePage(toIssuer)
      case '/backend-api/codex/responses':
        return asPerson(request, (person) => {
          const isLite = headers[LITE_HEADER] === 'true'
          const refusal = refuseMediaType(headers['content-type'])
          return refusal ?? answerCodex({ ...prompt, profile: 'chatgpt', person, account: person.accountId, isLite })
        })
      case '/backend-api/codex/models':
        return asPerson(request, (person) =>
          answerModels({
            path,
            ifNoneMatch: headers['if-none-match'],
            person,
            revision: settings().catalogueRevision,
          }),
        )
      case '/backend-api/wham/usage':
        return asPerson(request, (person) => answerUsage(person, settings(), now()))
      case '/v1/responses':
        return (
          keyAccess(headers, apiKey) ??
          refuseMediaType(headers['content-type']) ??
          answerCodex({ ...prompt, profile: 'api-key', person: NOBODY, account: apiKey, isLite: false })
        )
      case '/v1/models':
        return keyAccess(headers, apiKey) ?? answerKeyModels()
      case 'other':
        return path.startsWith('/v1')
          ? openaiError(404, { message: `Invalid URL (${request.method} ${path})`, code: null })
          : detail(404, 'Not Found')
    }
  }

  return (routed) => {
    const isApi = routed.route.startsWith('/backend-api') || routed.route.startsWith('/v1')
    return refuseCopilotTraces(routed.request.headers, isApi) ?? answerRoute(routed)
  }
}

/** A key belongs to a project, not to a person. */
const NOBODY: CodexPerson = { accountId: '', email: '', plan: '', isFedramp: false }

function refuseMediaType(given = ''): Outcome | undefined {
  return given.startsWith('application/json')
    ? undefined
    : jsonReply(415, { detail: `Unsupported media type '${given}'` })
}

/** On every reply: ids to log, and what a proxy must not pass on. */
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
