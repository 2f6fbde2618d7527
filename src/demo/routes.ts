import type { IncomingMessage } from 'node:http'
import type { AutoMode } from './auto.ts'
import { answerChat } from './chat/route.ts'
import type { ChatRequest } from './chat/request.ts'
import { answerCompletions, completionsEngine } from './completions.ts'
import { answerEmbeddings } from './embeddings.ts'
import { modelNotSupported, usualFailure } from './failures.ts'
import { DEMO_LOGIN, DEMO_SKU, endpointsOf, githubUser, tokenReply } from './github.ts'
import { headerOf, tokenOf } from './host.ts'
import type { HostedRequest } from './host.ts'
import type { Checks, InferenceCall, Pace } from './inference.ts'
import { answerImages } from './images.ts'
import type { MessagesRequest } from './messages/request.ts'
import { answerCountTokens, answerMessages } from './messages/route.ts'
import { DEMO_MODELS } from './models.ts'
import type { DemoModel, DemoModels } from './models.ts'
import { jsonReply, textReply } from './outcome.ts'
import type { HeaderMap, Outcome } from './outcome.ts'
import type { ResponsesRequest } from './responses/request.ts'
import { answerResponses } from './responses/route.ts'
import type { TokenStore } from './tokens.ts'
import { accountUsage, quotaHeaders } from './usage.ts'

export interface CopilotRoutesDeps {
  /** Base URL of this server. */
  readonly url: string
  readonly pace: () => Pace
  readonly tokens: TokenStore
  readonly auto: AutoMode
  readonly now: () => number
  /** Default: the models of the demo. */
  readonly models?: DemoModels
  readonly checks?: {
    readonly chat: Checks<ChatRequest>
    readonly responses: Checks<ResponsesRequest>
    readonly messages: Checks<MessagesRequest>
  }
}

/** The replies of the simulated GitHub and Copilot. GitHub requires a GitHub token, the Copilot API a Copilot token. */
export function createCopilotRoutes(deps: CopilotRoutesDeps): (hosted: HostedRequest) => Outcome {
  const { url, tokens, now, auto, pace, models = DEMO_MODELS, checks } = deps

  const answerGithub = (route: string): Outcome | undefined => {
    switch (route) {
      case 'GET /user':
        return jsonReply(200, githubUser(DEMO_LOGIN))
      case 'GET /copilot_internal/v2/token': {
        const issued = tokens.issueCopilot({ lifetimeSeconds: 1800, sku: DEMO_SKU, proxyEp: new URL(url).host })
        return jsonReply(200, tokenReply(issued, url))
      }
      case 'GET /copilot_internal/user':
        return jsonReply(200, accountUsage(DEMO_LOGIN, now(), endpointsOf(url)))
      default:
        return undefined
    }
  }

  const answerCopilot = (route: string, { request, path, body, number }: HostedRequest): Outcome | undefined => {
    const header = (name: string): string | undefined => headerOf(request, name)
    // An absent version counts as the oldest.
    const apiVersion = header('x-github-api-version') ?? ''
    const call: InferenceCall = { bodyText: body, header, number, nowMs: now(), pace: pace(), models }
    switch (route) {
      case 'POST /chat/completions':
        return answerChat(call, checks?.chat)
      case 'POST /responses':
        return answerResponses(call, checks?.responses)
      case 'POST /v1/messages':
        return answerMessages(call, checks?.messages)
      case 'POST /v1/messages/count_tokens':
        return answerCountTokens(call, checks?.messages)
      case 'POST /embeddings':
        return answerEmbeddings(body, quotaHeaders(now()))
      case 'POST /v1/images/generations':
        return answerImages(body, models, now(), quotaHeaders(now()))
      case 'POST /auto':
        return auto.choose(body)
      case 'GET /models':
        return jsonReply(200, { object: 'list', data: models.list(apiVersion).map(({ entry }) => entry) })
      default: {
        if (/^GET \/models\/[^/]+$/.test(route))
          return answerModel(models.find(path.slice('/models/'.length), apiVersion))
        const engine = request.method === 'POST' ? completionsEngine(path) : undefined
        return engine === undefined ? undefined : answerCompletions(engine, body)
      }
    }
  }

  return (hosted) => {
    const { request, path } = hosted
    const route = `${request.method} ${path}`
    const token = tokenOf(request)
    if (tokens.isGithubLive(token)) {
      const answer = answerGithub(route)
      if (answer !== undefined) return answer
    } else if (!tokens.isCopilotLive(token)) {
      return usualFailure(401)
    }
    return answerCopilot(route, hosted) ?? textReply(404, '404 page not found')
  }
}

function answerModel(model: DemoModel | undefined): Outcome {
  return model === undefined ? modelNotSupported() : jsonReply(200, model.entry)
}

/**
 * Headers of every reply: ids for logs, and headers that a proxy must not pass on (cookie, CORS, diagnostics;
 * docs/copilot-wire.md, "Response headers").
 */
export function copilotHeaders(request: IncomingMessage, number: number): HeaderMap {
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
