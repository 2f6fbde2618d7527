import { createFieldTable, decodeStop, nameSet } from '../engine/fields.ts'

/** Source: Anthropic API reference, Messages, 2026-11. */
export const messagesFields = createFieldTable({
  fields: [
    { member: 'max_tokens', setting: 'maxOutputTokens' },
    { member: 'temperature', setting: 'temperature' },
    { member: 'top_p', setting: 'topP' },
    { member: 'top_k', setting: 'topK' },
    { member: 'stop_sequences', setting: 'stop', from: decodeStop },
  ],
  read: [],
  composed: [
    { member: 'thinking.budget_tokens', setting: 'reasoning' },
    { member: 'thinking', setting: 'reasoning' },
    { member: 'output_config.effort', setting: 'effort' },
    { member: 'output_format', setting: 'format' },
    { member: 'output_config.format', setting: 'format' },
    { member: 'tool_choice', setting: 'toolChoice' },
    { member: 'tool_choice.disable_parallel_tool_use', setting: 'parallelToolCalls' },
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
