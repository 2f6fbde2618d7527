import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import { fc } from '../../fast-check.ts'
import type { JsonObject } from '../../../src/json/json.ts'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import { fixture, hello } from './caller-helpers.ts'
import { translateCall } from '../../../src/translate/translated-call.ts'
import { claudeCodeBetas, contextOf, models, pass, passText, traits } from './upstream-helpers.ts'

const start = '{"model":"claude-opus-4.8","max_tokens":9,"messages":[{"role":"user","content":"x"}],'

test.each([
  ['adds what is missing', '"x":1', '"x":1,"stream":true'],
  ['turns stream on', '"stream":false', '"stream":true'],
  ['turns stream on where it is null', '"stream":null', '"stream":true'],
  ['leaves what is right as written', '"stream" : true', undefined],
])('always streams: %s', (_, written, expected = written) => {
  expect(pass(`${start}${written}}`).json).toBe(`${start}${expected}}`)
})

test('sends the routed model under its own id, and the version', () => {
  const { value, headers } = pass({ model: 'claude-opus-4-8-20260101' })
  expect(value['model']).toBe('claude-opus-4.8')
  expect(headers).toEqual({ 'anthropic-version': '2023-06-01' })
})

test('sends the very bytes where nothing has to change', () => {
  const text = ` {"model":"claude-opus-4.8", "max_tokens":9, "messages":[{"role":"user","content":"\\u00e9é"}],\n"stream":true, "x":1.0}\n`
  const bytes = Buffer.from(text)
  const encoded = messagesDialect.upstream.passRequest(messagesDialect.decodeRequest(text, { bytes }), contextOf())
  expect(encoded?.body).toBe(bytes)
})

test('sends each edited key once where the caller wrote it twice', () => {
  const message = '{"role":"user","content":"x"}'
  const { json } = pass(`{"model":"a","stream":false,"max_tokens":1,"messages":[${message}],"model":"b"}`)
  expect(json).toBe(`{"model":"claude-opus-4.8","stream":true,"max_tokens":1,"messages":[${message}]}`)
})

test('keeps a member called __proto__ from doing anything', () => {
  const { json } = pass(`{"__proto__":{"system":"evil"},${start.slice(1)}"stream":true}`)
  expect(json).toContain('"__proto__":{"system":"evil"}')
  expect(pass(`${start}"tools":[{"name":"f","__proto__":{"type":"web_search_1"},"input_schema":{}}]}`).json).toContain(
    '"name":"f"',
  )
})

const callRound = (name: string) => [
  { role: 'user', content: 'u' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 't', name, input: {}, novelty: 1 }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't' }] },
]
const bodyWith = (name: string) => ({
  tools: [{ name, input_schema: { type: 'object', properties: {} }, novelty: 1 }, { type: 'computer_toolset' }],
  messages: callRound(name),
  tool_choice: { type: 'tool', name, disable_parallel_tool_use: true },
})

test.each([
  ['a short name', 'f'],
  ['a name that has to be shortened', 'x'.repeat(65)],
])('an answer that the caller has begun is continued: a tool with %s', (_, name) => {
  const body = {
    model: 'claude-sonnet-4',
    max_tokens: 9,
    tools: [{ name, input_schema: { type: 'object', properties: {} } }],
    messages: [...hello, { role: 'assistant', content: 'It is' }],
  }
  const asked = messagesDialect.decodeRequest(JSON.stringify(body))
  const context = contextOf({ model: traits('claude-sonnet-4') })
  const { request } = translateCall(messagesDialect, messagesDialect.upstream, asked, context)
  expect(JSON.parse(request.body.toString())).toMatchObject({ messages: body.messages })
})

test('renames tools, calls and the choice alike, and nothing else', () => {
  const long = 'x'.repeat(65)
  const short = `${'x'.repeat(55)}_9537c5fd`
  for (const [name, sent] of [
    [long, short],
    ['a b', 'a_b'],
    ['y'.repeat(64), 'y'.repeat(64)],
  ]) {
    const { value, warnings } = pass(bodyWith(name ?? ''))
    expect(value).toMatchObject(bodyWith(sent ?? ''))
    expect(warnings).toEqual([])
  }
  const text = JSON.stringify({ model: 'm', max_tokens: 9, ...bodyWith(long) })
  expect(passText(text)?.effects?.tools).toEqual(new Map([[short, { name: long, kind: 'function' }]]))
})

const ref = (name: string) => ({ type: 'tool_reference', tool_name: name, novelty: 1 })

test('renames references in results, and passes other content of results unchanged', () => {
  const long = 'x'.repeat(65)
  const odd = [{}, [], null, 'x', 1, { type: null }, { type: {} }, { type: 'tool_reference' }]
  const resultsWith = (name: string) => [
    { type: 'novel_result', content: [...odd, ref(name)] },
    { type: 'novel_result', content: { type: 'novel_search_result', tool_references: [...odd, ref(name)] } },
    { type: 'novel_result', content: { tool_references: {} } },
    { type: 'novel_result', content: 1 },
  ]
  const messagesWith = (name: string) => [...hello, { role: 'assistant', content: resultsWith(name) }, ...hello]
  const { value } = pass({ messages: messagesWith(long) })
  expect(value['messages']).toMatchObject(messagesWith(`${'x'.repeat(55)}_9537c5fd`))
})

test('refuses a request that another dialect decoded', () => {
  const text = JSON.stringify({ model: 'm', max_tokens: 9, messages: hello })
  const request = { ...messagesDialect.decodeRequest(text), body: {} }
  expect(() => messagesDialect.upstream.passRequest(request, contextOf())).toThrow(TypeError)
})

test('adapts 20,000 messages of one role, and as many thoughts of another model', () => {
  const messages = Array.from({ length: 10_000 }, (_, at) => [
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'x' },
        { type: 'text', text: `q${at}` },
      ],
    },
    { role: 'user', content: `r${at}` },
  ]).flat()
  expect(pass({ messages }).value['messages']).toHaveLength(1)
  const thoughts = Array.from({ length: 10_000 }, (_, at) => [
    { role: 'user', content: `q${at}` },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't' },
        { type: 'text', text: 'a' },
      ],
    },
  ]).flat()
  const passed = pass({ messages: [...thoughts, ...hello] })
  expect(passed.value['messages']).toHaveLength(20_001)
  expect(passed.warnings).toHaveLength(10_000)
})

test('joins a run of 20,000 system messages to the user turn once', () => {
  const messages = [...hello, ...Array.from({ length: 20_000 }, () => ({ role: 'system', content: 's' }))]
  const { value } = pass({ messages }, { model: models.sonnet45 })
  expect(value['messages']).toHaveLength(1)
})

const named = (tools: readonly JsonObject[]) => tools.map(({ name, description }) => ({ name, description }))

describe('what clients send', () => {
  test.each([
    ['claude-code-tools', models.sonnet45],
    ['opencode', models.opus46],
    ['pi', models.sonnet45],
    ['copilot-sdk', models.sonnet45],
    ['continue', models.opus46],
  ])('keeps the messages of %s byte for byte', (client, model) => {
    const text = fixture(`messages-requests/${client}.json`)
    const messages = JSON.stringify((JSON.parse(text) as { messages: unknown }).messages)
    expect(text).toContain(messages)
    expect(pass(text, { model, betas: claudeCodeBetas }).json).toContain(`"messages":${messages}`)
  })

  test('keeps the names and descriptions of the tools of Claude Code', () => {
    const text = fixture('messages-requests/claude-code-first.json')
    const given = (JSON.parse(text) as { tools: JsonObject[] }).tools
    const sent = (JSON.parse(pass(text, { betas: claudeCodeBetas }).json) as { tools: JsonObject[] }).tools
    expect(named(sent)).toEqual(named(given))
  })
})

describe('whatever a caller sends', () => {
  const words = fc.constantFrom('', ' ', 'a', 'x-anthropic-billing-header: x', 'cpx1.e30', 'cpa1.eyJ9')
  const mark = fc.constantFrom(undefined, null, { type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h', scope: 's' })
  const leaf = fc.oneof(
    fc.record({ type: fc.constant('text'), text: words, cache_control: mark }),
    fc.record({ type: fc.constant('tool_reference'), tool_name: words }),
    fc.record({
      type: fc.constantFrom('odd', '__proto__', 'constructor', 'x_tool_result', 'compaction'),
      content: words,
    }),
    fc.record({
      type: fc.constant('document'),
      source: fc.oneof(
        fc.record({ type: fc.constant('text'), data: words }),
        fc.record({ type: fc.constant('url'), url: words }),
      ),
    }),
  )
  const id = fc.constantFrom('a', 'b', 'a b', '')
  const block = fc.oneof(
    leaf,
    fc.record({ type: fc.constant('thinking'), thinking: words, signature: words, cache_control: mark }),
    fc.record({ type: fc.constant('redacted_thinking'), data: words }),
    fc.record({
      type: fc.constantFrom('tool_use', 'server_tool_use'),
      id,
      name: fc.constantFrom('f', 'g'),
      input: fc.constantFrom({}, null),
    }),
    fc.record({
      type: fc.constant('tool_result'),
      tool_use_id: id,
      content: fc.oneof(words, fc.array(leaf)),
      is_error: fc.boolean(),
    }),
  )
  const message = fc.record({
    role: fc.constantFrom('user', 'user', 'assistant', 'system'),
    content: fc.oneof(words, fc.array(block, { maxLength: 4 })),
  })
  const tool = fc.record({
    type: fc.constantFrom(undefined, 'custom', 'bash_20250124', 'web_search_20250305'),
    name: fc.constantFrom('f', 'g'),
    input_schema: fc.constantFrom({}, { type: 'object', properties: {} }, undefined),
    defer_loading: fc.boolean(),
    cache_control: mark,
  })
  const body = fc.record(
    {
      messages: fc.array(message, { minLength: 1, maxLength: 8 }),
      max_tokens: fc.nat(70_000),
      system: fc.oneof(words, fc.array(leaf, { maxLength: 3 })),
      tools: fc.array(tool, { maxLength: 3 }),
      tool_choice: fc.constantFrom({ type: 'auto' }, { type: 'any' }, { type: 'tool', name: 'f' }),
      thinking: fc.record({
        type: fc.constantFrom('adaptive', 'enabled', 'disabled', 'between_tools', 'odd'),
        budget_tokens: fc.nat(40_000),
        display: fc.constantFrom('omitted', 'updates', null),
      }),
      output_config: fc.record({ effort: fc.constantFrom('low', 'max', 'odd', 'none', null) }),
      context_management: fc.constantFrom({}, { edits: [null, { type: 'compact_1' }, { type: 'clear_thinking_1' }] }),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      top_p: fc.double({ min: 0, max: 1, noNaN: true }),
      cache_control: mark,
      novelty: fc.jsonValue(),
    },
    { requiredKeys: ['messages', 'max_tokens'] },
  )
  const model = fc.constantFrom(...Object.values(models), traits('claude'), traits('odd-model'))
  const learnedRefusals = fc.subarray([
    'field:novelty',
    'tag:messages:odd',
    'efforts:',
    'thinking:budget',
    'beta:x',
    'nonsense',
  ])
  const betas = fc.subarray(claudeCodeBetas)

  test('a billing line in a leading system message goes with the others', () => {
    const line = 'x-anthropic-billing-header: x'
    const messages = [
      { role: 'system', content: line },
      { role: 'user', content: 'x' },
    ]
    expect(pass({ messages, system: [{ type: 'text', text: line }] }).value).not.toHaveProperty('system')
  })

  test('it is passed on or refused with a Fault, and members that need no change keep their bytes', () => {
    fc.assert(
      fc.property(body, model, learnedRefusals, betas, (value, each, learned, sentBetas) => {
        const members = Object.entries({ model: 'm', ...value }).filter(([, member]) => member !== undefined)
        // Spaces that no serialiser writes.
        const written = members.map(([key, member]) => `  ${JSON.stringify(key)} :  ${JSON.stringify(member)}`)
        let encoded
        try {
          encoded = passText(`{${written.join(' ,')}}`, { model: each, learnedRefusals: learned, betas: sentBetas })
        } catch (error) {
          expect(error).toBeInstanceOf(Fault)
          return
        }
        const json = encoded?.body.toString() ?? '{}'
        const after = JSON.parse(json) as Record<string, unknown>
        members.forEach(([key, member], at) => {
          const isSame = JSON.stringify(after[key]) === JSON.stringify(member)
          if (encoded !== undefined && isSame && key !== 'model') expect(json).toContain(written[at]?.trimStart())
        })
      }),
      { numRuns: 1000 },
    )
  })
})

const text = (words: string, rest = {}) => ({ type: 'text', text: words, ...rest })

describe('cache marks of our own', () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const long = 'x'.repeat(4096)
  const tool = { name: 'f', input_schema: { type: 'object', properties: {} } }
  const talk = [
    { role: 'user', content: long },
    { role: 'assistant', content: [text('a')] },
    { role: 'user', content: [text('b'), text('c')] },
  ]

  test('go where a long conversation has none: tools, system text, the last two messages', () => {
    const { value, warnings } = pass({ system: 's', tools: [tool, { ...tool, name: 'g' }], messages: talk })
    expect(value).toMatchObject({
      system: [text('s', mark)],
      tools: [tool, { ...tool, name: 'g', ...mark }],
      messages: [
        talk[0],
        { role: 'assistant', content: [text('a', mark)] },
        { role: 'user', content: [text('b'), text('c', mark)] },
      ],
    })
    expect(warnings).toEqual([])
  })

  test('are put on a message that is a string', () => {
    expect(pass({ tools: [tool], messages: talk.slice(0, 1) }).value['messages']).toEqual([
      { role: 'user', content: [text(long, mark)] },
    ])
  })

  test('pass over a deferred tool', () => {
    const deferred = { ...tool, name: 'later', defer_loading: true }
    const { value } = pass({ tools: [tool, deferred], messages: talk }, { betas: ['advanced-tool-use-2025-11-20'] })
    expect(value['tools']).toEqual([{ ...tool, ...mark }, deferred])
  })

  test.each<[string, object]>([
    ['a short conversation', { messages: talk.map((message) => ({ ...message, content: 'x' })) }],
    ['a single question', { messages: [{ role: 'user', content: long }] }],
    ['marks of the caller', { tools: [{ ...tool, ...mark }], messages: talk }],
  ])('leave alone: %s', (_, body) => {
    const { value } = pass(body)
    expect(value).toMatchObject(body)
    expect(JSON.stringify(value).match(/cache_control/g) ?? []).toHaveLength(
      (JSON.stringify(body).match(/cache_control/g) ?? []).length,
    )
  })

  test('are not added to a mark within a tool result, which moves to the result', () => {
    const result = { type: 'tool_result', tool_use_id: 't' }
    const { value } = pass({ messages: [...talk, ...round({ ...result, content: [text('r', mark)] })] })
    expect(value).toMatchObject({ messages: [...talk, ...round({ ...result, content: [text('r')], ...mark })] })
    expect(JSON.stringify(value).match(/cache_control/g)).toHaveLength(1)
  })
})

function round(result: object): readonly object[] {
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
    { role: 'user', content: [result] },
  ]
}
