import { expect, test } from 'vitest'
import { dialects } from '../../src/translate/dialects.ts'
import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { formatWarning } from '../../src/translate/warning.ts'
import { pass } from './chat/request-helpers.ts'
import { encodeContext, traits } from './turns.ts'

// Warnings name the elements of the caller's request, also after a rule has moved, added or dropped others.

const png = 'iVBORw0KGgo='
const user = (content: unknown) => ({ role: 'user', content })
const chatImage = { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${png}` } }
const image = { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: png } }
const chatCall = {
  role: 'assistant',
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
}

test.each<[string, UpstreamDialectId, string, Record<string, unknown>, readonly string[]]>([
  [
    'an orphan that is dropped before it',
    'chat',
    'claude-sonnet-4.5',
    { messages: [user('x'), { role: 'tool', tool_call_id: 'o', content: 'r' }, user([chatImage])] },
    ['tool_result_orphan_dropped;o', 'adapted;messages.2.content'],
  ],
  [
    'a result that is added before it',
    'chat',
    'claude-sonnet-4.5',
    { messages: [user('x'), chatCall, user([chatImage])] },
    ['tool_result_synthesised;c', 'adapted;messages.1', 'adapted;messages.2.content'],
  ],
  [
    'an empty message that is dropped before it',
    'messages',
    'claude-sonnet-4.5',
    { max_tokens: 9, messages: [user(' '), user('x'), { role: 'assistant', content: 'begun ' }] },
    ['adapted;messages.0', 'dropped;messages.2'],
  ],
  [
    'system messages that move before it',
    'messages',
    'claude-sonnet-4.5',
    { max_tokens: 9, messages: [{ role: 'system', content: 's' }, user('x'), user([image])] },
    ['adapted;messages.0', 'adapted;messages.2'],
  ],
  [
    'reasoning that is dropped before it',
    'responses',
    'gpt-5.3-codex',
    {
      input: [
        { type: 'reasoning', summary: [] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        user([{ type: 'input_image', image_url: 'https://e.x/a.png', detail: 'auto' }]),
      ],
    },
    ['tool_result_synthesised;c', 'adapted;input.2'],
  ],
  [
    'a tool that is dropped before it',
    'responses',
    'gpt-5.3-codex',
    { input: 'x', tools: [{ type: 'image_generation' }, { type: 'function', name: 'f' }] },
    ['dropped;tools.0', 'adapted;tools.1.parameters'],
  ],
])('%s: %s', (_, dialect, model, body, warnings) => {
  const request = dialects[dialect].decodeRequest(JSON.stringify({ model: 'm', ...body }))
  const passed = dialects[dialect].upstream.passRequest(request, encodeContext(traits(model)))
  expect(passed?.warnings.map(formatWarning)).toEqual(warnings)
})

test('what the window of the history leaves out still counts', () => {
  const messages = [user('1'), { role: 'assistant', content: 'a' }, user([chatImage])]
  const { warnings } = pass({ model: 'm', messages }, { model: traits('claude-sonnet-4.5'), historyWindow: 1 })
  expect(warnings.map((text) => text.replace(/:.*/, ''))).toEqual([
    'history_cut;messages',
    'adapted;messages.2.content',
  ])
})
