import { lastResults } from './conversation.ts'
import { chatConversation, parseChatRequest } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import { refuseChat } from './checks.ts'
import { encodeClaude } from './habits/claude.ts'
import { encodeGemini25, encodeGemini3 } from './habits/gemini.ts'
import { encodeGpt4, encodeGpt5 } from './habits/gpt.ts'
import { encodeGrok } from './habits/grok.ts'
import type { Habit, HabitSeed } from './habits/habit.ts'
import { answerInference } from './inference.ts'
import type { InferenceCall, InferenceRoute, InferenceSubject } from './inference.ts'
import type { HabitId } from './catalogue.ts'
import type { Outcome } from './outcome.ts'
import { wholeReply } from './whole-reply.ts'

const HABITS: Readonly<Record<HabitId, Habit>> = {
  'gpt-4': encodeGpt4,
  'gpt-5': encodeGpt5,
  claude: encodeClaude,
  'gemini-2.5': encodeGemini25,
  'gemini-3': encodeGemini3,
  grok: encodeGrok,
  // No capture of this family is at hand either.
  kimi: encodeGrok,
}

const CHAT: InferenceRoute<ChatRequest> = {
  path: '/chat/completions',
  done: 'data: [DONE]\n\n',
  parse: ({ bodyText }) => parseChatRequest(bodyText),
  modelId: (request) => request.model,
  isStream: (request) => request.stream === true,
  conversation: chatConversation,
  refuse: ({ call: { hasVisionHeader }, request, conversation, model }) =>
    refuseChat({ request, conversation, model, hasVisionHeader }),
  encode: (answer, subject) => HABITS[subject.model.habit](answer, seedOf(subject)),
  whole: (answer, subject, headers) => wholeReply(answer, seedOf(subject), subject.model, headers),
}

/** `POST /chat/completions` (docs/copilot-wire.md, "Chat stream"). */
export function answerChat(call: InferenceCall): Outcome {
  return answerInference(CHAT, call)
}

function seedOf({ call: { number, nowMs }, model, conversation }: InferenceSubject<ChatRequest>): HabitSeed {
  return {
    number,
    createdSeconds: Math.floor(nowMs / 1000),
    model: model.id,
    promptTokens: conversation.promptTokens,
    prices: model.prices,
    isAfterTool: lastResults(conversation).length > 0,
  }
}
