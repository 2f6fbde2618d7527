import type { TurnAccepts, UpstreamDialect } from '../../dialect.ts'
import { createMessagesDecoder } from './decode-stream.ts'
import { encodeMessagesTurn } from './encode-turn.ts'
import { recoverMessages } from './learned-refusals.ts'
import { passMessagesRequest } from './pass-request.ts'
import { createMessagesFold, createMessagesStream } from './reply.ts'

const accepts: TurnAccepts = {
  customTools: false,
  webSearch: false,
  stop: true,
}

/** Upstreams of Anthropic Messages. */
export const messagesUpstream: UpstreamDialect = {
  id: 'messages',
  path: '/v1/messages',
  accepts: () => accepts,
  encodeTurn: encodeMessagesTurn,
  createDecoder: createMessagesDecoder,
  passRequest: passMessagesRequest,
  createStream: createMessagesStream,
  createFold: createMessagesFold,
  recover: recoverMessages,
}
