import type { ConversationShape, TurnAccepts, TwoSidedDialect, UpstreamDialect } from '../dialect.ts'
import { encodeJsonEvent } from '../../sse/encode.ts'
import { replaceMember } from '../../json/json-members.ts'
import { decodeMessagesRequest } from './decode-request.ts'
import { decodeMessagesTurn, messagesNotes } from './decode-turn.ts'
import { createMessagesTurnFold, createMessagesTurnStream } from './write-stream/write-stream.ts'
import { encodeMessagesErrorEvent, messagesErrorStatus, toMessagesError } from './error.ts'
import { callCheckOf } from './safeguards.ts'
import { MessagesBody, messagesBodyOf } from './wire.ts'
import { createMessagesDecoder } from './read-stream/decode-stream.ts'
import { encodeMessagesTurn } from './encode-turn.ts'
import { recoverMessages } from './rules/learned-refusals.ts'
import { passMessagesRequest } from './pass-request.ts'
import { createMessagesFold, createMessagesStream } from './read-stream/forward-stream.ts'

const accepts: TurnAccepts = {
  customTools: false,
  webSearch: false,
  stop: true,
}

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

const upstream: UpstreamDialect = {
  id: 'messages',
  path: '/v1/messages',
  accepts: () => accepts,
  encodeTurn: encodeMessagesTurn,
  createDecoder: createMessagesDecoder,
  conversation,
  passRequest: passMessagesRequest,
  createStream: createMessagesStream,
  createFold: createMessagesFold,
  recover: recoverMessages,
}

/** Anthropic Messages. */
export const messagesDialect: TwoSidedDialect = {
  id: 'messages',
  mandatory: new Set(['max_tokens']),
  heartbeat: encodeJsonEvent('ping', '{"type":"ping"}'),
  decodeRequest: decodeMessagesRequest,
  callCheckOf,
  decodeTurn: decodeMessagesTurn,
  replyNotes: messagesNotes,
  createTurnStream: createMessagesTurnStream,
  createTurnFold: createMessagesTurnFold,
  errorStatus: messagesErrorStatus,
  errorBody: toMessagesError,
  errorEvent: encodeMessagesErrorEvent,
  upstream,
}
