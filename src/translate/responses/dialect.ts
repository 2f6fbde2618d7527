import { encodeComment } from '../../sse/encode.ts'
import type { CallerRequest, ConversationShape, Dialect } from '../dialect.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { replaceMember } from '../parts/json-members.ts'
import { createResponsesDecoder } from './decode-stream.ts'
import { decodeResponsesRequest } from './decode-request.ts'
import { decodeResponsesTurn } from './decode-turn.ts'
import { createResponsesTurnFold, createResponsesTurnStream } from './encode-stream.ts'
import { encodeResponsesTurn } from './encode-turn.ts'
import { encodeResponsesErrorEvent, responsesErrorStatus, toResponsesError } from './error.ts'
import { joinResponsesHistory } from './join-history.ts'
import { responsesAccepts } from './lessons.ts'
import { passResponsesRequest } from './pass-request.ts'
import { recoverResponses } from './recover.ts'
import { createResponsesFold, createResponsesStream } from './reply.ts'
import { ResponsesBody, responsesBodyOf } from './wire-request.ts'

const conversation: ConversationShape = {
  member: 'input',
  textType: 'input_text',
  itemsOf: inputItems,
  mapItems(request, map) {
    const body = responsesBodyOf(request)
    const input = inputItems(request).map((item) => map(item))
    const { bytes, members } = replaceMember(body, 'input', input)
    return { ...request, body: new ResponsesBody(bytes, { ...body.value, input }, members, body.continues) }
  },
}

/** A bare text holds no image. */
function inputItems(request: CallerRequest): readonly JsonObject[] {
  const { input } = responsesBodyOf(request).value
  return typeof input === 'string' ? [] : (input ?? [])
}

/** OpenAI Responses. */
export const responsesDialect: Dialect = {
  id: 'responses',
  upstreamPath: '/responses',
  heartbeat: encodeComment('keepalive'),
  conversation,
  decodeRequest: decodeResponsesRequest,
  joinHistory: joinResponsesHistory,
  decodeTurn: decodeResponsesTurn,
  passRequest: passResponsesRequest,
  createStream: createResponsesStream,
  createFold: createResponsesFold,
  accepts: responsesAccepts,
  encodeTurn: encodeResponsesTurn,
  createDecoder: createResponsesDecoder,
  createTurnStream: createResponsesTurnStream,
  createTurnFold: createResponsesTurnFold,
  recover: recoverResponses,
  errorStatus: responsesErrorStatus,
  errorBody: toResponsesError,
  errorEvent: encodeResponsesErrorEvent,
}
