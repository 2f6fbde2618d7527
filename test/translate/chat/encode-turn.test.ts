import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { chatDialect } from '../../../src/translate/chat/dialect.ts'
import { objectsOf } from '../../../src/json/json.ts'
import { prepareTurn } from '../../../src/translate/engine/tool-codec/prepare-turn.ts'
import type { ModelTraits } from '../../../src/translate/model-traits.ts'
import type { FunctionTool, Opaque, Turn, TurnItem, TurnPart } from '../../../src/translate/turn.ts'
import { turn as turnOf } from '../turns.ts'
import { callOf, contextOf, describeWarnings, traits, turnOf as decodedOf } from './request-helpers.ts'
import { errorOf } from '../faults.ts'

interface Options {
  readonly model?: ModelTraits
  readonly learnedRefusals?: readonly string[]
}

const gpt4 = traits('gpt-4.1')
const gpt5 = traits('gpt-5-mini')
const sonnet = traits('claude-sonnet-4.5')

const path = (at: number) => `messages.${at}`
const said = (role: 'system' | 'user' | 'assistant', at: number, ...parts: (string | TurnPart)[]): TurnItem => ({
  type: 'message',
  role,
  path: path(at),
  parts: parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
})
const call = (at: number, id: string, args = '{}'): TurnItem => ({
  type: 'tool_call',
  kind: 'function',
  path: path(at),
  id,
  name: 'f',
  arguments: args,
})
const result = (at: number, callId: string, content: string | TurnPart[], isError = false): TurnItem => ({
  type: 'tool_result',
  path: path(at),
  callId,
  content,
  isError,
})
const opaque = (vendor: Opaque['vendor'], form: Opaque['form'] = 'reasoning_opaque'): Opaque => ({
  vendor,
  family: '',
  form,
  value: 'RAW',
})
const reasoning = (at: number, text: string, value?: Opaque): TurnItem => ({
  type: 'reasoning',
  path: path(at),
  text,
  ...(value && { opaque: value }),
})
const image: TurnPart = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0=' } }
const pdf: TurnPart = { type: 'file', source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' } }
const imageUrl = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } }
const listing = (...reasoningEffort: string[]) => traits('gpt-5.1', { supports: { reasoningEffort } })
const tool = (name: string, rest: Partial<FunctionTool> = {}): FunctionTool => ({
  type: 'function',
  name,
  path: 'tools.0',
  parameters: { type: 'object', properties: {} },
  ...rest,
})
const wireCall = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'f', arguments: args } })

function encode(parts: Partial<Turn>, { model = gpt4, learnedRefusals = [] }: Options = {}) {
  const turn = turnOf({ items: [said('user', 0, 'hi')], ...parts })
  const { body, warnings } = chatDialect.upstream.encodeTurn(turn, contextOf({ model, learnedRefusals }))
  // What this dialect encodes is an object.
  return { value: JSON.parse(body.toString()) as Record<string, unknown>, warnings: describeWarnings(warnings) }
}

const messagesOf = (...items: TurnItem[]) => encode({ items }).value['messages']
const ends = said('user', 99, 'go')
const end = { role: 'user', content: 'go' }

test('always streams, with usage, under the id of the model', () => {
  expect(encode({}).value).toEqual({
    model: 'gpt-4.1',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    stream_options: { include_usage: true },
  })
  expect(encode({}, { learnedRefusals: ['field:stream_options'] }).value).not.toHaveProperty('stream_options')
})

describe('messages', () => {
  test('keep their order, and system text keeps its position', () => {
    expect(messagesOf(said('system', 0, 'S', 'T'), said('user', 1, 'a'), said('system', 2, 'U'), ends)).toEqual([
      { role: 'system', content: 'S\n\nT' },
      { role: 'user', content: 'a' },
      { role: 'system', content: 'U' },
      end,
    ])
  })

  test('of a user keep their parts, and are a string where there is one text', () => {
    const detailed: TurnPart = { type: 'image', source: { type: 'url', url: 'https://e.x/a.png' }, detail: 'low' }
    expect(
      messagesOf(
        said('user', 0),
        said('user', 1, 'a', image, detailed),
        said('user', 2, { type: 'audio', data: 'UklG', format: 'wav' }),
      ),
    ).toEqual([
      { role: 'user', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          imageUrl,
          { type: 'image_url', image_url: { url: 'https://e.x/a.png', detail: 'low' } },
        ],
      },
      { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } }] },
    ])
  })

  test('of an assistant in a row are one: text of an item joined, items apart, calls in order', () => {
    const items = [
      said('assistant', 0, 'a', 'b'),
      call(0, 'x', ''),
      said('assistant', 0, { type: 'refusal', text: 'c' }),
      call(0, 'y', '{"x":1}'),
    ]
    expect(messagesOf(...items, result(1, 'x', 'r'), result(1, 'y', ''), ends)).toEqual([
      { role: 'assistant', content: 'ab\n\nc', tool_calls: [wireCall('x'), wireCall('y', '{"x":1}')] },
      { role: 'tool', tool_call_id: 'x', content: 'r' },
      { role: 'tool', tool_call_id: 'y', content: '' },
      end,
    ])
  })

  test('of an assistant that says nothing are left out', () => {
    expect(messagesOf(said('assistant', 0), reasoning(0, 'T'), ends)).toEqual([end])
  })

  test('of an assistant hold no images', () => {
    const { value, warnings } = encode({ items: [said('assistant', 3, 'a', image), ends] })
    expect(value['messages']).toEqual([{ role: 'assistant', content: 'a' }, end])
    expect(warnings).toEqual(['dropped;messages.3: an assistant message cannot hold image content'])
  })

  test('of compacted history keep the text, searches of another upstream do not', () => {
    const items: TurnItem[] = [
      { type: 'compaction', path: 'input.0', text: 'So far.' },
      { type: 'compaction', path: 'input.1', text: '' },
      { type: 'web_search', path: 'input.2', id: 'ws_1', query: 'q' },
      ends,
    ]
    const { value, warnings } = encode({ items })
    expect(value['messages']).toEqual([{ role: 'user', content: 'So far.' }, end])
    expect(warnings).toEqual([
      'compaction_dropped;input.0: only the text of the summary was sent',
      'compaction_dropped;input.1: only the text of the summary was sent',
      'dropped;input.2: a web search of another provider cannot be sent back',
    ])
  })

  test('fit the quirks of the model', () => {
    const items = [said('system', 0, 'S'), said('user', 1, ' ', 'go')]
    expect(encode({ items }, { model: sonnet }).value['messages']).toEqual([
      { role: 'system', content: 'S' },
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
    ])
    const { value, warnings } = encode({ items: [said('system', 0, 'S'), ends] }, { model: traits('o1') })
    expect(value['messages']).toEqual([{ role: 'user', content: 'S' }, end])
    expect(warnings).toEqual(['clamped;messages.0: o1 does not support system messages; sent as user messages'])
  })

  test('that end with the assistant are refused with Anthropic’s message', () => {
    const error = errorOf(() => encode({ items: [said('user', 0, 'json please'), said('assistant', 1, '{')] }))
    expect(error).toMatchObject({
      kind: 'invalid_request',
      detail: 'This model does not support assistant message prefill. The conversation must end with a user message.',
      code: 'assistant_prefill',
    })
  })
})

describe('tool results', () => {
  const calls = [call(0, 't1', '{"x":1}'), call(0, 't2')]
  const answered = { role: 'assistant', content: null, tool_calls: [wireCall('t1', '{"x":1}'), wireCall('t2')] }

  test('with images: all tool messages first, then one user message (case 04)', () => {
    expect(messagesOf(...calls, result(1, 't1', [image]), result(1, 't2', 'ok'))).toEqual([
      answered,
      { role: 'tool', tool_call_id: 't1', content: '[image attached below]' },
      { role: 'tool', tool_call_id: 't2', content: 'ok' },
      { role: 'user', content: [{ type: 'text', text: 'Images returned by tool call t1:' }, imageUrl] },
    ])
  })

  test('with images are not named by an id that upstream does not see', () => {
    const { value } = encode({ items: [call(0, 'call.1|fc'), result(1, 'call.1|fc', [image])] }, { model: sonnet })
    const json = JSON.stringify(value)
    expect(json).toContain('Images returned by tool call 1:')
    expect(json).not.toContain('call.1|fc')
  })

  test('with images and files of several calls', () => {
    expect(
      messagesOf(
        ...calls,
        result(1, 't1', [{ type: 'text', text: 'a' }, image, image]),
        result(1, 't2', [pdf, image]),
        ends,
      ),
    ).toEqual([
      answered,
      { role: 'tool', tool_call_id: 't1', content: 'a\n[image attached below]\n[image attached below]' },
      { role: 'tool', tool_call_id: 't2', content: '[file attached below]\n[image attached below]' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Images returned by tool call t1:' },
          imageUrl,
          imageUrl,
          { type: 'text', text: 'Files returned by tool call t2:' },
          { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          imageUrl,
        ],
      },
      end,
    ])
  })

  test.each([
    ['window lost', 'Error: window lost'],
    ['', 'Error'],
    ['<tool_use_error>no</tool_use_error>', '<tool_use_error>no</tool_use_error>'],
    ['Error: no such file', 'Error: no such file'],
    ['<error>no</error>', '<error>no</error>'],
    ['errors are rare', 'Error: errors are rare'],
  ])('of a failed call say so: %j', (text, expected) => {
    expect(messagesOf(call(0, 'a'), result(1, 'a', text, true))).toMatchObject([{}, { content: expected }])
  })
})

describe('documents (case 29)', () => {
  test('are files where they are at hand', () => {
    expect(messagesOf(said('user', 0, { ...pdf, filename: 'Spec.pdf' }, 'N\n\nnote'))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'Spec.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          { type: 'text', text: 'N\n\nnote' },
        ],
      },
    ])
  })

  test.each<[TurnPart, string]>([
    [
      { type: 'file', source: { type: 'url', url: 'https://e.x/a.pdf' } },
      'document url sources are not supported by this model',
    ],
    [
      { type: 'file', source: { type: 'file_id', id: 'x' } },
      'document file_id sources are not supported by this model',
    ],
    [{ type: 'image', source: { type: 'file_id', id: 'x' } }, 'image file_id sources are not supported by this model'],
  ])('are refused where upstream would have to fetch them: %j', (part, detail) => {
    expect(errorOf(() => messagesOf(said('user', 3, part)))).toEqual({
      kind: 'invalid_request',
      path: 'messages[3]',
      detail,
      code: 'unsupported_value',
    })
  })
})

describe('reasoning', () => {
  const gemini = traits('gemini-3-pro-preview')
  const assistantOf = (items: TurnItem[]) => {
    const { value, warnings } = encode({ items: [...items, result(8, 'x', 'r'), ends] }, { model: gemini })
    const { reasoning_text: text, reasoning_opaque: raw } = objectsOf(value['messages'])[0] ?? {}
    return { text, raw, warnings }
  }

  test.each([
    ['its own', opaque('google')],
    ['of a chat caller who cannot say whose it is', opaque('unknown')],
  ])('goes back to its maker: %s', (_, value) => {
    expect(assistantOf([reasoning(0, 'T', value), call(0, 'x')])).toEqual({ text: 'T', raw: 'RAW', warnings: [] })
    expect(assistantOf([reasoning(0, '', value), call(0, 'x')])).toEqual({ text: undefined, raw: 'RAW', warnings: [] })
  })

  test.each([
    opaque('anthropic'),
    opaque('google', 'signature'),
    opaque('google', 'encrypted_content'),
    opaque('unknown', 'redacted'),
  ])('of another maker or form is left out with a warning: %j', (value) => {
    expect(assistantOf([reasoning(0, 'T', value), call(0, 'x')])).toEqual({
      text: undefined,
      raw: undefined,
      warnings: ['thinking_dropped;messages.0: reasoning of another model dropped'],
    })
  })

  test('that is text alone is left out silently', () => {
    expect(assistantOf([reasoning(0, 'T'), call(0, 'x')])).toEqual({ text: undefined, raw: undefined, warnings: [] })
  })

  test('signed after its text gets the text back', () => {
    const items = [reasoning(0, 'T'), said('assistant', 0, 'a'), reasoning(0, '', opaque('google')), call(0, 'x')]
    expect(assistantOf(items)).toEqual({ text: 'T', raw: 'RAW', warnings: [] })
  })

  test('is one pair a message: the last before a call', () => {
    const items = [
      reasoning(0, 'S', { ...opaque('google'), value: 'FIRST' }),
      said('assistant', 0, 'a'),
      reasoning(1, 'T', opaque('google')),
      call(1, 'x'),
      reasoning(2, 'U', { ...opaque('google'), value: 'LAST' }),
      said('assistant', 2, 'b'),
    ]
    expect(assistantOf(items)).toEqual({
      text: 'T',
      raw: 'RAW',
      warnings: [
        'thinking_dropped;messages.0: the provider accepts only one reasoning block per message',
        'thinking_dropped;messages.2: the provider accepts only one reasoning block per message',
      ],
    })
  })
})

describe('tools', () => {
  test('after preparation: namespaces are flat (case 34)', () => {
    const parameters = { type: 'object', properties: {} }
    const { turn } = prepareTurn(
      turnOf({
        items: [said('user', 0, 'go')],
        tools: [tool('list', { namespace: 'gh' }), tool('exec', { namespace: 'functions' })],
      }),
      chatDialect.upstream.accepts(new Set()),
    )
    expect(encode(turn).value).toMatchObject({
      messages: [{ role: 'user', content: 'go' }],
      tools: [
        { type: 'function', function: { name: 'gh__list', parameters } },
        { type: 'function', function: { name: 'exec', parameters } },
      ],
    })
  })

  test('keep the caller’s members', () => {
    const { value } = encode({
      tools: [tool('a', { description: 'A', strict: true }), tool('b', { parameters: undefined })],
    })
    expect(value['tools']).toEqual([
      {
        type: 'function',
        function: { name: 'a', description: 'A', parameters: { type: 'object', properties: {} }, strict: true },
      },
      { type: 'function', function: { name: 'b', parameters: { type: 'object', properties: {} } } },
    ])
  })

  test.each<[Turn['toolChoice'], unknown]>([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'required' }, 'required'],
    [
      { type: 'tool', name: 'a' },
      { type: 'function', function: { name: 'a' } },
    ],
    [undefined, undefined],
  ])('choice %j', (toolChoice, expected) => {
    expect(encode({ tools: [tool('a')], toolChoice }).value['tool_choice']).toEqual(expected)
  })

  test('are fitted to Gemini, with a warning for what is lost that names the path', () => {
    const parameters = { type: 'object', properties: { a: { type: ['string', 'null'] } }, not: {} }
    const { value, warnings } = encode(
      { tools: [tool('a'), tool('b', { path: 'tools.7', parameters })] },
      { model: traits('gemini-2.5-pro') },
    )
    const fitted = { a: { type: 'string', description: '{type: ["string","null"]}' } }
    expect(value['tools']).toMatchObject([{}, { function: { parameters: { type: 'object', properties: fitted } } }])
    expect(warnings).toEqual(['schema_simplified;tools.7: the model does not take not'])
  })
})

describe('parameters', () => {
  const fieldNames = {
    ...turnOf().fieldNames,
    temperature: 'sampling.temperature',
    maxOutputTokens: 'cap',
    effort: 'output_config.effort',
    reasoning: 'thinking',
  }

  test('as chat has them', () => {
    const { value, warnings } = encode({
      parallelToolCalls: false,
      tools: [tool('a')],
      maxOutputTokens: 7,
      sampling: {
        temperature: 0.5,
        topP: 0.25,
        frequencyPenalty: 0.1,
        presencePenalty: 0.2,
        seed: 9,
        logitBias: { 5: 1 },
      },
      stop: ['END'],
      logprobs: { top: 2 },
      cacheKey: 'k',
    })
    expect(value).toMatchObject({
      parallel_tool_calls: false,
      max_tokens: 7,
      temperature: 0.5,
      top_p: 0.25,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      seed: 9,
      logit_bias: { 5: 1 },
      logprobs: true,
      top_logprobs: 2,
    })
    // Stop texts are watched for here, and no cache key is known upstream.
    expect(Object.keys(value)).not.toContain('stop')
    expect(JSON.stringify(value)).not.toContain('"k"')
    expect(warnings).toEqual([])
  })

  test('cause no warning if only their spelling changes', () => {
    const { value, warnings } = encode({ maxOutputTokens: 7, fieldNames }, { model: gpt5 })
    expect(value).toMatchObject({ max_completion_tokens: 7 })
    expect(warnings).toEqual([])
    expect(encode({ maxOutputTokens: 0 }).value).toMatchObject({ max_tokens: 1 })
    expect(encode({ maxOutputTokens: 7 }, { learnedRefusals: ['rename:max_tokens'] }).value).toMatchObject({
      max_completion_tokens: 7,
    })
  })

  test('that the model refuses cause warnings with the caller’s field names', () => {
    const model = traits('gpt-5-mini', { maxOutputTokens: 5 })
    const { warnings } = encode({ fieldNames, maxOutputTokens: 7, sampling: { temperature: 0, topK: 3 } }, { model })
    expect(warnings).toEqual([
      'dropped;sampling.temperature: not supported by gpt-5-mini',
      'dropped;top_k: not supported by gpt-5-mini',
      'clamped;cap: above the limit of gpt-5-mini; lowered to 5',
    ])
    expect(
      encode({ fieldNames, sampling: { temperature: 0 } }, { learnedRefusals: ['field:temperature'] }).warnings,
    ).toEqual(['refused_upstream;sampling.temperature: the provider has refused this field for this model'])
  })

  test('for tools are left out where there are none', () => {
    const { value, warnings } = encode({ parallelToolCalls: true, toolChoice: { type: 'required' } })
    expect(Object.keys(value)).toEqual(['model', 'messages', 'stream', 'stream_options'])
    expect(warnings).toEqual(['dropped;tool_choice: there are no tools'])
  })

  test.each([
    [gpt5, 'low', []],
    [gpt4, undefined, ['dropped;verbosity: only GPT-5 and later models support it']],
    [traits('o3'), undefined, ['dropped;verbosity: only GPT-5 and later models support it']],
  ] as const)('verbosity for $id', (model, sent, warned) => {
    const { value, warnings } = encode({ verbosity: 'low' }, { model })
    expect(value['verbosity']).toBe(sent)
    expect(warnings).toEqual(warned)
  })

  describe('effort', () => {
    const cases: readonly [ModelTraits, Turn['reasoning'], string | undefined, readonly string[]][] = [
      [
        listing('low', 'medium', 'high', 'xhigh'),
        { mode: 'adaptive', effort: 'max' },
        'xhigh',
        ['clamped;output_config.effort'],
      ],
      [listing('low', 'medium', 'high', 'xhigh'), { mode: 'enabled', budgetTokens: 10_000 }, 'high', []],
      [listing('low', 'medium', 'high', 'xhigh'), { mode: 'disabled' }, 'low', ['clamped;thinking.disabled']],
      [listing('none', 'high'), { mode: 'disabled' }, 'none', []],
      [listing('low', 'high'), { mode: 'adaptive' }, 'high', []],
      [listing('low', 'high'), { mode: 'enabled', budgetTokens: 2000 }, 'low', ['clamped;thinking']],
      [listing('low', 'high'), { summary: 'auto' }, undefined, []],
      [listing('low', 'high'), undefined, undefined, []],
      [gpt5, { effort: 'xhigh' }, 'high', ['clamped;output_config.effort']],
      [gpt4, { effort: 'high' }, undefined, ['dropped;output_config.effort']],
      [gpt4, { mode: 'adaptive' }, undefined, ['dropped;thinking']],
      [gpt4, { mode: 'disabled' }, undefined, []],
      [listing(), { effort: 'high' }, undefined, ['dropped;output_config.effort']],
      [
        traits('claude-opus-4.6', { supports: { reasoningEffort: ['low', 'high'] } }),
        { effort: 'medium' },
        'low',
        ['clamped;output_config.effort'],
      ],
    ]
    test.each(cases)('%j, %j', (model, asked, sent, warned) => {
      const { value, warnings } = encode({ fieldNames, reasoning: asked }, { model })
      expect(value['reasoning_effort']).toBe(sent)
      expect(warnings.map((warning) => warning.split(':')[0])).toEqual(warned)
    })

    const budgeted = traits('claude-sonnet-4.5', { supports: { minThinkingBudget: 1024, maxThinkingBudget: 32_000 } })
    test.each([
      ['a level', { effort: 'medium' }, undefined, 8192],
      ['the highest', { effort: 'max' }, undefined, 32_000],
      ['tokens', { mode: 'enabled', budgetTokens: 5000 } as const, undefined, 5000],
      ['more than the cap', { effort: 'high' }, 4000, 3999],
      ['what does not fit', { effort: 'high' }, 900, undefined],
      ['none', { mode: 'disabled' } as const, undefined, undefined],
    ])('of a model with a budget is that: %s', (_name, asked, maxOutputTokens, sent) => {
      const { value, warnings } = encode({ fieldNames, reasoning: asked, maxOutputTokens }, { model: budgeted })
      expect(value['thinking_budget']).toBe(sent)
      expect(value).not.toHaveProperty('reasoning_effort')
      expect(warnings).toEqual([])
    })

    test('that upstream refused before is not sent', () => {
      const { value, warnings } = encode(
        { fieldNames, reasoning: { effort: 'low' } },
        { model: gpt5, learnedRefusals: ['field:reasoning_effort'] },
      )
      expect(value).not.toHaveProperty('reasoning_effort')
      expect(warnings).toEqual([
        'refused_upstream;output_config.effort: the provider has refused this field for this model',
      ])
    })
  })

  test.each<[Turn['format'], unknown]>([
    [undefined, undefined],
    [{ type: 'json_object' }, { type: 'json_object' }],
    [
      { type: 'json_schema', name: 'out', description: 'd', strict: false, schema: { type: 'object' } },
      {
        type: 'json_schema',
        json_schema: { name: 'out', description: 'd', strict: false, schema: { type: 'object' } },
      },
    ],
    [
      { type: 'json_schema', name: 'out', schema: { type: 'object' } },
      { type: 'json_schema', json_schema: { name: 'out', schema: { type: 'object' } } },
    ],
    [
      { type: 'json_schema', schema: { type: 'object' } },
      { type: 'json_schema', json_schema: { name: 'response', strict: false, schema: { type: 'object' } } },
    ],
    [
      { type: 'json_schema', schema: { type: 'object', properties: {}, required: [], additionalProperties: false } },
      {
        type: 'json_schema',
        json_schema: {
          name: 'response',
          strict: true,
          schema: { type: 'object', properties: {}, required: [], additionalProperties: false },
        },
      },
    ],
  ])('format %j', (format, expected) => {
    expect(encode({ format }).value['response_format']).toEqual(expected)
  })
})

/** Which tools and which messages have a mark. */
function places(value: Record<string, unknown>): string[] {
  return ['tools', 'messages'].map((key) =>
    objectsOf(value[key])
      .map((entry) => ('copilot_cache_control' in entry ? 'x' : '-'))
      .join(''),
  )
}

describe('cache marks', () => {
  const cache = {}
  const marked = (text: string): TurnPart => ({ type: 'text', text, cache })
  const items = [
    said('system', 0, marked('S')),
    said('user', 1, marked('a'), 'b'),
    { ...call(2, 'x'), cache },
    { ...result(3, 'x', 'r'), cache },
  ]
  const tools = [tool('a', { cache }), tool('b', { cache })]
  test('go to Claude, the last four of them', () => {
    const { value } = encode({ items, tools }, { model: sonnet })
    expect(places(value)).toEqual(['--', 'xxxx'])
    expect(value['messages']).toMatchObject([{ copilot_cache_control: { type: 'ephemeral' } }, {}, {}, {}])
    const fewer = [said('system', 0, marked('S')), said('user', 1, 'a'), said('user', 1, marked('b'))]
    expect(places(encode({ items: fewer, tools: [...tools, tool('c', { cache })] }, { model: sonnet }).value)).toEqual([
      '-xx',
      'x-x',
    ])
  })

  test('go nowhere else, and not where upstream refused them', () => {
    expect(places(encode({ items, tools }).value)).toEqual(['--', '----'])
    expect(
      places(encode({ items, tools }, { model: sonnet, learnedRefusals: ['marks:copilot_cache_control'] }).value),
    ).toEqual(['--', '----'])
  })
})

test.each(['cline', 'continue', 'copilot-sdk', 'open-webui', 'opencode', 'pi'])(
  'what %s sends comes out the same with a Turn in between',
  async (client) => {
    const text = readFileSync(new URL(`../../fixtures/chat-requests/${client}.json`, import.meta.url), 'utf8')
    const context = contextOf({ model: gpt5 })
    const { turn } = prepareTurn(decodedOf(callOf(text)).turn, chatDialect.upstream.accepts(new Set()))
    const { body, warnings } = chatDialect.upstream.encodeTurn(turn, context)
    const shown = JSON.stringify({ body: JSON.parse(body.toString()), warnings: describeWarnings(warnings) }, null, 2)
    await expect(`${shown}\n`).toMatchFileSnapshot(`../../golden/chat-turn-chat/${client}.json`)
  },
)
