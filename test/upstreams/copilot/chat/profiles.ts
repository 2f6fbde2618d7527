import type { Answer } from '../../../../src/demo/answer.ts'
import type { CatalogueRow, ProfileId } from '../../../../src/demo/catalogue.ts'
import type { ChatRequest } from '../../../../src/demo/chat/request.ts'
import { lastResults } from '../../../../src/demo/conversation.ts'
import type { Frames } from '../../../../src/demo/frames.ts'
import type { InferenceSubject } from '../../../../src/demo/inference.ts'
import { encodeClaude } from './claude.ts'
import { encodeGemini25, encodeGemini3 } from './gemini.ts'
import { encodeGpt4, encodeGpt5 } from './gpt.ts'
import { encodeGrok } from './grok.ts'

/** What encoding needs besides the answer. */
export interface ReplySeed {
  /** Number of the reply. Ids contain it. */
  readonly number: number
  readonly createdSeconds: number
  readonly model: string
  readonly promptTokens: number
  readonly row: CatalogueRow
  /** The request ended with a tool result. */
  readonly isAfterTool: boolean
}

/** Encodes an answer as the event stream of one model family, with its quirks. */
export type ChatProfile = (answer: Answer, seed: ReplySeed) => Frames

const PROFILES: Readonly<Record<ProfileId, ChatProfile>> = {
  'gpt-4': encodeGpt4,
  'gpt-5': encodeGpt5,
  claude: encodeClaude,
  'gemini-2.5': encodeGemini25,
  'gemini-3': encodeGemini3,
  grok: encodeGrok,
  // A guess: no stream of this family has been captured.
  kimi: encodeGrok,
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
