import { encodeJsonEvent } from '../../../sse/encode.ts'
import type { CallerDialect, ConversationShape } from '../../dialect.ts'
import { replaceMember } from '../../../json/json-members.ts'
import { decodeMessagesRequest } from './decode-request.ts'
import { decodeMessagesTurn } from './decode-turn.ts'
import { createMessagesTurnFold, createMessagesTurnStream } from './encode-stream.ts'
import { encodeMessagesErrorEvent, messagesErrorStatus, toMessagesError } from '../error.ts'
import { callCheckOf } from '../safeguards.ts'
import { MessagesBody, messagesBodyOf } from '../wire.ts'

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

/** Callers of Anthropic Messages. */
export const messagesCaller: CallerDialect = {
  id: 'messages',
  mandatory: new Set(['max_tokens']),
  heartbeat: encodeJsonEvent('ping', '{"type":"ping"}'),
  conversation,
  decodeRequest: decodeMessagesRequest,
  callCheckOf,
  decodeTurn: decodeMessagesTurn,
  createTurnStream: createMessagesTurnStream,
  createTurnFold: createMessagesTurnFold,
  errorStatus: messagesErrorStatus,
  errorBody: toMessagesError,
  errorEvent: encodeMessagesErrorEvent,
}
