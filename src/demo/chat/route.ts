import type { Answer } from '../answer/answer.ts'
import { lacksReplay } from '../answer/conversation.ts'
import { invalidBody } from '../failures.ts'
import { frame, fragments, frameTemplate, midStreamError, opaque, outputTokens, readable } from '../answer/frames.ts'
import type { Frames } from '../answer/frames.ts'
import { answerInference } from '../inference.ts'
import type { Checks, InferenceCall, InferenceRoute, InferenceSubject } from '../inference.ts'
import type { Outcome } from '../outcome.ts'
import { copilotUsage } from '../usage.ts'
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
  encode: encodeChat,
}

/** `POST /chat/completions` (docs/copilot-wire.md, "Chat stream"). */
export function answerChat(call: InferenceCall, checks?: Checks<ChatRequest>): Outcome {
  return answerInference(CHAT, call, checks)
}

/** Encodes conforming chunks, without the quirks of the families. The proxy would normalise the quirks anyway. */
function encodeChat(answer: Answer, subject: InferenceSubject<ChatRequest>): Frames {
  const { call, model } = subject
  const base = {
    id: `chatcmpl-demo-${call.number}`,
    object: 'chat.completion.chunk',
    created: Math.floor(call.nowMs / 1000),
    model: model.id,
  }
  const chunk = (delta: Readonly<Record<string, unknown>>, finish: string | null = null): unknown => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const isSigned = answer.reasoning.length > 0 && SIGNING_PROFILES.has(model.profile)
  const calls = answer.calls.flatMap(({ id, name, arguments: text }, index) => {
    const more = frameTemplate((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] }))
    return [
      frame(chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })),
      ...fragments(text).map(more),
    ]
  })
  return {
    content: [
      frame(chunk({ role: 'assistant', content: '' })),
      ...readable(answer).map(frameTemplate((text) => chunk({ reasoning_text: text }))),
      ...answer.text.map(frameTemplate((text) => chunk({ content: text }))),
      ...answer.refusal.map(frameTemplate((text) => chunk({ refusal: text }))),
      ...calls,
    ],
    closing: [
      frame(chunk(isSigned ? { reasoning_opaque: opaque(call.number) } : {}, answer.finish)),
      frame({ ...base, choices: [], ...usageOf(answer, subject) }),
    ],
    error: (failure) => frame(midStreamError(failure)),
  }
}

function usageOf(answer: Answer, { model, conversation: { promptTokens } }: InferenceSubject<ChatRequest>) {
  const completion = outputTokens(answer) + answer.reasoning.length
  return {
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completion,
      total_tokens: promptTokens + completion,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: answer.reasoning.length },
    },
    ...copilotUsage(model.row, { input: promptTokens, output: completion }),
  }
}
