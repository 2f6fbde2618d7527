import { isFilled } from '../../json/json.ts'
import { createFieldTable } from '../engine/fields.ts'
import { nameSet } from '../engine/learned-refusals.ts'

/** Source: Anthropic API reference, Messages, 2026-11. */
export const messagesFields = createFieldTable({
  fields: [
    { member: 'max_tokens', turn: 'maxOutputTokens' },
    { member: 'temperature', turn: 'temperature' },
    { member: 'top_p', turn: 'topP' },
    { member: 'top_k', turn: 'topK' },
    { member: 'stop_sequences', turn: 'stop', from: decodeStop },
  ],
  read: [],
  composed: [
    { member: 'thinking.budget_tokens', turn: 'reasoning' },
    { member: 'thinking', turn: 'reasoning' },
    { member: 'output_config.effort', turn: 'effort' },
    { member: 'output_format', turn: 'format' },
    { member: 'output_config.format', turn: 'format' },
    { member: 'tool_choice', turn: 'toolChoice' },
    { member: 'tool_choice.disable_parallel_tool_use', turn: 'parallelToolCalls' },
  ],
  known: nameSet(
    'model messages system stream tools context_management ' +
      // They mean nothing in other dialects: caching, the tiers of Anthropic, the identity of the user.
      'metadata cache_control service_tier ' +
      // The proxy makes this check (safeguards.ts).
      'safeguards',
  ),
  usual: new Map([['speed', ['standard']]]),
})

function decodeStop(sequences: unknown): readonly string[] {
  return Array.isArray(sequences) ? sequences.filter(isFilled) : []
}
