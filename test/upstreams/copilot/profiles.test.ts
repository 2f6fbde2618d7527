import { expect, test } from 'vitest'
import { contentOf, finishesOf } from './test-client.ts'
import { chat, textOf } from './test-calls.ts'

const FAMILIES = [
  'gpt-4.1',
  'gpt-5-mini',
  'claude-sonnet-4.5',
  'gemini-2.5-pro',
  'gemini-3-pro-preview',
  'grok-code-fast-1',
] as const

const tools = [
  {
    type: 'function',
    function: {
      name: 'read_file',
      parameters: { type: 'object', properties: { filePath: { type: 'string' } }, required: ['filePath'] },
    },
  },
  { type: 'function', function: { name: 'list_all', parameters: { type: 'object', properties: {} } } },
]

/** The whole stream as text. */
function streamOf(body: Record<string, unknown>): string {
  return textOf(chat(body))
}

function say(content: string): Record<string, unknown> {
  return { messages: [{ role: 'user', content }], tools }
}

/** A conversation that ends with a tool's result. */
const AFTER_TOOL = {
  messages: [
    { role: 'user', content: '[demo:tool]' },
    {
      role: 'assistant',
      content: null,
      reasoning_opaque: 'b3BhcXVl',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read_file', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'forty-two' },
  ],
  tools,
}

test.for(FAMILIES)('%s writes its streams in its own way', async (model) => {
  const cases = {
    text: say('Hi'),
    'parallel tools with reasoning': say('[demo:tools] [demo:reasoning]'),
    'after a tool': AFTER_TOOL,
    'error in the middle': say('[demo:error-mid]'),
  }
  const shown = Object.entries(cases).map(([title, body]) => `# ${title}\n${streamOf({ model, ...body })}`)
  await expect(shown.join('\n')).toMatchFileSnapshot(`../../golden/upstreams/${model}.txt`)
})

test('[demo:refusal] uses the refusal field on GPT and text elsewhere', () => {
  expect(streamOf(say('[demo:refusal]'))).toContain('"refusal":"I "')
  expect(contentOf(streamOf({ model: 'gpt-5', ...say('[demo:refusal]') }))).toBe('')
  expect(contentOf(streamOf({ model: 'gemini-2.5-pro', ...say('[demo:refusal]') }))).toContain('I cannot help')
})

test('[demo:filter] stops in the middle', () => {
  const stream = streamOf(say('[demo:filter] [demo:long 10]'))
  expect(contentOf(stream).trim().split(' ')).toHaveLength(5)
  expect(finishesOf(stream)).toEqual(['content_filter'])
})

test('[demo:help] and an unknown marker list the markers', () => {
  expect(contentOf(streamOf(say('[demo:help]')))).toContain('[demo:long WORDS] answers with that number of words')
  expect(contentOf(streamOf(say('[demo:lnog 5]')))).toContain('I do not know [demo:lnog 5]')
})

test('a JSON object without a schema is asked for', () => {
  expect(contentOf(streamOf({ ...say('Hi'), response_format: { type: 'json_object' } }))).toBe(
    '{"answer":"simulated by gpt-4.1"}',
  )
})

test('markers count in the last user message only', () => {
  const messages = [
    { role: 'user', content: '[demo:error 429]' },
    { role: 'assistant', content: 'Sorry' },
    { role: 'user', content: [{ type: 'text', text: 'Again' }] },
  ]
  expect(contentOf(streamOf({ messages }))).toMatch(/You said: Again$/)
})
