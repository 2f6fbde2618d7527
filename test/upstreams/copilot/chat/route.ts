import { lacksReplay } from '../../answer/conversation.ts'
import { answerInference } from '../../inference.ts'
import type { Checks, InferenceCall, InferenceRoute } from '../../inference.ts'
import type { Outcome } from '../../http/outcome.ts'
import { invalidBody } from '../failures.ts'
import { encodeInProfile } from './profiles.ts'
import { chatConversation, chatRequest } from './request.ts'
import type { ChatRequest } from './request.ts'

/**
 * Families whose answers on this route carry `reasoning_opaque`. Other families send nothing that could be replayed.
 */
const SIGNING_PROFILES: ReadonlySet<string> = new Set(['claude', 'gemini-2.5', 'gemini-3'])

const CHAT: InferenceRoute<ChatRequest> = {
  path: '/chat/completions',
  done: 'data: [DONE]\n\n',
  schema: chatRequest,
  conversation: chatConversation,
  refuse: ({ conversation, model }) =>
    SIGNING_PROFILES.has(model.profile) && lacksReplay(conversation)
      ? invalidBody('reasoning_opaque of an earlier answer is missing.')
      : undefined,
  encode: encodeInProfile,
}

/** `POST /chat/completions` (docs/copilot-wire.md, "Chat stream"). */
export function answerChat(call: InferenceCall, checks: Checks<ChatRequest>): Outcome {
  return answerInference(CHAT, call, checks)
}
