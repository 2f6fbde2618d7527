import type { Answer } from '../../answer/answer.ts'
import { frameTemplate, midStreamError, outputTokens, readable } from '../../answer/frames.ts'
import type { ChatProfile, ReplySeed } from './profile.ts'

/**
 * Grok: plain chunks with `data:` without a space, thinking without a signature, and whole arguments in one delta, ''
 * for none (docs/copilot-wire.md, quirks 7, 15). This is a guess: no stream of this family has been captured.
 */
export const encodeGrok: ChatProfile = (answer, seed) => {
  const base = {
    id: `demo-grok-${seed.number}`,
    object: 'chat.completion.chunk',
    created: seed.createdSeconds,
    model: seed.model,
    system_fingerprint: 'fp_demo',
  }
  const chunk = (delta: Record<string, unknown>): unknown => ({ ...base, choices: [{ index: 0, delta }] })
  return {
    content: [
      tightFrame(chunk({ role: 'assistant', content: '' })),
      ...readable(answer).map(frameTemplate((text) => chunk({ reasoning_text: text }), tightFrame)),
      ...answer.text.map(frameTemplate((content) => chunk({ content }), tightFrame)),
      ...answer.calls.map((call, index) =>
        tightFrame(
          chunk({
            tool_calls: [
              {
                index,
                id: call.id,
                type: 'function',
                function: { name: call.name, arguments: call.arguments === '{}' ? '' : call.arguments },
              },
            ],
          }),
        ),
      ),
    ],
    closing: [
      tightFrame({ ...base, choices: [{ index: 0, delta: {}, finish_reason: answer.finish }] }),
      tightFrame({ ...base, choices: [], usage: usage(answer, seed) }),
    ],
    error: (failure) => tightFrame(midStreamError(failure)),
  }
}

function tightFrame(value: unknown): string {
  return `data:${JSON.stringify(value)}\n\n`
}

function usage(answer: Answer, { promptTokens }: ReplySeed): unknown {
  const completion = outputTokens(answer) + answer.reasoning.length
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completion,
    total_tokens: promptTokens + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: answer.reasoning.length },
  }
}
