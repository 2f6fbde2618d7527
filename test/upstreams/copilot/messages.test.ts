import { expect, test } from 'vitest'
import type { InferenceCall } from '../inference.ts'
import { count, eventsOf, messageOf, messages, refusalOf, textOf } from './test-calls.ts'
import type { Body, Event } from './test-calls.ts'

const schema = { type: 'object', properties: { file_path: { type: 'string' } }, required: ['file_path'] }
const tools = [
  { name: 'Read', description: 'Reads', input_schema: schema },
  { name: 'List', input_schema: { type: 'object', properties: {} } },
]
const budget = { type: 'enabled', budget_tokens: 1024 }

const user = { role: 'user', content: 'Hi' }
const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} }
const calling = { role: 'assistant', content: [toolUse] }
const toolResult = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'forty-two' }
const result = { role: 'user', content: [toolResult] }
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }

const OFFICIAL = [
  'interleaved-thinking-2025-05-14',
  'context-management-2025-06-27',
  'advanced-tool-use-2025-11-20',
  'extended-cache-ttl-2025-04-11',
]

/** The blocks of an answer as a client puts them together, to be sent back. */
function blocksOf(events: readonly Event[]): Body[] {
  const blocks: Record<string, unknown>[] = []
  const json = new Map<number, string>()
  for (const { type, index = 0, content_block: block, delta } of events) {
    if (type === 'content_block_start' && block !== undefined) blocks[index] = { ...block }
    if (type !== 'content_block_delta') continue
    const { type: kind, ...rest } = Object(delta) as Record<string, unknown> // every delta of these streams is an object
    const open = blocks[index] ?? expect.fail('a delta without a block')
    if (kind === 'input_json_delta') json.set(index, `${json.get(index) ?? ''}${String(rest['partial_json'])}`)
    for (const name of ['text', 'thinking', 'signature']) {
      if (name in rest) open[name] = `${String(open[name])}${String(rest[name])}`
    }
  }
  for (const [index, text] of json) if (text !== '') Object.assign(blocks[index] ?? {}, { input: JSON.parse(text) })
  return blocks
}

function answerTo(body: Body, change: Partial<InferenceCall> = {}): Body[] {
  return blocksOf(eventsOf(messages(body, change)))
}

test.for<[string, Body]>([
  ['text', {}],
  [
    'calls-with-thinking',
    {
      messages: [{ role: 'user', content: '[demo:tools] [demo:reasoning]' }],
      tools,
      thinking: budget,
    },
  ],
  ['failure', { messages: [{ role: 'user', content: '[demo:error-mid]' }] }],
])('writes its streams as the real route does: %s', async ([name, body]) => {
  const shown = textOf(messages(body)).replaceAll(/"([\w+/]{12})[\w+/]{280,}=*"/g, '"$1…"')
  await expect(shown).toMatchFileSnapshot(`../../golden/upstreams/messages-${name}.txt`)
})

test('names every event and ends with [DONE]', () => {
  const text = textOf(messages({}))
  const frames = text.split('\n\n').filter((frame) => frame !== '')
  expect(frames.at(-1)).toBe('data: [DONE]')
  for (const frame of frames.slice(0, -1)) {
    const [name, data] = frame.split('\n')
    expect(name).toBe(`event: ${JSON.parse(data?.slice('data: '.length) ?? '').type}`)
  }
  expect(textOf(messages({ messages: [{ role: 'user', content: '[demo:no-done]' }] }))).not.toContain('[DONE]')
})

test('blocks are numbered without gaps, one is open at a time, and the message closes once', () => {
  const events = eventsOf(
    messages({ messages: [{ role: 'user', content: '[demo:tools] [demo:reasoning]' }], tools, thinking: budget }),
  )
  let open: number | undefined
  let next = 0
  for (const { type, index } of events) {
    if (type === 'content_block_start') {
      expect([open, index]).toEqual([undefined, next])
      open = index
      next += 1
    } else if (type === 'content_block_delta') expect(index).toBe(open)
    else if (type === 'content_block_stop') {
      expect(index).toBe(open)
      open = undefined
    }
  }
  expect(next).toBe(4)
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop'])
})

test('carries Copilot’s additions beside a text and beside the usage', () => {
  const events = eventsOf(messages({}))
  const noted = events.filter((event) => 'copilot_annotations' in event)
  expect(noted).toMatchObject([
    { delta: { type: 'text_delta' }, copilot_annotations: { IPCodeCitations: [{ license: 'mit' }] } },
  ])
  expect(events.at(-2)).toMatchObject({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { output_tokens_details: { thinking_tokens: 0 } },
    copilot_usage: { total_nano_aiu: expect.any(Number) },
  })
  expect(events[0]).toMatchObject({ message: { model: 'claude-sonnet-4.5-demo', usage: { output_tokens: 1 } } })
})

test.for<[string, Body, Body]>([
  ['[demo:length]', {}, { stop_reason: 'max_tokens' }],
  ['[demo:filter]', {}, { stop_reason: 'refusal', stop_details: { type: 'refusal' } }],
  ['[demo:tool]', { tools }, { stop_reason: 'tool_use' }],
  ['a stop text', { stop_sequences: ['zzz', 'by'] }, { stop_reason: 'stop_sequence', stop_sequence: 'by' }],
])('%s ends with its own reason', ([prompt, more, delta]) => {
  const events = eventsOf(messages({ messages: [{ role: 'user', content: prompt }], ...more }))
  expect(events.at(-2)).toMatchObject({ type: 'message_delta', delta })
})

test('the answer ends before a stop text', () => {
  expect(answerTo({ stop_sequences: [' simulated'] })).toEqual([
    { type: 'text', text: 'Hello from claude-sonnet-4.5,' },
  ])
})

function lastEvent(content: string): Event | undefined {
  return eventsOf(messages({ messages: [{ role: 'user', content }] })).at(-1)
}

test('a failure in the middle is an error event', () => {
  expect(lastEvent('[demo:error-mid]')).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
  expect(lastEvent('[demo:error-mid api_error]')).toMatchObject({ type: 'error', error: { type: 'api_error' } })
})

test.for([
  [500, { type: 'error', error: { type: 'api_error', message: 'Internal server error' } }],
  [529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
  [402, { error: { code: 'quota_exceeded' } }],
] as const)('[demo:error %i] comes from whoever reports it', ([status, body]) => {
  const refused = refusalOf(messages({ messages: [{ role: 'user', content: `[demo:error ${status}]` }] }))
  expect(refused).toMatchObject({ status, body })
})

function usage(history: readonly unknown[]): unknown {
  return eventsOf(messages({ messages: history }))[0]?.message?.['usage']
}

test('counts what the cache writes and reads apart from the input', () => {
  const cached = {
    role: 'user',
    content: [{ type: 'text', text: 'x'.repeat(400), cache_control: { type: 'ephemeral' } }],
  }
  expect(usage([cached])).toMatchObject({
    input_tokens: 52,
    cache_creation_input_tokens: 51,
    cache_read_input_tokens: 0,
  })
  expect(usage([cached, { role: 'assistant', content: 'yyyy' }, user])).toMatchObject({
    input_tokens: 56,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 55,
  })
  expect(usage([user])).toMatchObject({ input_tokens: 4, cache_creation_input_tokens: 0 })
})

// Thinking.

function types(content: string, more: Body): readonly unknown[] {
  return answerTo({ messages: [{ role: 'user', content }], ...more }).map(({ type }) => type)
}

test('thinks always with a budget, when asked if adaptive, and never without', () => {
  expect(types('Hi', { thinking: budget })).toEqual(['thinking', 'text'])
  const adaptive = { model: 'claude-opus-4.6', thinking: { type: 'adaptive' } }
  expect(types('Hi', adaptive)).toEqual(['text'])
  expect(types('[demo:reasoning]', adaptive)).toEqual(['thinking', 'text'])
  expect(types('[demo:redacted]', adaptive)).toEqual(['redacted_thinking', 'text'])
  expect(types('[demo:reasoning]', {})).toEqual(['text'])
  expect(types('[demo:reasoning]', { thinking: { type: 'disabled' } })).toEqual(['text'])
})

test.for<[string, string | undefined, boolean]>([
  ['claude-opus-4.6', undefined, true],
  ['claude-opus-4.6', 'omitted', false],
  ['claude-opus-4.8', undefined, false],
  ['claude-opus-4.8', 'summarized', true],
])('%s with display %s shows its thinking: %s', ([model, display, isShown]) => {
  const thinking = { type: 'adaptive', ...(display !== undefined && { display }) }
  const [thought] = answerTo({ model, thinking, messages: [{ role: 'user', content: '[demo:reasoning]' }] })
  expect(thought).toMatchObject({ type: 'thinking', signature: expect.stringMatching(/^[\w+/]{300,}=*$/) })
  expect(thought?.['thinking'] !== '').toBe(isShown)
})

const thinks = { model: 'claude-opus-4.6', thinking: { type: 'adaptive' } }

function thoughtOf(marker: string, more: Body = {}): Body {
  return answerTo({ ...thinks, ...more, messages: [{ role: 'user', content: marker }] })[0] ?? expect.fail('no thought')
}

test.for<[string, Body]>([
  ['as it was', thoughtOf('[demo:reasoning]')],
  ['redacted', thoughtOf('[demo:redacted]')],
  ['left out', thoughtOf('[demo:reasoning]', { thinking: { type: 'adaptive', display: 'omitted' } })],
])('takes its thinking back: %s', ([, thought]) => {
  const history = [user, { role: 'assistant', content: [thought, { type: 'text', text: 'Ho' }] }, user]
  expect(messages({ ...thinks, messages: history }, { number: 9 }).kind).toBe('stream')
  // Another model, and no thinking asked for: the thought still goes through.
  expect(messages({ messages: history }).kind).toBe('stream')
})

test.for<[string, Body, string]>([
  ['without signature', { type: 'thinking', thinking: 'x' }, 'messages.1.content.0.thinking.signature: Field required'],
  [
    'with an empty signature',
    { type: 'thinking', thinking: 'x', signature: '' },
    'messages.1.content.0: Invalid signature in thinking block',
  ],
  [
    'signed elsewhere',
    { type: 'thinking', thinking: 'x', signature: 'EqoBCkgIARABGAIiQ' },
    'Invalid signature in thinking block',
  ],
  [
    'empty and unsigned',
    { type: 'thinking', thinking: '', signature: '' },
    'each thinking block must contain thinking',
  ],
  [
    'with another text',
    { ...thoughtOf('[demo:reasoning]'), thinking: 'I thought of something else.' },
    'Invalid signature in thinking block',
  ],
  [
    'with a redacted text as signature',
    { type: 'thinking', thinking: '', signature: String(thoughtOf('[demo:redacted]')['data']) },
    'Invalid signature in thinking block',
  ],
  ['redacted elsewhere', { type: 'redacted_thinking', data: 'abc' }, 'Invalid data in redacted_thinking block'],
  [
    'with a cache mark',
    { ...thoughtOf('[demo:reasoning]'), cache_control: { type: 'ephemeral' } },
    'messages.1.content.0.thinking.cache_control: Extra inputs are not permitted',
  ],
])('refuses thinking %s', ([, thought, message]) => {
  const history = [user, { role: 'assistant', content: [thought, { type: 'text', text: 'Ho' }] }, user]
  expect(messageOf(messages({ ...thinks, messages: history }))).toContain(message)
})

test('with a budget, the message whose calls are answered begins with its thinking', () => {
  const asked = { role: 'user', content: '[demo:tool]' }
  const request = { thinking: budget, tools }
  const answer = answerTo({ ...request, messages: [asked] })
  const results = { role: 'user', content: [{ ...toolResult, tool_use_id: 'toolu_vrtx_demo_1_0' }] }
  const round = (content: readonly Body[]): readonly unknown[] => [asked, { role: 'assistant', content }, results]
  expect(messages({ ...request, messages: round(answer) }).kind).toBe('stream')
  expect(messageOf(messages({ ...request, messages: round(answer.slice(1)) }))).toBe(
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.',
  )
  expect(messages({ tools, messages: round(answer.slice(1)) }).kind).toBe('stream')
  const later = [...round(answer.slice(1)), { role: 'assistant', content: 'Ho' }, user]
  expect(messages({ ...request, messages: later }).kind).toBe('stream')
})

test('[demo:replay] wants the thinking of its answer back while thinking is on', () => {
  const asked = { role: 'user', content: '[demo:replay]' }
  const [thought, text] = answerTo({ ...thinks, messages: [asked] })
  const later = (content: readonly unknown[]): readonly unknown[] => [asked, { role: 'assistant', content }, user]
  expect(messages({ ...thinks, messages: later([thought, text]) }).kind).toBe('stream')
  expect(messageOf(messages({ ...thinks, messages: later([text]) }))).toContain('thinking block')
  expect(messages({ messages: later([text]) }).kind).toBe('stream')
})

// Refusals.

interface Row {
  readonly refuses: string
  readonly body: Body
  readonly message: string
  readonly code?: string
  readonly betas?: readonly string[]
}

function withTool(tool: Body): Body {
  return { tools: [{ name: 'x', input_schema: { type: 'object' }, ...tool }] }
}

function withBlock(block: Body): Body {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, block] }] }
}

const mark = { cache_control: { type: 'ephemeral' } }

const ROWS: readonly Row[] = [
  { refuses: 'an unknown model', body: { model: 'claude-9' }, message: 'not supported', code: 'model_not_supported' },
  {
    refuses: 'a model of another endpoint',
    body: { model: 'gpt-5-mini' },
    message: 'model "gpt-5-mini" is not accessible via the /v1/messages endpoint',
    code: 'unsupported_api_for_model',
  },
  {
    refuses: 'betas it does not know, by name',
    body: {},
    betas: [...OFFICIAL, 'context-1m-2025-08-07', 'effort-2025-11-24'],
    message: 'unsupported beta header(s): context-1m-2025-08-07, effort-2025-11-24',
    code: 'invalid_request_body',
  },
  ...['inference_geo', 'service_tier', 'speed', 'container', 'mcp_servers', 'thread', 'cache_control'].map((name) => ({
    refuses: name,
    body: { [name]: {} },
    message: `${name}: Extra inputs are not permitted`,
    code: 'invalid_request_body',
  })),
  {
    refuses: 'context_management without its beta',
    body: { context_management: { edits: [] } },
    message: 'context_management: Extra inputs are not permitted',
  },
  { refuses: 'missing max_tokens', body: { max_tokens: undefined }, message: 'max_tokens: Field required' },
  { refuses: 'no output', body: { max_tokens: 0 }, message: 'max_tokens: Input should be greater than or equal to 1' },
  { refuses: 'more output than the model has', body: { max_tokens: 32_001 }, message: 'max_tokens: 32001 > 32000' },
  { refuses: 'temperature with top_p', body: { temperature: 0.5, top_p: 1 }, message: 'cannot both be specified' },
  { refuses: 'sampling from 4.7 on', body: { model: 'claude-opus-4.8', top_k: 5 }, message: '`top_k` is deprecated' },
  {
    refuses: 'a temperature with thinking',
    body: { thinking: budget, temperature: 0.5 },
    message: '`temperature` may only be set to 1 when thinking is enabled.',
  },
  {
    refuses: 'a budget from 4.7 on',
    body: { model: 'claude-opus-4.8', thinking: budget },
    message: '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"',
  },
  {
    refuses: 'a budget on the fifth generation',
    body: { model: 'claude-sonnet-5', thinking: budget },
    message: '"thinking.type.enabled" is not supported',
  },
  {
    refuses: 'adaptive thinking on 4.5',
    body: { thinking: { type: 'adaptive' } },
    message: 'not supported on this model',
  },
  {
    refuses: 'adaptive thinking with a budget',
    body: { model: 'claude-opus-4.8', thinking: { type: 'adaptive', budget_tokens: 2000 } },
    message: 'thinking.adaptive.budget_tokens: Extra inputs are not permitted',
  },
  {
    refuses: 'thinking of another type',
    body: { thinking: { type: 'between_tools' } },
    message: "Input tag 'between_tools'",
  },
  {
    refuses: 'another display',
    body: { thinking: { ...budget, display: 'updates' } },
    message: "thinking.enabled.display: Input should be 'summarized' or 'omitted'",
  },
  {
    refuses: 'thinking without a budget',
    body: { thinking: { type: 'enabled' } },
    message: 'budget_tokens: Field required',
  },
  { refuses: 'a small budget', body: { thinking: { ...budget, budget_tokens: 1023 } }, message: 'equal to 1024' },
  {
    refuses: 'a budget above the output',
    body: { thinking: { ...budget, budget_tokens: 4096 } },
    message: '`max_tokens` must be greater than `thinking.budget_tokens`.',
  },
  {
    refuses: 'thinking beside a forced tool',
    body: { thinking: budget, tools, tool_choice: { type: 'any' } },
    message: 'Thinking may not be enabled when tool_choice forces tool use.',
  },
  {
    refuses: 'an effort the model lacks',
    body: { model: 'claude-opus-4.7', output_config: { effort: 'high' } },
    message: 'supported values: [medium]',
    code: 'invalid_reasoning_effort',
  },
  {
    refuses: 'an effort on a model without',
    body: { output_config: { effort: 'low' } },
    message: 'does not support reasoning effort',
    code: 'invalid_reasoning_effort',
  },
  {
    refuses: 'output_config on Haiku',
    body: { model: 'claude-haiku-4.5', output_config: {} },
    message: 'output_config: Extra inputs are not permitted',
  },
  {
    refuses: 'a name on a format',
    body: { output_config: { format: { type: 'json_schema', schema, name: 'x' } } },
    message: 'output_config.format.name: Extra inputs are not permitted',
  },
  {
    refuses: 'server tools',
    body: { tools: [{ type: 'web_search_20260318', name: 'web_search' }] },
    message: 'The use of the web search tool is not supported.',
    code: 'unsupported_value',
  },
  {
    refuses: 'tools of another type',
    body: withTool({ type: 'computer_20250124' }),
    message:
      "tools.0: Input tag 'computer_20250124' found using 'type' does not match any of the expected tags: 'custom'",
  },
  {
    refuses: 'a tool search without its beta',
    body: { tools: [{ type: 'tool_search_tool_bm25_20251119', name: 'search' }] },
    message: "Input tag 'tool_search_tool_bm25_20251119'",
  },
  {
    refuses: 'eager_input_streaming',
    body: withTool({ eager_input_streaming: true }),
    message: 'tools.0.custom.eager_input_streaming: Extra inputs are not permitted',
  },
  {
    refuses: 'defer_loading without its beta',
    body: withTool({ defer_loading: true }),
    message: 'tools.0.custom.defer_loading: Extra inputs are not permitted',
  },
  {
    refuses: 'a tool without a schema',
    body: withTool({ input_schema: undefined }),
    message: 'input_schema: Field required',
  },
  {
    refuses: 'a schema without type',
    body: withTool({ input_schema: {} }),
    message: 'input_schema.type: Field required',
  },
  {
    refuses: 'a schema that is no object',
    body: withTool({ input_schema: { type: 'string' } }),
    message: "tools.0.custom.input_schema.type: Input should be 'object'",
  },
  {
    refuses: 'an empty tool name',
    body: withTool({ name: '' }),
    message: 'tools.0.custom.name: String should have at',
  },
  { refuses: 'a tool name with dots', body: withTool({ name: 'a.b' }), message: 'String should match pattern' },
  { refuses: 'two tools of a name', body: { tools: [...tools, tools[0]] }, message: 'Tool names must be unique.' },
  { refuses: 'a choice without tools', body: { tool_choice: { type: 'auto' } }, message: 'while providing tools' },
  {
    refuses: 'the choice of an absent tool',
    body: { tools, tool_choice: { type: 'tool', name: 'x' } },
    message: "Tool 'x' not found in provided tools",
  },
  { refuses: 'no messages', body: { messages: [] }, message: 'at least one message is required' },
  {
    refuses: 'system texts in a conversation before 4.8',
    body: { messages: [user, { role: 'system', content: 'x' }] },
    message: 'messages.1: Unexpected role "system"',
  },
  { refuses: 'other roles', body: { messages: [{ role: 'tool', content: 'x' }] }, message: 'messages.0.role' },
  {
    refuses: 'members of messages',
    body: { messages: [{ ...user, id: 'x' }] },
    message: 'messages.0.id: Extra inputs',
  },
  {
    refuses: 'a beginning by the assistant',
    body: { messages: [{ role: 'assistant', content: 'x' }, user] },
    message: 'first message must use the "user" role',
  },
  {
    refuses: 'a scope on a cache mark',
    body: {
      system: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b', cache_control: { type: 'ephemeral', scope: 'global' } },
      ],
    },
    message: 'system.1.cache_control.ephemeral.scope: Extra inputs are not permitted',
  },
  {
    refuses: 'a ttl without its beta',
    body: withBlock({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }),
    message: 'messages.0.content.1.text.cache_control.ephemeral.ttl: Extra inputs are not permitted',
  },
  {
    refuses: 'a fifth cache mark',
    body: {
      system: [{ type: 'text', text: 'a', ...mark }],
      tools: [{ ...tools[0], ...mark }],
      messages: [
        user,
        calling,
        { role: 'user', content: [{ ...toolResult, ...mark }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'b', ...mark },
            { type: 'text', text: 'c', ...mark },
          ],
        },
      ],
    },
    message: 'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  },
  {
    refuses: 'an empty text',
    body: withBlock({ type: 'text', text: '' }),
    message: 'messages: text content blocks must be',
  },
  { refuses: 'a blank text', body: withBlock({ type: 'text', text: ' \n' }), message: 'must be non-empty' },
  { refuses: 'an empty message', body: { messages: [{ role: 'user', content: '' }] }, message: 'non-empty content' },
  { refuses: 'unknown blocks', body: withBlock({ type: 'audio' }), message: "messages.0.content.1: Input tag 'audio'" },
  {
    refuses: 'members of blocks',
    body: withBlock({ type: 'text', text: 'x', phase: 'final' }),
    message: 'messages.0.content.1.text.phase: Extra inputs are not permitted',
  },
  {
    refuses: 'blocks of server tools',
    body: {
      messages: [
        user,
        { role: 'assistant', content: [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }] },
        user,
      ],
    },
    message: "Tool 'web_search' not found in provided tools",
  },
  {
    refuses: 'tool references without their beta',
    body: {
      messages: [
        user,
        calling,
        { role: 'user', content: [{ ...toolResult, content: [{ type: 'tool_reference', tool_name: 'Read' }] }] },
      ],
      tools,
    },
    message: "messages.2.content.0.tool_result.content.0: Input tag 'tool_reference'",
  },
  {
    refuses: 'references to tools that are not there',
    body: {
      messages: [
        user,
        calling,
        { role: 'user', content: [{ ...toolResult, content: [{ type: 'tool_reference', tool_name: 'Gone' }] }] },
      ],
      tools,
    },
    betas: OFFICIAL,
    message: "Tool reference 'Gone' not found in available tools",
  },
  {
    refuses: 'an image by address',
    body: withBlock({ type: 'image', source: { type: 'url', url: 'https://example.com/x.png' } }),
    message: 'external image URLs are not supported',
  },
  {
    refuses: 'an image of another kind',
    body: withBlock({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } }),
    message: 'image media type not supported',
  },
  {
    refuses: 'a document that is text',
    body: withBlock({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }),
    message: "document.source: Input tag 'text'",
  },
  { refuses: 'an image without the vision header', body: withBlock(picture), message: 'Copilot-Vision-Request' },
  {
    refuses: 'an image in a result without the vision header',
    body: { messages: [user, calling, { role: 'user', content: [{ ...toolResult, content: [picture] }] }] },
    message: 'Copilot-Vision-Request',
  },
  {
    refuses: 'a call without its result',
    body: { messages: [user, calling, user] },
    message: 'messages.1: tool_use ids were found without tool_result blocks immediately after: toolu_1',
  },
  {
    refuses: 'a call at the end',
    body: { messages: [user, calling] },
    message: 'tool_use ids were found without tool_result blocks',
  },
  {
    refuses: 'a result after a text',
    body: { messages: [user, calling, { role: 'user', content: [{ type: 'text', text: 'x' }, toolResult] }] },
    message: 'tool_use ids were found without tool_result blocks',
  },
  {
    refuses: 'a result without its call',
    body: { messages: [{ role: 'user', content: [toolResult] }] },
    message: 'unexpected tool_use_id found in tool_result blocks: toolu_1',
  },
  {
    refuses: 'two calls of one id',
    body: { messages: [user, calling, result, calling, result] },
    message: 'tool_use ids must be unique',
  },
  {
    refuses: 'an id with dots',
    body: { messages: [user, { role: 'assistant', content: [{ ...toolUse, id: 'a.b' }] }, user] },
    message: 'messages.1.content.0.tool_use.id: String should match pattern',
  },
  {
    refuses: 'arguments as text',
    body: { messages: [user, { role: 'assistant', content: [{ ...toolUse, input: '{}' }] }, result] },
    message: 'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
  },
  {
    refuses: 'an answer begun by the caller, from 4.6 on',
    body: { model: 'claude-opus-4.6', messages: [user, { role: 'assistant', content: 'I' }] },
    message: 'This model does not support assistant message prefill. The conversation must end with a user message.',
  },
  {
    refuses: 'a prompt above the limit',
    body: { messages: [{ role: 'user', content: 'four'.repeat(200_000) }] },
    message: 'prompt is too long: 200003 tokens > 200000 maximum',
  },
  { refuses: 'a broken shape', body: { messages: [{ role: 'user' }] }, message: 'messages.0.content: Field required' },
  {
    refuses: 'a text that is none',
    body: withBlock({ type: 'text', text: 3 }),
    message: 'messages.0.content.1.text: Input should be a valid string',
  },
]

test.for(ROWS)('refuses $refuses', ({ body, message, code, betas = [] }) => {
  const outcome = messages(body, { betas })
  expect(refusalOf(outcome).status).toBe(400)
  expect(messageOf(outcome)).toContain(message)
  if (code !== undefined) expect(refusalOf(outcome).body).toMatchObject({ error: { code } })
})

test('its errors have two envelopes, as the real ones', () => {
  expect(refusalOf(messages({ max_tokens: undefined })).body).toEqual({
    error: { message: 'max_tokens: Field required', code: 'invalid_request_body' },
  })
  expect(refusalOf(messages({ messages: [user, calling] })).body).toMatchObject({
    type: 'error',
    error: { type: 'invalid_request_error' },
    request_id: expect.stringMatching(/^req_/),
  })
})

test('reports the first of two errors', () => {
  expect(messageOf(messages({ thread: {}, max_tokens: undefined }))).toContain('thread')
})

test('takes what GitHub’s own client sends', () => {
  const taken = messages(
    {
      model: 'claude-opus-4.8',
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'max' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      metadata: { user_id: '{}' },
      tools: [
        { ...tools[0], type: 'custom', defer_loading: true, cache_control: { type: 'ephemeral' } },
        { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
        tools[1],
      ],
      tool_choice: { type: 'auto' },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'reminder' }, { type: 'text', text: 'Hi', ...mark }, picture] },
        { role: 'system', content: [{ type: 'text', text: 'mode' }] },
        calling,
        { role: 'user', content: [{ ...toolResult, content: [{ type: 'tool_reference', tool_name: 'Read' }] }] },
        { role: 'user', content: [{ type: 'text', text: 'and now?' }] },
      ],
    },
    { betas: [...OFFICIAL, 'mid-conversation-system-2026-04-07'], hasVisionHeader: true },
  )
  expect(eventsOf(taken).at(-2)).toMatchObject({ context_management: { applied_edits: [] } })
})

test('calls a tool that is not held back', () => {
  const offered = [{ ...tools[0], defer_loading: true }, tools[1]]
  const events = messages({ tools: offered, messages: [{ role: 'user', content: '[demo:tool]' }] }, { betas: OFFICIAL })
  expect(blocksOf(eventsOf(events)).at(-1)).toMatchObject({ type: 'tool_use', name: 'List', input: {} })
})

test('calls a held-back tool once a search of the client has found it', () => {
  const found = { ...toolResult, content: [{ type: 'tool_reference', tool_name: 'Read' }] }
  const events = messages(
    {
      tools: [{ ...tools[0], defer_loading: true }, tools[1]],
      messages: [
        user,
        calling,
        { role: 'user', content: [found] },
        { role: 'assistant', content: 'Found.' },
        { role: 'user', content: '[demo:tool Read]' },
      ],
    },
    { betas: OFFICIAL },
  )
  expect(blocksOf(eventsOf(events)).at(-1)).toMatchObject({ type: 'tool_use', name: 'Read' })
})

test('an older model continues a prefill', () => {
  expect(messages({ messages: [user, { role: 'assistant', content: 'I' }] }).kind).toBe('stream')
})

// count_tokens.

function counted(body: Body): unknown {
  return refusalOf(count(body)).body
}

test('count_tokens counts texts, calls, results and tools, the same every time', () => {
  expect(counted({})).toEqual({ input_tokens: 4 })
  expect(counted({ system: 'x'.repeat(40) })).toEqual({ input_tokens: 14 })
  expect(counted({ messages: [user, calling, result], tools })).toEqual(
    counted({ messages: [user, calling, result], tools }),
  )
  expect(counted({ messages: [user, calling, result] })).toEqual({ input_tokens: 13 })
  expect(counted(withBlock(picture))).toEqual({ input_tokens: 1504 })
})

test('count_tokens counts what a generation reports as its input', () => {
  const body = { system: 'Be brief.', tools, messages: [user, calling, result] }
  const reported = eventsOf(messages(body))[0]?.message?.['usage']
  expect({ input_tokens: Object(reported).input_tokens }).toEqual(refusalOf(count(body)).body)
})

test('count_tokens takes what is refused for an answer, but not other models', () => {
  expect(refusalOf(count({ thread: {}, messages: [calling] })).status).toBe(200)
  expect(refusalOf(count({ model: 'gpt-5.4' }))).toMatchObject({
    status: 400,
    body: { error: { code: 'unsupported_api_for_model' } },
  })
  expect(refusalOf(count({ model: 'claude-9' }))).toMatchObject({ body: { error: { code: 'model_not_supported' } } })
})
