import type { UpstreamDialect } from '../../dialect.ts'
import { createResponsesDecoder } from './decode-stream.ts'
import { encodeResponsesTurn } from './encode-turn.ts'
import { passResponsesRequest } from './pass-request.ts'
import { judgeResponsesEvent } from './first-event.ts'
import { createResponsesFold, createResponsesStream } from './forward-stream.ts'
import { NO_CUSTOM_TOOLS, recoverResponses } from './learned-refusals.ts'

/** Upstreams of OpenAI Responses. */
export const responsesUpstream: UpstreamDialect = {
  id: 'responses',
  path: '/responses',
  accepts: (learned) => ({
    customTools: !learned.has(NO_CUSTOM_TOOLS),
    webSearch: true,
    allowedTools: true,
    stop: false,
  }),
  encodeTurn: encodeResponsesTurn,
  createDecoder: createResponsesDecoder,
  judgeFirstEvent: judgeResponsesEvent,
  passRequest: passResponsesRequest,
  createStream: createResponsesStream,
  createFold: createResponsesFold,
  recover: recoverResponses,
}
