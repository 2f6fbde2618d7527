import type { TurnAccepts, UpstreamDialect } from '../../dialect.ts'
import { createChatDecoder } from './decode-stream.ts'
import { encodeChatTurn } from './encode-turn.ts'
import { recoverChat } from './learned-refusals.ts'
import { passChatRequest } from './pass-request.ts'
import { createChatFold, createChatStream } from './reply.ts'

const accepts: TurnAccepts = {
  customTools: false,
  webSearch: false,
  stop: false,
}

/** Upstreams of OpenAI Chat Completions. */
export const chatUpstream: UpstreamDialect = {
  id: 'chat',
  path: '/chat/completions',
  accepts: () => accepts,
  encodeTurn: encodeChatTurn,
  createDecoder: createChatDecoder,
  passRequest: passChatRequest,
  createStream: createChatStream,
  createFold: createChatFold,
  recover: recoverChat,
}
