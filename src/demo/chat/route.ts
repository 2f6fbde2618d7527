import type { ProfileId } from '../catalogue.ts'
import { lacksReplay, lastResults } from '../conversation.ts'
import { invalidBody } from '../failures.ts'
import { answerInference } from '../inference.ts'
import type { Checks, InferenceCall, InferenceRoute, InferenceSubject } from '../inference.ts'
import type { Outcome } from '../outcome.ts'
import { encodeClaude } from './claude.ts'
import type { ChatProfile, ReplySeed } from '../frames.ts'
import { encodeGemini25, encodeGemini3 } from './gemini.ts'
import { encodeGpt4, encodeGpt5 } from './gpt.ts'
import { encodeGrok } from './grok.ts'
import { chatConversation, chatRequest } from './request.ts'
import type { ChatRequest } from './request.ts'

const PROFILES: Readonly<Record<ProfileId, ChatProfile>> = {
  'gpt-4': encodeGpt4,
  'gpt-5': encodeGpt5,
  claude: encodeClaude,
  'gemini-2.5': encodeGemini25,
  'gemini-3': encodeGemini3,
  grok: encodeGrok,
  // No capture of this family is at hand either.
  kimi: encodeGrok,
}

/** Families whose answers on this route carry `reasoning_opaque`; the others give nothing that could come back. */
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
  encode: (answer, subject) => PROFILES[subject.model.profile](answer, seedOf(subject)),
}

/** `POST /chat/completions` (docs/copilot-wire.md, "Chat stream"). */
export function answerChat(call: InferenceCall, checks?: Checks<ChatRequest>): Outcome {
  return answerInference(CHAT, call, checks)
}

function seedOf({ call: { number, nowMs }, model, conversation }: InferenceSubject<ChatRequest>): ReplySeed {
  return {
    number,
    createdSeconds: Math.floor(nowMs / 1000),
    model: model.id,
    promptTokens: conversation.promptTokens,
    prices: model.prices,
    isAfterTool: lastResults(conversation).length > 0,
  }
}
