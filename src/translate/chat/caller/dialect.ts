import { encodeComment } from '../../../sse/encode.ts'
import type { CallerDialect, ConversationShape } from '../../dialect.ts'
import { chatErrorStatus, encodeChatErrorEvent, toChatError } from '../error.ts'
import { chatBodyOf } from '../wire.ts'
import { decodeChatRequest, mapMessages, recallChatReasoning } from './decode-request.ts'
import { decodeChatTurn } from './decode-turn.ts'
import { createChatTurnFold, createChatTurnStream } from './encode-stream.ts'

const defaultSettings: ChatSettings = { historyWindow: 0, reasoningContent: 'auto' }

const conversation: ConversationShape = {
  member: 'messages',
  textType: 'text',
  itemsOf: (request) => chatBodyOf(request).value.messages,
  mapItems: mapMessages,
}

/** The section `chat` of the configuration, as far as the dialect reads it. */
export interface ChatSettings {
  readonly historyWindow: number
  readonly reasoningContent: 'auto' | 'always'
}

/**
 * Clients that show the reasoning in `reasoning_content` and do not know `reasoning_text`: the AI SDK's provider for
 * compatible APIs, which opencode and Kilo Code use too, Cline and Roo Code (their user agents, 2026-11).
 */
const readsReasoningContent = /\bai-sdk\/openai-compatible\/|^(?:opencode|Cline|RooCode|Kilo-Code)\//

/**
 * Callers of OpenAI Chat Completions.
 * @param settings read for each request
 */
export function createChatCaller(settings: () => ChatSettings = () => defaultSettings): CallerDialect {
  return {
    id: 'chat',
    heartbeat: encodeComment('keepalive'),
    conversation,
    decodeRequest(text, bytes = Buffer.from(text), headers = {}) {
      const { historyWindow, reasoningContent } = settings()
      const agent = String(headers['user-agent'] ?? '')
      return decodeChatRequest(text, bytes, headers, {
        historyWindow,
        reasoningContent: reasoningContent === 'always' || readsReasoningContent.test(agent),
      })
    },
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
