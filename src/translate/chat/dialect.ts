import { encodeComment } from '../../sse/encode.ts'
import type { Dialect } from '../dialect.ts'
import { decodeChatRequest } from './decode-request.ts'
import { encodeChatErrorEvent, toChatError } from './error.ts'
import { passChatRequest } from './pass-request.ts'
import { createChatFold, createChatStream } from './reply.ts'

/** OpenAI Chat Completions. */
export const chatDialect: Dialect = {
  id: 'chat',
  upstreamPath: '/chat/completions',
  heartbeat: encodeComment('keepalive'),
  decodeRequest: decodeChatRequest,
  passRequest: passChatRequest,
  createStream: createChatStream,
  createFold: createChatFold,
  errorBody: toChatError,
  errorEvent: encodeChatErrorEvent,
}
