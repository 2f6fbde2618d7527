import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { chat, count, messages, responses } from './test-calls.ts'

/** Words that requests are made of, so that made-up bodies get past the first check. */
const WORDS = `type role content text id name input arguments call_id output summary encrypted_content tools parameters
  input_schema thinking signature data source tool_use_id user assistant system tool message reasoning function custom
  namespace compaction function_call function_call_output tool_use tool_result image document object input_text
  output_text auto any ephemeral cache_control base64 Hi [demo:tool] __proto__`.split(/\s+/)

const word = fc.constantFrom(...WORDS)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    word,
    fc.constantFrom<unknown>(null, true, 0, -1, ''),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(word, tie('value'), { maxKeys: 6 }),
  ),
}))

const MEMBERS = `messages input system tools tool_choice thinking output_config reasoning include text stream max_tokens
  stop stop_sequences response_format instructions max_output_tokens metadata`.split(/\s+/)

test.each([
  ['chat', chat],
  ['responses', responses],
  ['messages', messages],
  ['count_tokens', count],
] as const)('%s answers or refuses any body, and never fails itself', (_, ask) => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...MEMBERS), value, { maxKeys: 3 }), (body) => {
      const outcome = ask(body, { betas: ['advanced-tool-use-2025-11-20'], hasVisionHeader: true })
      expect(['stream', 'whole']).toContain(outcome.kind)
      if (outcome.kind === 'whole') expect([200, 400, 401]).toContain(outcome.status)
    }),
    { numRuns: 500 },
  )
})

test.each([
  ['responses', responses, 'input'],
  ['messages', messages, 'messages'],
  ['count_tokens', count, 'messages'],
] as const)('%s answers or refuses any conversation', (_, ask, member) => {
  const entry = fc.dictionary(word, value, { maxKeys: 6 })
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), fc.constantFrom('user', 'assistant'), (list, role) => {
      const outcome = ask({ [member]: list.map((each) => ({ role, content: 'Hi', ...each })) })
      expect(['stream', 'whole']).toContain(outcome.kind)
    }),
    { numRuns: 500 },
  )
})
