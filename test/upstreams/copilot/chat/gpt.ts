import type { Answer } from '../../answer/answer.ts'
import { copilotUsage } from '../usage.ts'
import { frame, fragments, frameTemplate, midStreamError, outputTokens, readable } from '../../answer/frames.ts'
import type { ChatProfile, ReplySeed } from './profile.ts'

const SAFE = {
  hate: { filtered: false, severity: 'safe' },
  self_harm: { filtered: false, severity: 'safe' },
  sexual: { filtered: false, severity: 'safe' },
  violence: { filtered: false, severity: 'safe' },
}
const FILTERED = { ...SAFE, violence: { filtered: true, severity: 'high' } }

/**
 * GPT on Azure (docs/copilot-wire.md, "Chat stream"): a first event without choices, id or model; `role: null` and
 * filter results on every delta; a role event without `object` and `model`; usage in a last event without choices.
 */
export const encodeGpt4: ChatProfile = (answer, seed) => {
  const base = {
    created: seed.createdSeconds,
    id: idOf(seed),
    model: `${seed.model}-demo`,
    system_fingerprint: 'fp_demo',
  }
  const opening = frame({
    choices: [
      {
        index: 0,
        content_filter_offsets: { check_offset: 12, start_offset: 12, end_offset: 24 },
        content_filter_results: SAFE,
        delta: { content: '', role: 'assistant' },
      },
    ],
    created: base.created,
    id: base.id,
  })
  const delta = (fields: Record<string, unknown>): Record<string, unknown> => ({
    choices: [{ index: 0, content_filter_results: SAFE, delta: { ...fields, role: null } }],
    ...base,
  })
  const text = frameTemplate((content) => delta({ content }))
  const refusal = frameTemplate((refused) => delta({ content: null, refusal: refused }))
  return {
    content: [
      promptFilter(),
      opening,
      ...answer.text.map(text),
      ...answer.refusal.map(refusal),
      ...callFrames(answer, base),
    ],
    closing: [
      frame({
        choices: [{ index: 0, finish_reason: answer.finish, ...filterFields(answer), delta: { content: null } }],
        ...base,
      }),
      ...thought(answer, seed, base),
      usageFrame(answer, seed, base),
    ],
    error: (failure) => frame(midStreamError(failure)),
  }
}

/**
 * Newer GPT: complete chunks with `obfuscation`, `refusal: null` and `usage: null`; the thinking comes as
 * `cot_summary` after the finish event (docs/copilot-wire.md, quirks 10, 11).
 */
export const encodeGpt5: ChatProfile = (answer, seed) => {
  const base = {
    created: seed.createdSeconds,
    id: idOf(seed),
    model: `${seed.model}-demo`,
    object: 'chat.completion.chunk',
    service_tier: 'default',
    system_fingerprint: null,
    usage: null,
  }
  const chunk = (delta: Record<string, unknown>, finish: string | null = null): Record<string, unknown> => ({
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
    ...base,
  })
  const text = frameTemplate((content) => ({ ...chunk({ content }), obfuscation: 'k3V' }))
  const refusal = frameTemplate((refused) => chunk({ refusal: refused }))
  return {
    content: [
      promptFilter(),
      frame(chunk({ content: '', refusal: null, role: 'assistant' })),
      ...answer.text.map(text),
      ...answer.refusal.map(refusal),
      ...callFrames(answer, base),
    ],
    closing: [
      frame({ ...chunk({}, answer.finish), ...filterFields(answer) }),
      ...thought(answer, seed, base),
      usageFrame(answer, seed, base),
    ],
    error: (failure) => frame(midStreamError(failure)),
  }
}

type Base = Readonly<Record<string, unknown>>

function idOf({ number }: ReplySeed): string {
  return `chatcmpl-demo-${number}`
}

function promptFilter(): string {
  return frame({
    choices: [],
    created: 0,
    id: '',
    model: '',
    object: '',
    prompt_filter_results: [{ prompt_index: 0, content_filter_results: SAFE }],
  })
}

/** Announces each call with empty arguments, then streams the arguments by index. */
function callFrames({ calls }: Answer, base: Base): readonly string[] {
  const chunk = (delta: unknown): unknown => ({
    choices: [{ index: 0, delta, finish_reason: null, content_filter_results: {} }],
    ...base,
  })
  return calls.flatMap((call, index) => {
    const announced = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }
    const more = frameTemplate((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] }))
    return [
      frame(chunk({ content: null, refusal: null, role: 'assistant', tool_calls: [announced] })),
      ...fragments(call.arguments).map(more),
    ]
  })
}

function filterFields({ finish }: Answer): Record<string, unknown> {
  return finish === 'content_filter' ? { content_filter_results: FILTERED } : {}
}

function thought(answer: Answer, { number }: ReplySeed, base: Base): readonly string[] {
  const reasoning = readable(answer)
  if (reasoning.length === 0) return []
  const delta = { cot_id: `cot_demo_${number}`, cot_summary: reasoning.join('') }
  return [frame({ choices: [{ index: 0, delta, finish_reason: null }], ...base })]
}

function usageFrame(answer: Answer, { promptTokens, row }: ReplySeed, base: Base): string {
  const completion = outputTokens(answer) + answer.reasoning.length
  return frame({
    ...base,
    choices: [],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completion,
      total_tokens: promptTokens + completion,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: answer.reasoning.length,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    ...copilotUsage(row, { input: promptTokens, output: completion }),
  })
}
