import { expect, test } from 'vitest'
import { sealOpaque } from '../../../src/translate/engine/opaque-envelope.ts'
import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import { formatWarning } from '../../../src/translate/warning.ts'
import { encodeContext, traits } from '../turns.ts'
import { decode, hello, turnOf } from './caller-helpers.ts'
import { errorOf } from '../faults.ts'

const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const system = (...content: object[]) => ({ role: 'system', content })
const text = (words: string) => ({ type: 'text', text: words })
const itemsOf = (...messages: object[]) => turnOf({ messages }).turn.items
const warningsOf = (body: object) => turnOf(body).warnings.map(formatWarning)
const refused = (body: object) => errorOf(() => turnOf(body))
const partsOf = (...content: object[]) => {
  const item = itemsOf(user(...content))[0]
  return item?.type === 'message' ? item.parts : item
}

test('leaves out members that the caller did not send', () => {
  const { turn, warnings } = turnOf({ max_tokens: 5 })
  expect(turn).toEqual({
    fieldNames: {
      maxOutputTokens: 'max_tokens',
      temperature: 'temperature',
      topP: 'top_p',
      topK: 'top_k',
      frequencyPenalty: 'sampling.frequencyPenalty',
      presencePenalty: 'sampling.presencePenalty',
      seed: 'sampling.seed',
      logitBias: 'sampling.logitBias',
      stop: 'stop_sequences',
      format: 'output_config.format',
      verbosity: 'verbosity',
      reasoning: 'thinking',
      effort: 'output_config.effort',
      logprobs: 'logprobs',
      toolChoice: 'tool_choice',
      parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
    },
    items: [{ type: 'message', role: 'user', parts: [text('hello')], path: 'messages.0' }],
    tools: [],
    sampling: {},
    stop: [],
    maxOutputTokens: 5,
  })
  expect(warnings).toEqual([])
})

test('carries plain settings over', () => {
  const settings = { temperature: 0.2, top_p: 0.9, top_k: 5, stop_sequences: ['END'] }
  expect(turnOf(settings).turn).toMatchObject({
    sampling: { temperature: 0.2, topP: 0.9, topK: 5 },
    stop: ['END'],
  })
})

// System text

test('gives each system text its own item, and the attribution line none', () => {
  const attribution = text('x-anthropic-billing-header: cc_version=2.1; cch=ab;')
  const marked = { ...text('You are X.'), cache_control: { type: 'ephemeral', ttl: '1h' } }
  expect(turnOf({ system: [attribution, marked, text('Be brief.')] }).turn.items.slice(0, 2)).toEqual([
    { type: 'message', role: 'system', parts: [{ ...text('You are X.'), cache: { ttl: '1h' } }], path: 'system.1' },
    { type: 'message', role: 'system', parts: [text('Be brief.')], path: 'system.2' },
  ])
})

test.each([
  ['x-anthropic-billing-header: a\nYou are X.', ['You are X.']],
  ['You are X. x-anthropic-billing-header: a', ['You are X. x-anthropic-billing-header: a']],
  ['x-anthropic-billing-header: a', []],
])('takes only the attribution line out of %j', (words, expected) => {
  const items = turnOf({ system: words }).turn.items.slice(0, -1)
  expect(items).toEqual(
    expected.map((kept) => ({ type: 'message', role: 'system', parts: [text(kept)], path: 'system' })),
  )
})

test('keeps the position of a system message', () => {
  const items = itemsOf(
    ...hello,
    system(text('A'), text('B')),
    assistant(text('hi')),
    { role: 'system', content: 'C' },
    ...hello,
  )
  expect(items.map((item) => (item.type === 'message' ? [item.role, item.parts] : item.type))).toEqual([
    ['user', [text('hello')]],
    ['system', [text('A'), text('B')]],
    ['assistant', [text('hi')]],
    ['system', [text('C')]],
    ['user', [text('hello')]],
  ])
})

test('forgets a system message that was for an earlier turn only', () => {
  const passing = { ...system(text('now')), clear_at: 'next_user_message' }
  expect(itemsOf(...hello, passing, assistant(text('hi')), ...hello)).toHaveLength(3)
  expect(itemsOf(...hello, assistant(text('hi')), ...hello, passing)).toHaveLength(4)
  expect(
    itemsOf({ ...user(text('mine')), clear_at: 'next_user_message' }, assistant(text('hi')), ...hello),
  ).toHaveLength(3)
})

// Blocks

test('keeps blocks in order and groups only what one message can hold', () => {
  const items = itemsOf(
    ...hello,
    assistant(
      { type: 'thinking', thinking: 'hm', signature: 'SIG' },
      text('a'),
      text('b'),
      { type: 'tool_use', id: 't1', name: 'f', input: { x: [1] }, cache_control: { type: 'ephemeral' } },
      text('c'),
    ),
    user({ type: 'tool_result', tool_use_id: 't1', content: 'r', cache_control: { type: 'ephemeral' } }, text('d')),
  )
  expect(items.slice(1)).toEqual([
    {
      type: 'reasoning',
      text: 'hm',
      opaque: { vendor: 'anthropic', family: 'claude', form: 'signature', value: 'SIG' },
      path: 'messages.1',
    },
    { type: 'message', role: 'assistant', parts: [text('a'), text('b')], path: 'messages.1' },
    { type: 'tool_call', kind: 'function', id: 't1', name: 'f', arguments: '{"x":[1]}', cache: {}, path: 'messages.1' },
    { type: 'message', role: 'assistant', parts: [text('c')], path: 'messages.1' },
    { type: 'tool_result', callId: 't1', content: 'r', isError: false, cache: {}, path: 'messages.2' },
    { type: 'message', role: 'user', parts: [text('d')], path: 'messages.2' },
  ])
})

test.each([[{}], [null], [undefined]])('writes input %j as an empty object', (input) => {
  const items = itemsOf(assistant({ type: 'tool_use', id: 't', name: 'f', input }), ...hello)
  expect(items[0]).toMatchObject({ arguments: '{}' })
})

test.each([
  ['a text', 'r', 'r'],
  ['nothing', undefined, ''],
  ['null', null, ''],
  ['an empty text', '', ''],
  ['no blocks', [], []],
  [
    'a tool that was found',
    [{ type: 'tool_reference', tool_name: 'Edit' }],
    [text('The tool Edit can be called now.')],
  ],
  [
    'an image and a document',
    [
      { type: 'image', source: { type: 'url', url: 'https://e.x/a.png' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd' } },
    ],
    [{ type: 'image', source: { type: 'url', url: 'https://e.x/a.png' } }, text('d')],
  ],
])('hands on a tool result of %s', (_, content, expected) => {
  const items = itemsOf(user({ type: 'tool_result', tool_use_id: 't', content, is_error: true }))
  expect(items).toEqual([{ type: 'tool_result', callId: 't', content: expected, isError: true, path: 'messages.0' }])
})

test('says which block of a tool result it left out', () => {
  const content = [text('a'), { type: 'browser_state', url: 'x' }]
  const messages = [...hello, user({ type: 'tool_result', tool_use_id: 't', content })]
  expect(warningsOf({ messages })).toEqual(['dropped;messages.1.content.0.content.1'])
})

test.each([
  [
    { type: 'base64', media_type: 'image/webp', data: 'AAAA' },
    { type: 'base64', mediaType: 'image/webp', data: 'AAAA' },
  ],
  [
    { type: 'url', url: 'https://e.x/a' },
    { type: 'url', url: 'https://e.x/a' },
  ],
])('reads an image from %j', (source, expected) => {
  expect(partsOf({ type: 'image', source, cache_control: { type: 'ephemeral' } })).toEqual([
    { type: 'image', source: expected, cache: {} },
  ])
})

test('reads search results as text', () => {
  const block = { type: 'search_result', source: 'https://e.x', title: 'T', content: [text('one'), text('two')] }
  expect(partsOf(block)).toEqual([text('T\nhttps://e.x\n\none\n\ntwo')])
})

test.each([
  [
    'inner blocks, their heading first and the mark at the end',
    {
      title: 'T',
      context: 'C',
      source: { type: 'content', content: [text('a'), text('b')] },
      cache_control: { type: 'ephemeral' },
    },
    [text('T\n\nC'), text('a'), { ...text('b'), cache: {} }],
  ],
  ['an inner text', { source: { type: 'content', content: 'a' } }, [text('a')]],
  ['nothing', { source: { type: 'content', content: [] } }, { type: 'none' }],
  ['a text with context', { title: 'T', context: 'C', source: { type: 'text', data: 'd' } }, [text('T\n\nC\n\nd')]],
  [
    'a PDF with context, whose name is a file name already',
    { title: 'a.PDF', context: 'C', source: { type: 'base64', media_type: 'application/pdf', data: 'AA' } },
    [
      text('C'),
      { type: 'file', filename: 'a.PDF', source: { type: 'base64', mediaType: 'application/pdf', data: 'AA' } },
    ],
  ],
])('reads a document of %s', (_, document, expected) => {
  expect(partsOf({ type: 'document', ...document }) ?? { type: 'none' }).toEqual(expected)
})

test('says that documents are not cited', () => {
  const source = { type: 'text', data: 'd' }
  const asking = { type: 'document', source, citations: { enabled: true } }
  const silent = { type: 'document', source, citations: { enabled: false } }
  expect(warningsOf({ messages: [user(silent, asking)] })).toEqual(['dropped;messages.0.content.1.citations'])
})

test('knows a web search by the query and the pages, of whose encrypted text it reads what was sealed here', () => {
  const messages = [
    ...hello,
    assistant(
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [
          { type: 'web_search_result', encrypted_content: 'x' },
          { type: 'web_search_result', url: 'https://e.x', title: 'E', encrypted_content: 'x' },
          { type: 'web_search_result', url: 'https://f.x', title: 'F', encrypted_content: 'cpw1.Zm91bmQ' },
        ],
      },
      { ...text('found'), citations: [{ type: 'web_search_result_location', url: 'https://e.x' }] },
    ),
    ...hello,
  ]
  const { turn, warnings } = turnOf({ messages })
  const pages = [
    { url: 'https://e.x', title: 'E', text: '' },
    { url: 'https://f.x', title: 'F', text: 'found' },
  ]
  const outcome = { pages, text: 'found' }
  expect(turn.items[1]).toEqual({ type: 'web_search', id: 'srvtoolu_1', query: 'q', outcome, path: 'messages.1' })
  expect(turn.items[2]).toMatchObject({ parts: [text('found')] })
  expect(warnings).toEqual([])
})

test.each([
  [{ type: 'server_tool_use', id: 's', name: 'code_execution', input: {} }, 'dropped;messages.1.content.0'],
  [{ type: 'code_execution_tool_result', tool_use_id: 's', content: {} }, 'dropped;messages.1.content.0'],
  [{ type: 'server_tool_use', id: 's', name: 'tool_search_tool_bm25', input: {} }, 'adapted;messages.1.content.0'],
  [{ type: 'tool_search_tool_result', tool_use_id: 's', content: {} }, 'adapted;messages.1.content.0'],
  [{ type: 'hologram' }, 'dropped;messages.1.content.0'],
])('leaves out %j and says so', (block, warning) => {
  const messages = [...hello, assistant(block, text('a')), ...hello]
  expect(turnOf({ messages }).turn.items).toHaveLength(3)
  expect(warningsOf({ messages })).toEqual([warning])
})

test('keeps the summary of a compaction', () => {
  const messages = [user({ type: 'compaction', content: 'so far', encrypted_content: 'x' }), ...hello]
  expect(itemsOf(...messages)[0]).toEqual({ type: 'compaction', text: 'so far', path: 'messages.0' })
  expect(itemsOf(user({ type: 'compaction', content: null }), ...hello)).toHaveLength(1)
})

// Reasoning

test.each([
  ['signature', { type: 'thinking', thinking: 'x' }, 'signature'],
  ['redacted', { type: 'redacted_thinking' }, 'data'],
] as const)('opens our own envelope in the place of a %s', (_, block, member) => {
  const opaque = { vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', id: 'rs_1', value: 'ENC' } as const
  const [item] = itemsOf(assistant({ ...block, [member]: sealOpaque(opaque) }), ...hello)
  expect(item).toMatchObject({ type: 'reasoning', opaque })
})

test('takes the state of redacted thinking for Anthropic’s own', () => {
  const [item] = itemsOf(assistant({ type: 'redacted_thinking', data: 'abc' }), ...hello)
  expect(item).toEqual({
    type: 'reasoning',
    text: '',
    opaque: { vendor: 'anthropic', family: 'claude', form: 'redacted', value: 'abc' },
    path: 'messages.0',
  })
})

test('never takes a damaged envelope of ours for a signature', () => {
  const messages = [assistant({ type: 'thinking', thinking: 'x', signature: 'cpx1.AAAA' }), ...hello]
  expect(itemsOf(...messages)[0]).toEqual({ type: 'reasoning', text: 'x', path: 'messages.0' })
  expect(warningsOf({ messages })).toEqual(['thinking_dropped;messages.0'])
})

test.each([
  ['empty', ''],
  ['absent', undefined],
])('keeps thinking whose signature is %s as text alone', (_, signature) => {
  expect(itemsOf(assistant({ type: 'thinking', thinking: 'x', signature }), ...hello)[0]).toEqual({
    type: 'reasoning',
    text: 'x',
    path: 'messages.0',
  })
})

const think = (words: string) =>
  assistant(
    { type: 'thinking', thinking: words, signature: 'S' },
    { type: 'tool_use', id: words, name: 'f', input: {} },
  )
const answer = (id: string) => user({ type: 'tool_result', tool_use_id: id, content: 'r' })
/** Three turns with thinking, the second one a tool loop, and one without. */
const longHistory = [
  ...hello,
  think('1'),
  answer('1'),
  ...hello,
  think('2a'),
  answer('2a'),
  think('2b'),
  answer('2b'),
  assistant(text('done')),
  ...hello,
  assistant(text('no thought')),
  ...hello,
  think('3'),
  answer('3'),
]

test.each([
  ['nothing is said', undefined, ['1', '2a', '2b', '3']],
  ['everything is kept', { keep: 'all' }, ['1', '2a', '2b', '3']],
  ['everything is kept, as an object', { keep: { type: 'all' } }, ['1', '2a', '2b', '3']],
  ['two turns are kept', { keep: { type: 'thinking_turns', value: 2 } }, ['2a', '2b', '3']],
  ['one turn is kept', { keep: { type: 'thinking_turns', value: 1 } }, ['3']],
  ['the default is asked for', {}, ['3']],
  ['more turns are kept than there are', { keep: { type: 'thinking_turns', value: 9 } }, ['1', '2a', '2b', '3']],
  ['none is kept', { keep: { type: 'thinking_turns', value: 0 } }, []],
])('clears thinking when %s', (_, edit, kept) => {
  const edits = edit === undefined ? [] : [{ type: 'clear_thinking_20251015', ...edit }]
  const { turn, warnings } = turnOf({ messages: longHistory, context_management: { edits } })
  expect(turn.items.flatMap((item) => (item.type === 'reasoning' ? [item.text] : []))).toEqual(kept)
  expect(turn.items.filter(({ type }) => type === 'tool_call')).toHaveLength(4)
  expect(warnings).toEqual([])
})

test('says which edits of the context do not happen', () => {
  const edits = [{ type: 'clear_thinking_20251015', keep: 'all' }, { type: 'clear_tool_uses_20250919' }, null]
  expect(warningsOf({ context_management: { edits } })).toEqual([
    'dropped;context_management.edits.1',
    'dropped;context_management.edits.2',
  ])
})

test.each([
  [{ thinking: { type: 'adaptive' } }, { mode: 'adaptive', summary: 'auto' }],
  [{ thinking: { type: 'adaptive', display: 'omitted' } }, { mode: 'adaptive', summary: 'none' }],
  [
    { thinking: { type: 'enabled', budget_tokens: 31999, display: 'updates' } },
    { mode: 'enabled', budgetTokens: 31999, summary: 'auto' },
  ],
  [{ thinking: { type: 'between_tools' } }, { mode: 'between_tools', summary: 'auto' }],
  [{ thinking: { type: 'disabled' } }, { mode: 'disabled' }],
  [{ output_config: { effort: 'max' } }, { effort: 'max' }],
  [
    { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    { mode: 'adaptive', effort: 'low', summary: 'auto' },
  ],
  [{ thinking: null, output_config: {} }, undefined],
])('reads %j as reasoning %j', (body, expected) => {
  expect(turnOf(body).turn.reasoning).toEqual(expected)
})

test('says that thinking of an unknown type is not carried over', () => {
  expect(turnOf({ thinking: { type: 'daydream' } })).toMatchObject({
    warnings: [{ code: 'dropped', field: 'thinking' }],
  })
})

const low = { role: 'system', output_config: { effort: 'low' } }
const medium = { role: 'system', output_config: { effort: 'medium' } }

test.each([
  ['low', [...hello, low]],
  ['low', [...hello, low, think('1'), answer('1')]],
  ['low', [...hello, low, assistant(text('a')), ...hello]],
  ['low', [...hello, assistant(text('a')), low, ...hello]],
  ['high', [...hello, think('1'), answer('1'), low]],
  ['medium', [...hello, low, assistant(text('a')), ...hello, medium, assistant(text('b')), ...hello]],
])('takes the effort %s that is in force at the end', (effort, messages) => {
  expect(turnOf({ messages, output_config: { effort: 'high' } }).turn.reasoning?.effort).toBe(effort)
})

// Tools

test('reads the caller’s own tools', () => {
  const schema = { type: 'object', properties: {} }
  const tools = [
    {
      name: 'f',
      description: 'd',
      input_schema: schema,
      strict: true,
      cache_control: { type: 'ephemeral' },
      eager_input_streaming: true,
    },
    { type: 'custom', name: 'g', input_schema: null, defer_loading: false },
  ]
  expect(turnOf({ tools })).toMatchObject({
    turn: {
      tools: [
        { type: 'function', name: 'f', description: 'd', parameters: schema, strict: true, cache: {}, path: 'tools.0' },
        { type: 'function', name: 'g', path: 'tools.1' },
      ],
    },
    warnings: [],
  })
})

test.each([
  [{ name: 'f', input_schema: {}, input_examples: [{}] }, 'dropped;tools.0.input_examples'],
  [{ name: 'f', input_schema: {}, allowed_callers: ['code_execution_20260120'] }, 'dropped;tools.0.allowed_callers'],
  [{ name: 'f', input_schema: {}, allowed_callers: ['direct'] }, undefined],
])('says what it leaves out of %j', (tool, warning) => {
  expect(warningsOf({ tools: [tool] })).toEqual(warning === undefined ? [] : [warning])
})

test('offers deferred tools at once, but no placeholders', () => {
  const tools = [
    { name: 'a', input_schema: { type: 'object', properties: {} }, defer_loading: true },
    { name: 'b', input_schema: {}, defer_loading: true },
    { name: 'c', defer_loading: true },
    { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
  ]
  expect(turnOf({ tools }).turn.tools).toMatchObject([{ name: 'a' }])
  expect(warningsOf({ tools })).toEqual(['adapted;tools.1', 'adapted;tools.2', 'adapted;tools.3'])
})

test.each([
  ['bash_20250124', 'bash', ['command', 'restart']],
  ['text_editor_20241022', 'str_replace_editor', ['command', 'new_str']],
  ['text_editor_20250728', 'str_replace_based_edit_tool', ['command', 'path', 'insert_text']],
  ['memory_20250818', 'memory', ['command', 'old_path']],
])('writes out the schema of %s', (type, name, parameters) => {
  const [tool] = turnOf({ tools: [{ type, name, cache_control: null }] }).turn.tools
  expect(tool).toMatchObject({ type: 'function', name, parameters: { type: 'object' }, path: 'tools.0' })
  expect(tool?.type === 'function' ? tool.parameters : undefined).toMatchObject({
    properties: Object.fromEntries(parameters.map((parameter) => [parameter, {}])),
  })
})

test.each([
  'computer_20251124',
  'computer_toolset_20260801',
  'browser_toolset_20260801',
  'code_execution_20260120',
  'web_fetch_20260318',
  'mcp_toolset',
])('calls %s a tool that only its upstream can run', (type) => {
  expect(turnOf({ tools: [{ type }] }).turn.tools).toEqual([{ type: 'hosted', wireType: type, path: 'tools.0' }])
})

test('takes a tool of an unknown type with a schema for the caller’s own', () => {
  const tool = { type: 'gadget_20270101', name: 'gadget', input_schema: { type: 'object' } }
  expect(turnOf({ tools: [tool] }).turn.tools).toMatchObject([{ type: 'function', name: 'gadget' }])
})

test('reads web search, and what of it is Anthropic’s alone', () => {
  const location = { type: 'approximate', country: 'DE' }
  const tool = {
    type: 'web_search_20260318',
    name: 'web_search',
    max_uses: 3,
    blocked_domains: null,
    response_inclusion: 'full',
    allowed_domains: ['e.x'],
    user_location: location,
    cache_control: { type: 'ephemeral' },
  }
  expect(turnOf({ tools: [tool] }).turn.tools).toEqual([
    {
      type: 'web_search',
      allowedDomains: ['e.x'],
      maxUses: 3,
      userLocation: location,
      onlyThere: ['max_uses', 'response_inclusion'],
      path: 'tools.0',
    },
  ])
})

const change = (type: string, tool: object) => ({ type, tool })
const named = (name: string) => ({ type: 'tool_reference', name })

test('follows tools that come and go in the conversation', () => {
  const definition = { name: 'c', input_schema: { type: 'object' } }
  const tools = [{ name: 'a' }, { name: 'b' }]
  const messages = [
    ...hello,
    system(change('tool_addition', { type: 'tool_definition', definition }), change('tool_removal', named('a'))),
    assistant(text('x')),
    ...hello,
    system(text('note'), change('tool_addition', named('a')), change('tool_removal', named('b'))),
  ]
  const { turn, warnings } = turnOf({ tools, messages })
  expect(turn.tools).toMatchObject([
    { name: 'a', path: 'tools.0' },
    { name: 'c', path: 'messages.1.content.0.tool.definition' },
  ])
  expect(turn.items).toHaveLength(4)
  expect(warnings).toEqual([])
})

test.each([
  [{ type: 'auto' }, { type: 'auto' }, undefined],
  [{ type: 'auto', disable_parallel_tool_use: true }, { type: 'auto' }, false],
  [{ type: 'auto', disable_parallel_tool_use: false }, { type: 'auto' }, true],
  [{ type: 'any', disable_parallel_tool_use: true }, { type: 'required' }, false],
  [{ type: 'tool', name: 'f' }, { type: 'tool', name: 'f' }, undefined],
  [{ type: 'none', disable_parallel_tool_use: true }, { type: 'none' }, undefined],
])('reads tool_choice %j', (choice, toolChoice, parallelToolCalls) => {
  const { turn } = turnOf({ tool_choice: choice, tools: [{ name: 'f' }] })
  expect(turn.toolChoice).toEqual(toolChoice)
  expect(turn.parallelToolCalls).toBe(parallelToolCalls)
})

// Format, metadata, the rest

const schema = { type: 'object', properties: {}, additionalProperties: false }

test('reads the format in either spelling and names the one that was used', () => {
  const format = { type: 'json_schema', schema }
  const stable = turnOf({ output_config: { format } }).turn
  expect(stable.format).toEqual(format)
  expect(stable.fieldNames.format).toBe('output_config.format')
  const beta = turnOf({ output_format: format }).turn
  expect(beta.format).toEqual(format)
  expect(beta.fieldNames.format).toBe('output_format')
})

test.each([
  [{ output_format: { type: 'grammar' } }, 'dropped;output_format'],
  [{ output_config: { format: { type: 'grammar' } } }, 'dropped;output_config.format'],
  [{ output_config: { task_budget: { total: 1 } } }, 'dropped;output_config.task_budget'],
  [{ speed: 'fast' }, 'dropped;speed'],
  [{ speed: 'standard' }, undefined],
  [{ fallbacks: [{}] }, 'dropped;fallbacks'],
  [{ fallbacks: [] }, undefined],
  [{ inference_geo: 'us' }, 'dropped;inference_geo'],
  [{ inference_geo: null }, undefined],
  [{ 'x\r\nset-cookie: a': 1 }, 'dropped;unknown_field'],
  [{ metadata: { user_id: 'u' }, stream: true, cache_control: { type: 'ephemeral' }, service_tier: 'auto' }, undefined],
  [{ container: null, mcp_servers: [] }, undefined],
])('warns of %j: %s', (body, warning) => {
  expect(warningsOf(body)).toEqual(warning === undefined ? [] : [warning])
})

const session = '0f8fad5b-d9cb-469f-a165-70867728950e'

test.each([
  [JSON.stringify({ device_id: 'd', account_uuid: 'a', session_id: session }), session],
  [`user_abc_account_def_session_${session}`, session],
  [JSON.stringify({ session_id: 's'.repeat(100) }), 's'.repeat(64)],
  ['jane@example.com', undefined],
  ['{"session_id":7}', undefined],
  ['{"session_id":', undefined],
  ['{'.repeat(100_000), undefined],
  ['', undefined],
])('takes the session in %s, and nothing else', (userId, expected) => {
  expect(turnOf({ metadata: { user_id: userId } }).turn.sessionId).toBe(expected)
})

test.each([
  [{ container: 'c1' }, 'container'],
  [{ container: { skills: [] } }, 'container'],
  [{ mcp_servers: [{ type: 'url', url: 'https://e.x' }] }, 'mcp_servers'],
  [{ compaction: { type: 'summarize' } }, 'compaction'],
  [{ max_tokens: 0 }, 'max_tokens'],
  [{ tool_choice: { type: 'sometimes' } }, 'tool_choice.type'],
  [{ messages: [user({ type: 'container_upload', file_id: 'f' })] }, 'messages[0].content[0]'],
  [
    { messages: [user({ type: 'image', source: { type: 'file', file_id: 'f' } })] },
    'messages[0].content[0].source.type',
  ],
  [
    { messages: [user(text('a'), { type: 'document', source: { type: 'file', file_id: 'f' } })] },
    'messages[0].content[1].source.type',
  ],
  [
    {
      messages: [
        user({
          type: 'tool_result',
          tool_use_id: 't',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: '' } }],
        }),
      ],
    },
    'messages[0].content[0].content[0].source.media_type',
  ],
])('refuses %j, naming %s', (body, path) => {
  expect(refused(body)).toMatchObject({ kind: 'invalid_request', path, code: 'unsupported_value' })
})

test.each([
  ['text', [...hello, assistant(text('{'))]],
  ['a string', [...hello, { role: 'assistant', content: '{' }]],
  ['a call without its result', [...hello, assistant({ type: 'tool_use', id: 't', name: 'f', input: {} })]],
  ['a system message after the answer', [...hello, assistant(text('{')), system(text('s'))]],
])('refuses a conversation that ends with the assistant: %s', (_, messages) => {
  expect(refused({ messages })).toMatchObject({ kind: 'invalid_request', path: 'messages', code: 'assistant_prefill' })
})

test.each([
  ['context-1m-2025-08-07', {}, []],
  ['context-1m-2025-08-07', { contextWindow: 200_000 }, ['dropped;anthropic-beta']],
  ['context-1m-2025-08-07', { contextWindow: 1_000_000 }, []],
  ['context-1m-2025-08-07', { contextWindow: 200_000, longContext: { contextWindow: 936_000 } }, []],
  ['output-128k-2025-02-19', { contextWindow: 200_000, maxOutputTokens: 128_000 }, []],
  ['a-1,output-128k-2025-02-19', { maxOutputTokens: 64_000 }, ['dropped;anthropic-beta']],
  ['context-1m-1,output-128k-1', { contextWindow: 200_000, maxOutputTokens: 64_000 }, ['dropped;anthropic-beta']],
  ['claude-code-20250219', { contextWindow: 200_000, maxOutputTokens: 64_000 }, []],
])('says of betas %s whether a model of %j lacks what they ask for', (betas, limits, expected) => {
  const { warnings } = messagesDialect.decodeTurn(
    decode({}, { 'anthropic-beta': betas }),
    encodeContext(traits('m', limits)),
  )
  expect(warnings.map(formatWarning)).toEqual(expected)
})
