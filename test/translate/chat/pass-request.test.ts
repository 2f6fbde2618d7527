import { isThorough } from '../../thorough.ts'
import { chatDialect } from '../../../src/translate/chat/dialect.ts'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../src/translate/dialects.ts'
import { callOf, contextOf, hello, pass, traits } from './request-helpers.ts'
import { cpuMs } from '../../cpu-time.ts'

const toolCall = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
const includeUsage = '"stream_options":{"include_usage":true}'

test.each([
  ['adds what is missing', '"x":1', `"x":1,"stream":true,${includeUsage}`],
  ['turns stream on', `"stream":false,${includeUsage}`, `"stream":true,${includeUsage}`],
  ['turns stream on where it is null', `"stream":null,${includeUsage}`, `"stream":true,${includeUsage}`],
  [
    'keeps other stream options',
    '"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":false}',
    '"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true}',
  ],
  ['fills stream options of null', '"stream":true,"stream_options":null', `"stream":true,${includeUsage}`],
  ['leaves what is right as written', '"stream" : true, "stream_options" : { "include_usage":true }', undefined],
])('always streams with usage: %s', (_, written, expected = written) => {
  const start = '{"model":"gpt-4.1","messages":[{"role":"user","content":"x"}],'
  expect(pass(`${start}${written}}`).json).toBe(`${start}${expected}}`)
})

test('sends the routed model under its own id', () => {
  const { value } = pass({ model: 'copilot/gpt-4.1', messages: hello }, { model: traits('gpt-4.1') })
  expect(value['model']).toBe('gpt-4.1')
})

test('sends the very bytes where nothing has to change', () => {
  const text = ` {"model":"gpt-4.1", "messages":[{"role":"user","content":"\\u00e9é"}],\n"stream":true,${includeUsage}, "x":1.0}\n`
  const bytes = Buffer.from(text)
  const request = dialects.chat.decodeRequest(text, { bytes })
  const context = contextOf()
  expect(chatDialect.upstream.passRequest(request, context)?.body).toBe(bytes)
})

test('sends each edited key once where the caller wrote it twice', () => {
  const text =
    '{"model":"a","stream":false,"messages":[],"model":"b","messages":[{"role":"user","content":"x"}],"stream":false}'
  const { json } = pass(text)
  expect(json).toBe(`{"model":"gpt-4.1","stream":true,"messages":[{"role":"user","content":"x"}],${includeUsage}}`)
})

test('keeps a member called __proto__ from doing anything', () => {
  const { json } = pass('{"__proto__":{"temperature":0},"model":"m","messages":[{"role":"user","content":"x"}]}', {
    model: traits('claude-opus-4.8'),
  })
  expect(json).toContain('"__proto__":{"temperature":0},"model":"claude-opus-4.8"')
})

const turn = (n: number) => [
  { role: 'user', content: `q${n}` },
  { role: 'assistant', content: `a${n}` },
]

test('keeps the last turns and says how much was left out', () => {
  const messages = [{ role: 'system', content: 's' }, ...turn(1), ...turn(2), { role: 'user', content: 'q3' }]
  const { value, warnings } = pass({ model: 'm', messages }, { historyWindow: 2 })
  expect(value['messages']).toEqual([messages[0], ...turn(2), { role: 'user', content: 'q3' }])
  expect(warnings).toEqual(['history_cut;messages: 2 dropped by chat.history-window 2'])
  expect(pass({ model: 'm', messages }, { historyWindow: 3 }).warnings).toEqual([])
})

test('adapts 100,000 messages', () => {
  const messages = Array.from({ length: 50_000 }, (_, n) => [
    { role: 'user', content: `q${n}` },
    { role: 'assistant', content: `a${n}`, refusal: null },
  ]).flat()
  const { value } = pass({ model: 'm', messages }, { model: traits('claude-opus-4.8') })
  expect(value['messages']).toHaveLength(100_001)
})

test.runIf(isThorough)('merges a run of 100,000 assistant messages in reasonable time', { timeout: 180_000 }, () => {
  const message = { role: 'assistant', content: [{ type: 'text', text: 'x' }], tool_calls: [toolCall] }
  const messages = [...hello, ...Array.from({ length: 100_000 }, () => message), ...hello]
  const started = cpuMs()
  const { value } = pass({ model: 'm', messages }, { model: traits('claude-sonnet-4.5') })
  // One message with all the calls, and a result put in place for each.
  expect(value['messages']).toHaveLength(100_003)
  // Around 0.5 s on a slow machine; copying the run for each message takes half a minute and more.
  expect(cpuMs() - started).toBeLessThan(10_000)
})

test('refuses a request that another dialect decoded', () => {
  const request = { ...callOf({ model: 'm', messages: hello }), body: {} }
  const context = contextOf()
  expect(() => chatDialect.upstream.passRequest(request, context)).toThrow(TypeError)
})

const named = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} }, novelty: 1 },
  copilot_mcp_server_name: 's',
})
const effectsOf = (body: object) =>
  chatDialect.upstream.passRequest(callOf({ model: 'm', messages: hello, ...body }), contextOf())?.effects

const round = (name: string) => [
  ...hello,
  { role: 'assistant', content: null, tool_calls: [{ ...toolCall, function: { name, arguments: '{}', x: 1.5 } }] },
  { role: 'tool', tool_call_id: 'c', content: 'r' },
]
const bodyWith = (each: string) => ({
  tools: [named(each)],
  messages: round(each),
  tool_choice: { type: 'function', function: { name: each } },
  novelty: 1,
})

describe('names that upstream does not take', () => {
  test.each([
    ['a'.repeat(64), 'a'.repeat(64)],
    ['a'.repeat(65), `${'a'.repeat(55)}_635361c4`],
    ['mcp__server__tool-1', 'mcp__server__tool-1'],
    ['server.tool', 'server_tool'],
    ['größe', 'gr__e'],
    ['', ''],
  ])('%j becomes %j in tools, calls and the choice, and nothing else changes', (name, sent) => {
    expect(pass({ model: 'm', ...bodyWith(name) }).value).toMatchObject(bodyWith(sent))
    const expected = name === sent ? undefined : new Map([[sent, { name, kind: 'function' }]])
    expect(effectsOf(bodyWith(name))?.tools).toEqual(expected)
  })

  test('are also those of functions and of calls in the history alone', () => {
    const { value } = pass({ model: 'm', messages: round('a.b'), functions: [{ name: 'a.b' }] })
    expect(value).toMatchObject({ tools: [{ type: 'function', function: { name: 'a_b' } }], messages: round('a_b') })
    expect(pass({ model: 'm', messages: round('a.b') }).value).toMatchObject({ messages: round('a_b') })
  })

  test('freeform tools become functions with one text', () => {
    const call = { id: 'c', type: 'custom', custom: { name: 'f', input: 'x' } }
    const messages = [
      ...hello,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'r' },
    ]
    const body = { tools: [{ type: 'custom', custom: { name: 'f' }, novelty: 1 }], messages }
    expect(pass({ model: 'm', ...body }).value).toMatchObject({
      tools: [{ type: 'function', function: { name: 'f', parameters: { required: ['input'] } }, novelty: 1 }],
      messages: [
        ...hello,
        { tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"input":"x"}' } }] },
        { role: 'tool', tool_call_id: 'c' },
      ],
    })
    expect(effectsOf(body)?.tools).toEqual(new Map([['f', { name: 'f', kind: 'custom' }]]))
  })

  test('are no matter where the history window leaves them out', () => {
    const body = { model: 'm', messages: [...round('a.b'), ...hello] }
    expect(chatDialect.upstream.passRequest(callOf(body, { historyWindow: 1 }), contextOf())?.effects).toBeUndefined()
    expect(chatDialect.upstream.passRequest(callOf(body), contextOf())?.effects).toBeUndefined()
  })
})

test.each(['opencode', 'cline', 'continue'])('keeps the messages of %s byte for byte', (client) => {
  const text = fixture(client)
  const messages = /"messages": ?\[.*?\n?\](?=,\s*"(?:tools|model|stream)")/s.exec(text)?.[0]
  expect(messages?.length).toBeGreaterThan(50)
  expect(pass(text, { model: traits('grok-code-fast-1') }).json).toContain(messages)
})

function fixture(client: string): string {
  return readFileSync(new URL(`../../fixtures/chat-requests/${client}.json`, import.meta.url), 'utf8')
}
