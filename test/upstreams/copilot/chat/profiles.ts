import type { Answer } from '../../answer/answer.ts'
import type { ProfileId } from '../catalogue.ts'
import type { ChatRequest } from './request.ts'
import { lastResults } from '../../answer/conversation.ts'
import type { Frames } from '../../answer/frames.ts'
import type { InferenceSubject } from '../../inference.ts'
import { encodeClaude } from './claude.ts'
import { encodeGemini25, encodeGemini3 } from './gemini.ts'
import { encodeGpt4, encodeGpt5 } from './gpt.ts'
import { encodeGrok } from './grok.ts'
import type { ChatProfile } from './profile.ts'

const PROFILES: Readonly<Record<ProfileId, ChatProfile>> = {
  'gpt-4': encodeGpt4,
  'gpt-5': encodeGpt5,
  claude: encodeClaude,
  'gemini-2.5': encodeGemini25,
  'gemini-3': encodeGemini3,
  grok: encodeGrok,
  // Guesses: no stream of these families has been captured.
  kimi: encodeGrok,
  mai: encodeGrok,
}

/** Encodes an answer like the model's family. */
export function encodeInProfile(answer: Answer, subject: InferenceSubject<ChatRequest>): Frames {
  const { call, model, conversation } = subject
  return PROFILES[model.profile](answer, {
    number: call.number,
    createdSeconds: Math.floor(call.nowMs / 1000),
    model: model.id,
    promptTokens: conversation.promptTokens,
    row: model.row,
    isAfterTool: lastResults(conversation).length > 0,
  })
}
