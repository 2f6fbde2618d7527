import { encodeComment } from '../../sse/encode.ts'
import type { Dialect } from '../dialect.ts'
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

/** OpenAI Responses. */
export const responsesDialect: Dialect = {
  id: 'responses',
  upstreamPath: '/responses',
  heartbeat: encodeComment('keepalive'),
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
