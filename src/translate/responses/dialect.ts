import type { CallerRequest, ConversationShape, TwoSidedDialect, UpstreamDialect } from '../dialect.ts'
import { encodeComment } from '../../sse/encode.ts'
import type { JsonObject } from '../../json/json.ts'
import { replaceMember } from '../../json/json-members.ts'
import { decodeResponsesRequest } from './decode-request.ts'
import { decodeResponsesTurn, responsesNotes } from './decode-turn.ts'
import { createResponsesTurnFold, createResponsesTurnStream } from './write-stream/write-stream.ts'
import { encodeResponsesErrorEvent, toResponsesError } from './error.ts'
import { openAiErrorStatus } from '../engine/openai-error.ts'
import { recallResponses } from './join-history.ts'
import { ResponsesBody, responsesBodyOf } from './wire.ts'
import { createResponsesDecoder } from './read-stream/decode-stream.ts'
import { encodeResponsesTurn } from './encode-turn.ts'
import { passResponsesRequest } from './pass-request.ts'
import { judgeResponsesEvent } from './read-stream/first-event.ts'
import { createResponsesFold, createResponsesStream } from './read-stream/forward-stream.ts'
import { NO_CUSTOM_TOOLS, recoverResponses } from './rules/learned-refusals.ts'

const conversation: ConversationShape = {
  member: 'input',
  textType: 'input_text',
  itemsOf: inputItems,
  mapItems(request, map) {
    const body = responsesBodyOf(request)
    const input = inputItems(request).map((item) => map(item))
    const { bytes, members } = replaceMember(body, 'input', input)
    return { ...request, body: new ResponsesBody(bytes, { ...body.value, input }, members, body.chain, body.continues) }
  },
}

const upstream: UpstreamDialect = {
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
  conversation,
  passRequest: passResponsesRequest,
  createStream: createResponsesStream,
  createFold: createResponsesFold,
  recover: recoverResponses,
}

/** An `input` that is a string holds no image. */
function inputItems(request: CallerRequest): readonly JsonObject[] {
  const { input } = responsesBodyOf(request).value
  return typeof input === 'string' ? [] : (input ?? [])
}

/** OpenAI Responses. */
export const responsesDialect: TwoSidedDialect = {
  id: 'responses',
  heartbeat: encodeComment('keepalive'),
  decodeRequest: decodeResponsesRequest,
  recall: recallResponses,
  decodeTurn: decodeResponsesTurn,
  replyNotes: responsesNotes,
  createTurnStream: createResponsesTurnStream,
  createTurnFold: createResponsesTurnFold,
  errorStatus: openAiErrorStatus,
  errorBody: toResponsesError,
  errorEvent: encodeResponsesErrorEvent,
  upstream,
}
