import { encodeComment } from '../../../sse/encode.ts'
import type { CallerDialect, CallerRequest, ConversationShape } from '../../dialect.ts'
import type { JsonObject } from '../../../json/json.ts'
import { replaceMember } from '../../../json/json-members.ts'
import { decodeResponsesRequest } from './decode-request.ts'
import { decodeResponsesTurn } from './decode-turn.ts'
import { createResponsesTurnFold, createResponsesTurnStream } from './encode-stream.ts'
import { encodeResponsesErrorEvent, responsesErrorStatus, toResponsesError } from '../error.ts'
import { recallResponses } from './join-history.ts'
import { ResponsesBody, responsesBodyOf } from '../wire.ts'

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

/** An `input` that is a string holds no image. */
function inputItems(request: CallerRequest): readonly JsonObject[] {
  const { input } = responsesBodyOf(request).value
  return typeof input === 'string' ? [] : (input ?? [])
}

/** Callers of OpenAI Responses. */
export const responsesCaller: CallerDialect = {
  id: 'responses',
  heartbeat: encodeComment('keepalive'),
  conversation,
  decodeRequest: decodeResponsesRequest,
  recall: recallResponses,
  decodeTurn: decodeResponsesTurn,
  createTurnStream: createResponsesTurnStream,
  createTurnFold: createResponsesTurnFold,
  errorStatus: responsesErrorStatus,
  errorBody: toResponsesError,
  errorEvent: encodeResponsesErrorEvent,
}
