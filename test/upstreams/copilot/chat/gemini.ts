import type { Answer } from '../../answer/answer.ts'
import { copilotUsage } from '../usage.ts'
import { frame, frameTemplate, midStreamError, opaque, outputTokens, readable } from '../../answer/frames.ts'
import type { Frames } from '../../answer/frames.ts'
import type { ChatProfile, ReplySeed } from './profile.ts'

/** Gemini 3 numbers its calls and signs the first one; the last call carries `finish_reason: "tool_calls"`. */
export const encodeGemini3: ChatProfile = (answer, seed) =>
  encodeGemini(answer, seed, {
    callIndex: (at) => at,
    callFinish: 'tool_calls',
    callOpaque: true,
  })

/** Gemini 2.5 gives every call the index 0, and finishes with `stop` even after calls. */
export const encodeGemini25: ChatProfile = (answer, seed) =>
  encodeGemini(answer, seed, { callIndex: () => 0, callFinish: 'stop', callOpaque: false })

interface Version {
  readonly callIndex: (at: number) => number
  readonly callFinish: string
  readonly callOpaque: boolean
}

/**
 * Gemini (docs/copilot-wire.md, "Chat stream"): no `object`, usage on every event and zero until the last, whole
 * arguments in one delta, the finish reason on the last delta, thoughts counted apart. A failure comes as bare JSON without `data:`.
 */
function encodeGemini(answer: Answer, seed: ReplySeed, version: Version): ReturnType<ChatProfile> {
  const base = { created: seed.createdSeconds, id: `demo-gemini-${seed.number}`, model: seed.model }
  const chunk = (delta: Record<string, unknown>): Record<string, unknown> => ({
    choices: [{ index: 0, delta: { content: null, role: 'assistant', ...delta } }],
    ...base,
    usage: NO_USAGE,
  })
  const last = (delta: Record<string, unknown>, finish: string): string =>
    frame({
      choices: [{ finish_reason: finish, index: 0, delta: { content: null, role: 'assistant', ...delta } }],
      ...base,
      ...usage(answer, seed),
    })
  const thoughts = readable(answer).map(frameTemplate((text) => chunk({ reasoning_text: text })))
  const texts = answer.text.slice(0, answer.calls.length > 0 ? undefined : -1)
  const content = [...thoughts, ...texts.map(frameTemplate((text) => chunk({ content: text })))]
  const isThinking = answer.reasoning.length > 0
  const signature = { reasoning_opaque: opaque(seed.number) }

  if (answer.calls.length === 0) {
    const lastDelta = { content: answer.text.at(-1) ?? '', ...(isThinking && signature) }
    return { content, closing: [last(lastDelta, answer.finish)], error: bareError }
  }
  const isSigned = version.callOpaque || isThinking
  const deltas = answer.calls.map((call, at) => ({
    tool_calls: [
      {
        index: version.callIndex(at),
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
      },
    ],
    ...(at === 0 && isSigned && signature),
  }))
  const finish = answer.finish === 'tool_calls' ? version.callFinish : answer.finish
  return {
    content: [...content, ...deltas.slice(0, -1).map((delta) => frame(chunk(delta)))],
    closing: deltas.slice(-1).map((delta) => last(delta, finish)),
    error: bareError,
  }
}

const bareError: Frames['error'] = (failure) => `${JSON.stringify(midStreamError(failure))}\n\n`

const NO_USAGE = {
  completion_tokens: 0,
  prompt_tokens: 0,
  prompt_tokens_details: { cached_tokens: 0 },
  total_tokens: 0,
  reasoning_tokens: 0,
}

/** `total` counts the thoughts, `completion` does not. */
function usage(answer: Answer, { promptTokens, row }: ReplySeed) {
  const completion = outputTokens(answer)
  const reasoning = answer.reasoning.length
  return {
    usage: {
      ...NO_USAGE,
      completion_tokens: completion,
      prompt_tokens: promptTokens,
      total_tokens: promptTokens + completion + reasoning,
      reasoning_tokens: reasoning,
    },
    ...copilotUsage(row, { input: promptTokens, output: completion + reasoning }),
  }
}
