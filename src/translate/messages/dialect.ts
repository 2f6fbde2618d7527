import { encodeJsonEvent } from '../../sse/encode.ts'
import type { ConversationShape, Dialect, TurnAccepts } from '../dialect.ts'
import { replaceMember } from '../parts/json-members.ts'
import { createMessagesDecoder } from './decode-stream.ts'
import { decodeMessagesRequest } from './decode-request.ts'
import { decodeMessagesTurn } from './decode-turn.ts'
import { createMessagesTurnFold, createMessagesTurnStream } from './encode-stream.ts'
import { encodeMessagesTurn } from './encode-turn.ts'
import { encodeMessagesErrorEvent, messagesErrorStatus, toMessagesError } from './error.ts'
import { passMessagesRequest } from './pass-request.ts'
import { recoverMessages } from './recover.ts'
import { createMessagesFold, createMessagesStream } from './reply.ts'
import { MessagesBody, messagesBodyOf } from './wire-request.ts'

const accepts: TurnAccepts = { toolName: 128, callId: 128, customTools: false, webSearch: false, stop: true }

const conversation: ConversationShape = {
  member: 'messages',
  textType: 'text',
  itemsOf: (request) => messagesBodyOf(request).value.messages,
  mapItems(request, map) {
    const body = messagesBodyOf(request)
    const messages = body.value.messages.map((message) => map(message))
    const { bytes, members } = replaceMember(body, 'messages', messages)
    return { ...request, body: new MessagesBody(bytes, { ...body.value, messages }, members, body.betas) }
  },
}

/** Anthropic Messages. */
export const messagesDialect: Dialect = {
  id: 'messages',
  upstreamPath: '/v1/messages',
  mandatory: new Set(['max_tokens']),
  heartbeat: encodeJsonEvent('ping', '{"type":"ping"}'),
  conversation,
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
