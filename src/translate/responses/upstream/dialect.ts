import type { UpstreamDialect } from '../../upstream-dialect.ts'
import { createResponsesDecoder } from './decode-stream.ts'
import { encodeResponsesTurn } from './encode-turn.ts'
import { passResponsesRequest } from './pass-request.ts'
import { judgeResponsesEvent } from './first-event.ts'
import { createResponsesFold, createResponsesStream } from './forward-stream.ts'
import { NO_CUSTOM_TOOLS, recoverLite, recoverResponses } from './learned-refusals.ts'
import type { ResponsesSettings } from './settings.ts'

/** Upstreams of OpenAI Responses. */
export function createResponsesUpstream(settings: ResponsesSettings = {}): UpstreamDialect {
  return {
    id: 'responses',
    path: '/responses',
    accepts: (learned) => ({
      toolName: 64,
      callId: 64,
      customTools: !learned.has(NO_CUSTOM_TOOLS),
      webSearch: true,
      stop: false,
    }),
    encodeTurn: (turn, context) => encodeResponsesTurn(turn, { ...context, ...settings }),
    createDecoder: createResponsesDecoder,
    judgeFirstEvent: judgeResponsesEvent,
    passRequest: (request, context) => passResponsesRequest(request, { ...context, ...settings }),
    createStream: createResponsesStream,
    createFold: createResponsesFold,
    recover: settings.profile === 'chatgpt' && settings.lite === 'auto' ? recoverLite : recoverResponses,
  }
}

export const responsesUpstream = createResponsesUpstream()
