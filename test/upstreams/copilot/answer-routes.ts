import type { IncomingMessage } from 'node:http'
import type { AutoMode } from './auto.ts'
import { answerChat } from './chat/route.ts'
import type { ChatRequest } from './chat/request.ts'
import { answerCompletions } from './completions.ts'
import { answerEmbeddings } from './embeddings.ts'
import { modelNotSupported } from './failures.ts'
import { headerOf } from '../http/host.ts'
import type { HostedRequest } from '../http/host.ts'
import type { Checks, InferenceCall, Pace } from '../inference.ts'
import { answerImages } from './images.ts'
import type { MessagesRequest } from './messages/request.ts'
import { answerCountTokens, answerMessages } from './messages/route.ts'
import { MODELS } from './models.ts'
import type { DemoModel } from './catalogue-models.ts'
import { jsonReply, textReply } from '../http/outcome.ts'
import type { HeaderMap, Outcome } from '../http/outcome.ts'
import type { ResponsesRequest } from './responses/request.ts'
import { answerResponses } from './responses/route.ts'
import type { CopilotRoute } from './routes.ts'
import { quotaHeaders } from './usage.ts'

export interface CopilotRoutesDeps {
  readonly pace: () => Pace
  readonly auto: AutoMode
  readonly now: () => number
  readonly checks: {
    readonly chat: Checks<ChatRequest>
    readonly responses: Checks<ResponsesRequest>
    readonly messages: Checks<MessagesRequest>
  }
}

/** The replies of the simulated Copilot API to requests with a valid token. */
export function createCopilotRoutes({
  now,
  auto,
  pace,
  checks,
}: CopilotRoutesDeps): (route: CopilotRoute, hosted: HostedRequest) => Outcome {
  return (route, { request, path, body, number }) => {
    const header = (name: string): string | undefined => headerOf(request, name)
    // An absent version counts as the oldest.
    const apiVersion = header('x-github-api-version') ?? ''
    const call: InferenceCall = { bodyText: body, header, number, nowMs: now(), pace: pace(), models: MODELS }
    switch (route) {
      case '/chat/completions':
        return answerChat(call, checks.chat)
      case '/responses':
        return answerResponses(call, checks.responses)
      case '/v1/messages':
        return answerMessages(call, checks.messages)
      case '/v1/messages/count_tokens':
        return answerCountTokens(call, checks.messages)
      case '/embeddings':
        return answerEmbeddings(body, quotaHeaders(now()))
      case '/v1/images/generations':
        return answerImages(body, MODELS, now(), quotaHeaders(now()))
      case '/auto':
        return auto.choose(body)
      case '/models':
        return jsonReply(200, { object: 'list', data: MODELS.list(apiVersion).map(({ entry }) => entry) })
      case '/models/{id}':
        return answerModel(MODELS.find(path.slice('/models/'.length), apiVersion))
      case '/v1/engines/{id}/completions':
        return answerCompletions(path.split('/')[3] ?? '', body)
      default:
        return textReply(404, '404 page not found')
    }
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
