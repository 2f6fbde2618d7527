import type { Answer } from '../../answer/answer.ts'
import { copilotUsage } from '../usage.ts'
import { frame, fragments, frameTemplate, midStreamError, opaque, outputTokens, readable } from '../../answer/frames.ts'
import type { ChatProfile, ReplySeed } from './profile.ts'

/**
 * Claude over chat (docs/copilot-wire.md, quirks 2, 3, 5–8, 11, 13): no `object`, `created` or `choice.index`, the
 * role on every delta, text and calls in two choices, a second call without `index`, `name: ""` on fragments,
 * `reasoning_text` with one `reasoning_opaque` at the end, usage on the finish event, which has no reason after a tool
 * result. A comment line comes first.
 */
export const encodeClaude: ChatProfile = (answer, seed) => {
  const base = { id: `msg_vrtx_demo_${seed.number}`, model: seed.model }
  const chunk = (delta: Record<string, unknown>): unknown => ({
    choices: [{ delta: { ...delta, role: 'assistant' } }],
    ...base,
  })
  const content = [
    ...readable(answer).map(frameTemplate((text) => chunk({ content: '', reasoning_text: text }))),
    ...answer.text.map(frameTemplate((text) => chunk({ content: text }))),
    ...callFrames(answer, base),
  ]
  return {
    content: content.map((text, at) => (at === 0 ? `: simulated Claude\n${text}` : text)),
    closing: [
      ...(answer.reasoning.length > 0 ? [frame(chunk({ content: '', reasoning_opaque: opaque(seed.number) }))] : []),
      frame({ choices: finishChoices(answer, seed), ...base, ...usage(answer, seed) }),
    ],
    error: (failure) => frame(midStreamError(failure)),
  }
}

/** Calls are in a second choice. Only the first fragment of a call identifies it. */
function callFrames({ calls }: Answer, base: object): readonly string[] {
  const chunk = (toolCall: Record<string, unknown>): unknown => ({
    choices: [{ index: 1, delta: { content: null, role: 'assistant', tool_calls: [toolCall] } }],
    ...base,
  })
  return calls.flatMap((call, at) => {
    const position = at === 0 ? { index: 0 } : {}
    const more = frameTemplate((text) => chunk({ ...position, function: { name: '', arguments: text } }))
    return [
      frame(chunk({ ...position, id: call.id, type: 'function', function: { name: call.name, arguments: '' } })),
      ...fragments(call.arguments).map(more),
    ]
  })
}

function finishChoices({ calls, finish }: Answer, { isAfterTool }: ReplySeed): readonly unknown[] {
  const delta = { content: '', role: 'assistant' }
  if (isAfterTool) return [{ delta }]
  if (calls.length === 0) return [{ delta, finish_reason: finish }]
  return [
    { delta, finish_reason: 'stop' },
    { index: 1, delta: {}, finish_reason: finish },
  ]
}

function usage(answer: Answer, { promptTokens, row }: ReplySeed) {
  const completion = outputTokens(answer) + answer.reasoning.length
  return {
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completion,
      total_tokens: promptTokens + completion,
      prompt_tokens_details: { cached_tokens: 0 },
    },
    ...copilotUsage(row, { input: promptTokens, output: completion }),
  }
}
