import type { IncomingMessage } from 'node:http'
import { refuseAccess } from './access.ts'
import { answerChat } from './chat.ts'
import { answerEmbeddings } from './embeddings.ts'
import { modelNotSupported } from './failures.ts'
import { createGithub } from './github.ts'
import type { GithubDeps } from './github.ts'
import { findModel, MODEL_LIST } from './models.ts'
import { jsonReply, textReply } from './outcome.ts'
import type { HeaderMap, Outcome } from './outcome.ts'
import { createPreparedFrames } from './prepared-frames.ts'
import { DEMO_ROUTES } from './script.ts'
import type { DemoRoute } from './script.ts'
import { quotaHeaders } from './usage.ts'

export interface RoutedRequest {
  readonly route: DemoRoute
  readonly request: IncomingMessage
  readonly body: string
  /** Counts the requests of this route from 1; ids are made of it. */
  readonly number: number
}

/** The simulation's own answer to each route: GitHub by GitHub token, the Copilot API by Copilot token. */
export function createRoutes(deps: GithubDeps): (routed: RoutedRequest) => Outcome {
  const { settings, tokens, now } = deps
  const github = createGithub(deps)
  const prepared = createPreparedFrames()

  const answerCopilot = ({ route, request, body, number }: RoutedRequest): Outcome => {
    const refusal = refuseAccess(request, tokens, settings().misdirectedHosts)
    if (refusal !== undefined) return refusal
    if (route === '/models') return MODELS_REPLY
    if (route === '/models/{id}') return answerModel(request.url ?? '')
    if (route === '/embeddings') return answerEmbeddings(body, quotaHeaders(now()))
    return answerChat({
      bodyText: body,
      hasVisionHeader: headerOf(request, 'copilot-vision-request') === 'true',
      number,
      nowMs: now(),
      settings: settings(),
      prepared,
    })
  }

  return (routed) => {
    const { route, request, body } = routed
    const call = { header: (name: string) => headerOf(request, name), body }
    switch (route) {
      case '/login/device':
        return github.devicePage(call)
      case '/login/device/code':
        return github.deviceCode(call)
      case '/login/oauth/access_token':
        return github.accessToken(call)
      case '/user':
        return github.user(call)
      case '/copilot_internal/v2/token':
        return github.copilotToken(call)
      case '/copilot_internal/user':
        return github.copilotUser(call)
      case '/_ping':
        return textReply(200, 'OK')
      case '/models':
      case '/models/{id}':
      case '/embeddings':
      case '/chat/completions':
        return answerCopilot(routed)
    }
  }
}

const MODELS_REPLY: Outcome = {
  kind: 'whole',
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: MODEL_LIST,
}

const POST_ROUTES: ReadonlySet<string> = new Set<DemoRoute>([
  '/login/device/code',
  '/login/oauth/access_token',
  '/chat/completions',
  '/embeddings',
])

/** The route a request names; undefined where the path or the method is not served (the real paths have no `/v1`). */
export function routeOf({ method = '', url = '' }: IncomingMessage): DemoRoute | undefined {
  const [path = ''] = url.split('?', 1)
  const route = /^\/models\/[^/]+$/.test(path) ? '/models/{id}' : DEMO_ROUTES.find((each) => each === path)
  if (route === undefined) return undefined
  return method === (POST_ROUTES.has(route) ? 'POST' : 'GET') ? route : undefined
}

function answerModel(url: string): Outcome {
  const model = findModel(url.split('?', 1)[0]?.slice('/models/'.length) ?? '')
  return model === undefined ? modelNotSupported() : jsonReply(200, model.entry)
}

/** The value of a header; of a repeated one node's joined or first value. */
function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/**
 * On every reply: ids to log, and what a proxy must not pass on (cookie, CORS, diagnostics;
 * docs/copilot-wire.md, "Response headers").
 */
export function commonHeaders(request: IncomingMessage, number: number): HeaderMap {
  const id = String(number).padStart(6, '0')
  return {
    'x-github-request-id': `DEMO:${id}`,
    'x-request-id': headerOf(request, 'x-request-id') ?? `demo-${id}`,
    'x-github-backend': 'Kubernetes',
    'set-cookie': `demo_session=${id}; path=/; secure; HttpOnly`,
    'access-control-allow-origin': 'https://github.com',
  }
}
