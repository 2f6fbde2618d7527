import type { IncomingMessage } from 'node:http'
import { refuseAccess, refuseEditor } from './access.ts'
import type { AutoMode } from './auto.ts'
import { answerChat } from './chat.ts'
import { answerEmbeddings } from './embeddings.ts'
import { modelNotSupported } from './failures.ts'
import { createGithub } from './github.ts'
import type { GithubDeps } from './github.ts'
import type { HostedRequest } from './host.ts'
import type { InferenceCall } from './inference.ts'
import { answerCountTokens, answerMessages } from './messages.ts'
import { findModel, modelList } from './models.ts'
import { jsonReply, textReply } from './outcome.ts'
import type { HeaderMap, Outcome } from './outcome.ts'
import { createPreparedFrames } from './prepared-frames.ts'
import { answerResponses } from './responses.ts'
import { DEMO_ROUTES } from './script.ts'
import type { DemoRoute } from './script.ts'
import { quotaHeaders } from './usage.ts'

type RoutedRequest = HostedRequest<DemoRoute>

/** The simulation's own answer to each route: GitHub by GitHub token, the Copilot API by Copilot token. */
export function createRoutes(deps: GithubDeps & { readonly auto: AutoMode }): (routed: RoutedRequest) => Outcome {
  const { settings, tokens, now, auto } = deps
  const github = createGithub(deps)
  const prepared = createPreparedFrames()

  const answerCopilot = ({ route, request, body, number }: RoutedRequest): Outcome => {
    const refusal = refuseAccess(request, tokens, settings().misdirectedHosts)
    if (refusal !== undefined) return refusal
    // What is left out counts as the oldest.
    const apiVersion = headerOf(request, 'x-github-api-version') ?? ''
    if (route === '/models') return answerModels(apiVersion)
    if (route === '/models/{id}') return answerModel(request.url ?? '', apiVersion)
    if (route === '/embeddings') return answerEmbeddings(body, quotaHeaders(now()))
    const { autoWays } = settings()
    if (route === '/auto') return auto.choose(body, headerOf(request, 'x-github-api-version'), autoWays)
    if (route === '/models/session') return auto.openSession(body, autoWays)
    const call: InferenceCall = {
      bodyText: body,
      apiVersion,
      hasVisionHeader: headerOf(request, 'copilot-vision-request') === 'true',
      refuseModel: (modelId) =>
        refuseEditor(headerOf(request, 'editor-version') ?? '', modelId) ??
        auto.refuse(headerOf(request, 'copilot-session-token'), modelId),
      betas: listOf(headerOf(request, 'anthropic-beta')),
      number,
      nowMs: now(),
      settings: settings(),
      prepared,
    }
    switch (route) {
      case '/responses':
        return answerResponses(call)
      case '/v1/messages':
        return answerMessages(call)
      case '/v1/messages/count_tokens':
        return answerCountTokens(call)
      default:
        return answerChat(call)
    }
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
      case '/models/session':
      case '/auto':
      case '/embeddings':
      case '/chat/completions':
      case '/responses':
      case '/v1/messages':
      case '/v1/messages/count_tokens':
        return answerCopilot(routed)
    }
  }
}

function answerModels(apiVersion: string): Outcome {
  const headers = { 'content-type': 'application/json' }
  return { kind: 'whole', status: 200, headers, body: modelList(apiVersion) }
}

const POST_ROUTES: ReadonlySet<string> = new Set<DemoRoute>([
  '/login/device/code',
  '/login/oauth/access_token',
  '/chat/completions',
  '/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/embeddings',
  '/auto',
  '/models/session',
])

/** The route a request names; undefined where the path or the method is not served (of the real paths only Anthropic's has a `/v1`). */
export function routeOf({ method = '', url = '' }: IncomingMessage): DemoRoute | undefined {
  const [path = ''] = url.split('?', 1)
  const route =
    DEMO_ROUTES.find((each) => each === path) ?? (/^\/models\/[^/]+$/.test(path) ? '/models/{id}' : undefined)
  if (route === undefined) return undefined
  return method === (POST_ROUTES.has(route) ? 'POST' : 'GET') ? route : undefined
}

function answerModel(url: string, apiVersion: string): Outcome {
  const model = findModel(url.split('?', 1)[0]?.slice('/models/'.length) ?? '', apiVersion)
  return model === undefined ? modelNotSupported() : jsonReply(200, model.entry(apiVersion))
}

/** The values of a header that holds a list. */
function listOf(header = ''): readonly string[] {
  return header.split(',').flatMap((value) => value.trim() || [])
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
    'x-copilot-service-request-id': `demo-service-${id}`,
    'x-request-id': headerOf(request, 'x-request-id') ?? `demo-${id}`,
    'x-github-backend': 'Kubernetes',
    'set-cookie': `demo_session=${id}; path=/; secure; HttpOnly`,
    'access-control-allow-origin': 'https://github.com',
  }
}
