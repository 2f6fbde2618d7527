import { encodeComment } from '../../../sse/encode.ts'
import type { CallerDialect } from '../../caller-dialect.ts'
import type { ConversationShape } from '../../dialect.ts'
import { replaceMember } from '../../../json/json-members.ts'
import { chatErrorStatus, encodeChatErrorEvent, toChatError } from '../error.ts'
import { ChatBody, chatBodyOf } from '../wire.ts'
import { decodeChatRequest, recallChatReasoning } from './decode-request.ts'
import { decodeChatTurn } from './decode-turn.ts'
import { createChatTurnFold, createChatTurnStream } from './encode-stream.ts'

const conversation: ConversationShape = {
  member: 'messages',
  textType: 'text',
  itemsOf: (request) => chatBodyOf(request).value.messages,
  mapItems(request, map) {
    const body = chatBodyOf(request)
    const messages = body.value.messages.map((message) => map(message))
    const { bytes, members } = replaceMember(body, 'messages', messages)
    return { ...request, body: new ChatBody(bytes, { ...body.value, messages }, members, body.historyWindow) }
  },
}

/**
 * Callers of OpenAI Chat Completions.
 * @param historyWindow `chat.history-window`, read for each request. Default: 0, which keeps every turn.
 */
export function createChatCaller(historyWindow = () => 0): CallerDialect {
  return {
    id: 'chat',
    heartbeat: encodeComment('keepalive'),
    conversation,
    decodeRequest: (text, bytes, headers) => decodeChatRequest(text, bytes, headers, historyWindow()),
    // With `chat.strict` the model gets exactly what the caller sent.
    recall: (request, { reasoning }, strict) => (strict ? request : recallChatReasoning(request, reasoning.recall)),
    decodeTurn: decodeChatTurn,
    createTurnStream: createChatTurnStream,
    createTurnFold: createChatTurnFold,
    errorStatus: chatErrorStatus,
    errorBody: toChatError,
    errorEvent: encodeChatErrorEvent,
  }
}
