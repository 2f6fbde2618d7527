import type { ConversationShape, DialectSettings, TurnAccepts, TwoSidedDialect, UpstreamDialect } from '../dialect.ts'
import { encodeComment } from '../../sse/encode.ts'
import { encodeChatErrorEvent } from './error.ts'
import { openAiErrorStatus, toOpenAiError } from '../engine/openai-error.ts'
import { chatNotes } from './reply-notes.ts'
import { chatBodyOf } from './wire.ts'
import { decodeChatRequest, mapMessages, recallChatReasoning } from './decode-request.ts'
import { decodeChatTurn } from './decode-turn.ts'
import { createChatTurnFold, createChatTurnStream } from './write-stream.ts'
import { createChatDecoder } from './read-stream/decode-stream.ts'
import { encodeChatTurn } from './encode-turn.ts'
import { recoverChat } from './rules/learned-refusals.ts'
import { passChatRequest } from './pass-request.ts'
import { createChatFold, createChatStream } from './read-stream/forward-stream.ts'

const accepts: TurnAccepts = {
  customTools: false,
  webSearch: false,
  stop: false,
}

const conversation: ConversationShape = {
  member: 'messages',
  textType: 'text',
  itemsOf: (request) => chatBodyOf(request).value.messages,
  mapItems: mapMessages,
}

const upstream: UpstreamDialect = {
  id: 'chat',
  path: '/chat/completions',
  accepts: () => accepts,
  encodeTurn: encodeChatTurn,
  createDecoder: createChatDecoder,
  conversation,
  passRequest: passChatRequest,
  createStream: createChatStream,
  createFold: createChatFold,
  recover: recoverChat,
}

const defaultSettings: DialectSettings = { chat: { historyWindow: 0, reasoningContent: 'auto' } }

/**
 * Clients that show the reasoning in `reasoning_content` and do not know `reasoning_text`: the AI SDK's provider for
 * compatible APIs, which opencode and Kilo Code use too, Cline and Roo Code (their user agents, 2026-11).
 */
const readsReasoningContent = /\bai-sdk\/openai-compatible\/|^(?:opencode|Cline|RooCode|Kilo-Code)\//

/** OpenAI Chat Completions. */
export const chatDialect: TwoSidedDialect = {
  id: 'chat',
  heartbeat: encodeComment('keepalive'),
  decodeRequest(text, { bytes = Buffer.from(text), headers = {}, settings: { chat } = defaultSettings } = {}) {
    const agent = String(headers['user-agent'] ?? '')
    return decodeChatRequest(text, bytes, headers, {
      historyWindow: chat.historyWindow,
      reasoningContent: chat.reasoningContent === 'always' || readsReasoningContent.test(agent),
    })
  },
  // With `chat.strict` the model gets exactly what the caller sent.
  recall: (request, { reasoning }, strict) => (strict ? request : recallChatReasoning(request, reasoning.recall)),
  decodeTurn: decodeChatTurn,
  replyNotes: (request) => chatNotes(chatBodyOf(request)),
  createTurnStream: createChatTurnStream,
  createTurnFold: createChatTurnFold,
  errorStatus: openAiErrorStatus,
  errorBody: toOpenAiError,
  errorEvent: encodeChatErrorEvent,
  upstream,
}
