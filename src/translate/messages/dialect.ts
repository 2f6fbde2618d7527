import { encodeJsonEvent } from '../../sse/encode.ts'
import type { Dialect, TurnAccepts } from '../dialect.ts'
import { createMessagesDecoder } from './decode-stream.ts'
import { decodeMessagesRequest } from './decode-request.ts'
import { decodeMessagesTurn } from './decode-turn.ts'
import { createMessagesTurnFold, createMessagesTurnStream } from './encode-stream.ts'
import { encodeMessagesTurn } from './encode-turn.ts'
import { encodeMessagesErrorEvent, messagesErrorStatus, toMessagesError } from './error.ts'
import { passMessagesRequest } from './pass-request.ts'
import { recoverMessages } from './recover.ts'
import { createMessagesFold, createMessagesStream } from './reply.ts'

const accepts: TurnAccepts = { toolName: 128, callId: 128, customTools: false, webSearch: false, stop: true }

/** Anthropic Messages. */
export const messagesDialect: Dialect = {
  id: 'messages',
  upstreamPath: '/v1/messages',
  mandatory: new Set(['max_tokens']),
  heartbeat: encodeJsonEvent('ping', '{"type":"ping"}'),
  decodeRequest: decodeMessagesRequest,
  decodeTurn: decodeMessagesTurn,
  passRequest: passMessagesRequest,
  createStream: createMessagesStream,
  createFold: createMessagesFold,
  accepts: () => accepts,
  encodeTurn: encodeMessagesTurn,
  pauses: true,
  createDecoder: createMessagesDecoder,
  createTurnStream: createMessagesTurnStream,
  createTurnFold: createMessagesTurnFold,
  recover: recoverMessages,
  errorStatus: messagesErrorStatus,
  errorBody: toMessagesError,
  errorEvent: encodeMessagesErrorEvent,
}
