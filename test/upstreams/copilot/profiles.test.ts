import { expect, test } from 'vitest'
import { delayOf } from '../inference.ts'
import { parseMarkers } from '../answer/markers.ts'
import { chunksOf, contentOf, finishesOf } from './test-client.ts'
import type { CallDelta } from './test-client.ts'
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

test.for(FAMILIES)('%s answers with its name and what the user said', (model) => {
  const text = contentOf(streamOf({ model, ...say('Grüße 👋🏽, «Welt»\n\nzwei') }))
  expect(text).toBe(`Hello from ${model}, simulated by copilot-proxy --demo. You said: Grüße 👋🏽, «Welt»\n\nzwei`)
})

/** Calls put together by id, as a client does it: a delta without id belongs to the last call. */
function callsOf(stream: string): { name: string; arguments: string }[] {
  const deltas = chunksOf(stream).flatMap((chunk) =>
    chunk.choices.flatMap((choice): readonly CallDelta[] => choice.delta?.tool_calls ?? []),
  )
  const calls: { name: string; arguments: string }[] = []
  for (const { id, function: fragment } of deltas) {
    if (id !== undefined) calls.push({ name: fragment.name ?? '', arguments: '' })
    const last = calls.at(-1)
    if (last !== undefined) last.arguments += fragment.arguments
  }
  return calls
}

test.for(FAMILIES)('%s calls both tools with arguments that fit their schemas', (model) => {
  const [first, second, ...more] = callsOf(streamOf({ model, ...say('[demo:tools]') }))
  expect(first).toEqual({ name: 'read_file', arguments: '{"filePath":"example filePath"}' })
  expect(second?.name).toBe('list_all')
  expect(['{}', '']).toContain(second?.arguments)
  expect(more).toEqual([])
})

test.for(FAMILIES)('%s answers in text with the result of a tool', (model) => {
  const stream = streamOf({ model, ...AFTER_TOOL })
  expect(contentOf(stream)).toBe('The tool answered: forty-two')
  expect(finishesOf(stream)).toEqual(model.startsWith('claude') ? [] : ['stop'])
})

test('finish reasons of a tool call differ by family', () => {
  const finishes = FAMILIES.map((model) => finishesOf(streamOf({ model, ...say('[demo:tool]') })))
  expect(finishes).toEqual([
    ['tool_calls'],
    ['tool_calls'],
    ['stop', 'tool_calls'],
    ['stop'],
    ['tool_calls'],
    ['tool_calls'],
  ])
})

test.for(['auto', 'none'])('with tools and tool_choice %s but no marker it answers in text', (choice) => {
  const stream = streamOf({ ...say('Hi'), tool_choice: choice })
  expect(callsOf(stream)).toEqual([])
  expect(finishesOf(stream)).toEqual(['stop'])
})

test('calls what tool_choice or the marker names, and the first tool when one is required', () => {
  const named = { type: 'function', function: { name: 'list_all' } }
  expect(callsOf(streamOf({ ...say('Hi'), tool_choice: named }))[0]?.name).toBe('list_all')
  expect(callsOf(streamOf({ ...say('Hi'), tool_choice: 'required' }))[0]?.name).toBe('read_file')
  expect(callsOf(streamOf(say('[demo:tool list_all]')))[0]?.name).toBe('list_all')
  expect(callsOf(streamOf({ ...say('[demo:tools]'), tools: tools.slice(0, 1) }))).toHaveLength(2)
  expect(contentOf(streamOf({ ...say('[demo:tool]'), tools: undefined }))).toContain('no tool to call')
})

test.for([
  ['[demo:length]', 'length'],
  ['[demo:filter]', 'content_filter'],
] as const)('%s stops in the middle', ([marker, finish]) => {
  const stream = streamOf(say(`${marker} [demo:long 10]`))
  expect(contentOf(stream).trim().split(' ')).toHaveLength(5)
  expect(finishesOf(stream)).toEqual([finish])
})

test('output is cut at the number of tokens asked for', () => {
  const stream = streamOf({ ...say('[demo:long 10]'), max_tokens: 3 })
  expect(contentOf(stream)).toBe('simulated words flow ')
  expect(finishesOf(stream)).toEqual(['length'])
})

test('[demo:long] has that many words', () => {
  expect(contentOf(streamOf(say('[demo:long 2000]'))).split(' ')).toHaveLength(2000)
})

test('[demo:echo] gives back the body byte for byte', () => {
  const body = { model: 'gpt-4.1', stream: true, ...say('[demo:echo] 👩‍👩‍👧 "quoted"\t') }
  expect(contentOf(streamOf(body))).toBe(JSON.stringify(body))
})

test('[demo:refusal] uses the refusal field on GPT and text elsewhere', () => {
  expect(streamOf(say('[demo:refusal]'))).toContain('"refusal":"I "')
  expect(contentOf(streamOf({ model: 'gpt-5', ...say('[demo:refusal]') }))).toBe('')
  expect(contentOf(streamOf({ model: 'gemini-2.5-pro', ...say('[demo:refusal]') }))).toContain('I cannot help')
})

test('[demo:whitespace] runs away in the arguments until the output limit', () => {
  const stream = streamOf(say('[demo:whitespace]'))
  expect(callsOf(stream)[0]?.arguments).toMatch(/^\{"text":[ \t\n\r]{4000}$/)
  expect(finishesOf(stream)).toEqual(['length'])
})

test('[demo:help] and an unknown marker list the markers', () => {
  expect(contentOf(streamOf(say('[demo:help]')))).toContain('[demo:long WORDS] answers with that number of words')
  expect(contentOf(streamOf(say('[demo:lnog 5]')))).toContain('I do not know [demo:lnog 5]')
})

test.each([
  ['[demo:help]', 0],
  ['[demo:lnog 5]', 0],
  ['[demo:help][demo:slow 5]', 5],
  ['Hi', 15],
])('%s waits %i ms before each event', (prompt, delayMs) => {
  expect(delayOf(parseMarkers(prompt), { eventDelayMs: 15, eventsPerWrite: 1 })).toBe(delayMs)
})

test('structured outputs get JSON that fits', () => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  const format = { type: 'json_schema', json_schema: { name: 'x', schema } }
  expect(contentOf(streamOf({ ...say('Hi'), response_format: format }))).toBe('{"ok":false}')
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

test('prepared events: as many as asked for, the same however they are joined', () => {
  const one = streamOf({ model: 'demo-bench', ...say('[demo:frames 10]') })
  const joined = streamOf({ model: 'demo-bench', ...say('[demo:frames 10 4]') })
  expect(contentOf(one)).toBe(' prepared'.repeat(10))
  expect(joined).toBe(one)
  expect(contentOf(streamOf({ model: 'demo-bench', ...say('Hi') }))).toBe(' prepared'.repeat(100))
})
