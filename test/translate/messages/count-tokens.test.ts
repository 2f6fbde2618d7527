import { expect, test } from 'vitest'
import { textsOfMessages } from '../../../src/translate/messages/count-tokens.ts'
import { decode, fixture } from './caller-helpers.ts'

const text = (words: string) => ({ type: 'text', text: words })
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'BASE64' } }

test('gathers everything the model reads', () => {
  const request = decode({
    system: [text('system')],
    tools: [{ name: 'f', description: 'd', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: 'prompt' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'thought', signature: 'CIPHER' },
          { type: 'redacted_thinking', data: 'CIPHER' },
          { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
          { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 's',
            content: [{ type: 'web_search_result', encrypted_content: 'CIPHER' }],
          },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 't',
            content: [text('result'), picture, { type: 'tool_reference', tool_name: 'g' }],
          },
          { type: 'tool_result', tool_use_id: 't', content: 'plain' },
          { type: 'tool_result', tool_use_id: 't' },
          { type: 'document', title: 'title', context: 'context', source: { type: 'text', data: 'note' } },
          { type: 'document', source: { type: 'content', content: [text('inner'), picture] } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'BASE64' } },
          { type: 'search_result', title: 'hit', source: 'https://e.x', content: [text('found')] },
          { type: 'compaction', content: 'summary' },
        ],
      },
    ],
  })
  const { texts, images } = textsOfMessages(request)
  expect(images).toBe(3)
  expect(texts).toEqual([
    'system',
    '{"name":"f","description":"d","input_schema":{"type":"object"}}',
    'prompt',
    'thought',
    'f',
    '{"a":1}',
    'web_search',
    '{"query":"q"}',
    'result',
    'g',
    'plain',
    'title',
    'context',
    'note',
    'inner',
    'hit',
    'https://e.x',
    'found',
    'summary',
  ])
})

test('finds most of a real request to be text', () => {
  const body = fixture('messages-requests/claude-code-tools.json')
  const { texts, images } = textsOfMessages(decode(JSON.parse(body) as object))
  expect(images).toBe(0)
  expect(texts.join('').length).toBeGreaterThan(body.length * 0.6)
})
