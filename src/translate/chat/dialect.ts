import { encodeComment } from '../../sse/encode.ts'
import type { ConversationShape, Dialect, TurnAccepts } from '../dialect.ts'
import { replaceMember } from '../parts/json-members.ts'
import { decodeChatRequest } from './decode-request.ts'
import { createChatDecoder } from './decode-stream.ts'
import { decodeChatTurn } from './decode-turn.ts'
import { createChatTurnFold, createChatTurnStream } from './encode-stream.ts'
import { encodeChatTurn } from './encode-turn.ts'
import { chatErrorStatus, encodeChatErrorEvent, toChatError } from './error.ts'
import { passChatRequest } from './pass-request.ts'
import { recallChatReasoning } from './recall-reasoning.ts'
import { recoverChat } from './recover.ts'
import { createChatFold, createChatStream } from './reply.ts'
import { LONGEST_TOOL_NAME } from './tool-names.ts'
import { ChatBody, chatBodyOf } from './wire-request.ts'

const accepts: TurnAccepts = {
  toolName: LONGEST_TOOL_NAME,
  callId: 64,
  customTools: false,
  webSearch: false,
  stop: false,
}

const conversation: ConversationShape = {
  member: 'messages',
  textType: 'text',
  itemsOf: (request) => chatBodyOf(request).value.messages,
  mapItems(request, map) {
    const body = chatBodyOf(request)
    const messages = body.value.messages.map((message) => map(message))
    const { bytes, members } = replaceMember(body, 'messages', messages)
    return { ...request, body: new ChatBody(bytes, { ...body.value, messages }, members) }
  },
}

/** OpenAI Chat Completions. */
export const chatDialect: Dialect = {
  id: 'chat',
  upstreamPath: '/chat/completions',
  heartbeat: encodeComment('keepalive'),
  conversation,
  decodeRequest: decodeChatRequest,
  recallReasoning: recallChatReasoning,
  decodeTurn: decodeChatTurn,
  passRequest: passChatRequest,
  createStream: createChatStream,
  createFold: createChatFold,
  accepts: () => accepts,
  encodeTurn: encodeChatTurn,
  createDecoder: createChatDecoder,
  createTurnStream: createChatTurnStream,
  createTurnFold: createChatTurnFold,
  recover: recoverChat,
  errorStatus: chatErrorStatus,
  errorBody: toChatError,
  errorEvent: encodeChatErrorEvent,
}
