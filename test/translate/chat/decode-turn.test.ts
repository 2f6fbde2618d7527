import { fc } from '../../fast-check.ts'
import { times } from '../../thorough.ts'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import { sealOpaque } from '../../../src/translate/engine/opaque-envelope.ts'
import { callOf, hello, describeWarnings, turnOf, type PassOptions } from './request-helpers.ts'
import { errorOf } from '../faults.ts'

const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown, rest = {}) => ({ role: 'assistant', content, ...rest })
const callEntry = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'f', arguments: args } })
const result = (id: string, content: unknown) => ({ role: 'tool', tool_call_id: id, content })

function decode(body: object, options: PassOptions = {}) {
  const { turn, warnings } = turnOf(callOf({ model: 'm', messages: hello, ...body }, options))
  return { turn, warnings: describeWarnings(warnings) }
}

const itemsOf = (...messages: object[]) => decode({ messages }).turn.items
const refusalOf = (body: object) => errorOf(() => decode(body))

const said = (role: string, at: number, ...texts: string[]) => ({
  type: 'message',
  role,
  path: `messages.${at}`,
  parts: texts.map((text) => ({ type: 'text', text })),
})

describe('messages', () => {
  test('stay in order, with developer text as system text', () => {
    expect(
      itemsOf({ role: 'developer', content: 'D1' }, { role: 'system', content: 'S1' }, user('u'), {
        role: 'developer',
        content: 'D2',
      }),
    ).toEqual([said('system', 0, 'D1'), said('system', 1, 'S1'), said('user', 2, 'u'), said('system', 3, 'D2')])
  })

  test('keep empty and blank text of callers, never trimmed; empty assistant text is none', () => {
    expect(
      itemsOf(
        user(''),
        assistant(''),
        user([
          { type: 'text', text: '  ' },
          { type: 'text', text: 'go ' },
        ]),
      ),
    ).toEqual([said('user', 0, ''), said('user', 2, '  ', 'go ')])
  })

  test('of an assistant become reasoning, text and calls', () => {
    const message = assistant('Let me look.', {
      reasoning_text: 'T',
      reasoning_opaque: 'O',
      tool_calls: [callEntry('a', ''), { id: 'b', type: 'custom', custom: { name: 'patch', input: '' } }],
    })
    const path = 'messages.0'
    expect(itemsOf(message, result('a', 'r'), result('b', []))).toEqual([
      {
        type: 'reasoning',
        path,
        text: 'T',
        opaque: { vendor: 'unknown', family: '', form: 'reasoning_opaque', value: 'O' },
      },
      said('assistant', 0, 'Let me look.'),
      { type: 'tool_call', kind: 'function', path, id: 'a', name: 'f', arguments: '{}' },
      { type: 'tool_call', kind: 'custom', path, id: 'b', name: 'patch', arguments: '' },
      { type: 'tool_result', path: 'messages.1', callId: 'a', content: 'r', isError: false },
      { type: 'tool_result', path: 'messages.2', callId: 'b', content: [], isError: false },
    ])
  })

  test('take a refusal as a part or as a member', () => {
    const refusal = { type: 'refusal', text: 'No.' }
    expect(itemsOf(assistant([{ type: 'refusal', refusal: 'No.' }]), assistant('a', { refusal: 'No.' }))).toMatchObject(
      [{ parts: [refusal] }, { parts: [{ type: 'text', text: 'a' }, refusal] }],
    )
  })

  test('in the way that came before tools are calls and results', () => {
    const { turn, warnings } = decode({
      functions: [{ name: 'f', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
      messages: [
        user('u'),
        assistant(null, { function_call: { name: 'f', arguments: '{"x":1}' } }),
        { role: 'function', name: 'f', content: 'r' },
      ],
    })
    expect(turn.items.slice(1)).toEqual([
      { type: 'tool_call', kind: 'function', path: 'messages.1', id: 'call_1', name: 'f', arguments: '{"x":1}' },
      { type: 'tool_result', path: 'messages.2', callId: 'call_1', content: 'r', isError: false },
    ])
    expect(turn.tools).toEqual([{ type: 'function', path: 'functions.0', name: 'f', parameters: { type: 'object' } }])
    expect(turn.toolChoice).toEqual({ type: 'tool', name: 'f' })
    expect(warnings).toEqual([])
  })

  test('beyond the history window are left out; the others keep their places in the body', () => {
    const messages = [{ role: 'system', content: 's' }, user('1'), assistant('2'), user('3'), assistant('4'), user('5')]
    const { turn, warnings } = decode({ messages }, { historyWindow: 2 })
    expect(turn.items.map(({ path }) => path)).toEqual(['messages.0', 'messages.3', 'messages.4', 'messages.5'])
    expect(warnings).toEqual(['history_cut;messages: 2 dropped by chat.history-window 2'])
  })

  test('lose the name of the participant, with one warning', () => {
    const messages = [
      user('u'),
      { ...user('v'), name: 'ann' },
      { ...user('w'), name: 'bob' },
      assistant('a', { tool_calls: [callEntry('c')] }),
      { ...result('c', 'r'), name: 'f' },
    ]
    expect(decode({ messages }).warnings).toEqual([
      'dropped;messages.1.name: the API of the provider does not support names of participants',
    ])
  })

  test('of an assistant hold text alone', () => {
    const messages = [
      user('u'),
      assistant(
        [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'https://e.x/a.png' } },
        ],
        { audio: { id: 'a' } },
      ),
      user('v'),
    ]
    const { turn, warnings } = decode({ messages })
    expect(turn.items[1]).toMatchObject({ parts: [{ type: 'text', text: 'a' }] })
    expect(warnings).toEqual([
      'dropped;messages.1.content.1: assistant messages can only have text and refusals',
      'dropped;messages.1.audio: audio of earlier answers cannot be sent back',
    ])
  })
})

const opaqueOf = (rest: object) => itemsOf(user('u'), assistant('a', rest))[1]

describe('reasoning handed back', () => {
  test('that is sealed says whose it is', () => {
    const opaque = {
      vendor: 'openai',
      provider: 'codex',
      family: 'gpt-6',
      form: 'encrypted_content',
      id: 'rs_1',
      value: 'ENC',
    } as const
    expect(opaqueOf({ reasoning_opaque: sealOpaque(opaque) })).toEqual({
      type: 'reasoning',
      path: 'messages.1',
      text: '',
      opaque,
    })
  })

  test.each(['reasoning_text', 'reasoning_content', 'reasoning'])('as %s is text', (key) => {
    expect(opaqueOf({ [key]: 'T' })).toEqual({ type: 'reasoning', path: 'messages.1', text: 'T' })
  })

  test('under several keys is read once', () => {
    expect(opaqueOf({ reasoning_content: 'T', reasoning_text: 'T' })).toEqual({
      type: 'reasoning',
      path: 'messages.1',
      text: 'T',
    })
  })

  test('that is damaged is left out with a warning', () => {
    const { turn, warnings } = decode({ messages: [assistant('a', { reasoning_opaque: 'cpx1.xx' }), user('u')] })
    expect(turn.items.map(({ type }) => type)).toEqual(['message', 'message'])
    expect(warnings).toEqual(['thinking_dropped;messages.0: its reasoning_opaque is damaged'])
  })
})

const partOf = (part: object) => {
  const [item] = itemsOf(user([part]))
  return item?.type === 'message' ? item.parts[0] : undefined
}

describe('parts', () => {
  test.each([
    [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } },
      { type: 'text', text: 'a', cache: { ttl: '1h' } },
    ],
    [
      { text: 'a', prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } },
      { type: 'text', text: 'a', cache: {} },
    ],
    [
      { type: 'image_url', image_url: { url: 'data:image/PNG;base64,iVBORw0=', detail: 'high' } },
      { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0=' }, detail: 'high' },
    ],
    [
      { type: 'image_url', image_url: { url: 'https://e.x/a.png' }, copilot_cache_control: { type: 'ephemeral' } },
      { type: 'image', source: { type: 'url', url: 'https://e.x/a.png' }, cache: {} },
    ],
    [
      { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
      { type: 'audio', data: 'UklG', format: 'wav' },
    ],
    [
      { type: 'file', file: { filename: 'Spec.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      {
        type: 'file',
        source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' },
        filename: 'Spec.pdf',
      },
    ],
    [
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'file', source: { type: 'file_id', id: 'file-1' } },
    ],
    [
      { type: 'file', file: { filename: 'N', file_data: 'data:text/plain;base64,bsO2dGU=' } },
      { type: 'text', text: 'N\n\nnöte' },
    ],
    [
      { type: 'refusal', refusal: 'No.' },
      { type: 'text', text: 'No.' },
    ],
  ])('%j', (part, expected) => {
    expect(partOf(part)).toEqual(expected)
  })

  test('of a tool result are parts too', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } }
    expect(
      itemsOf(assistant(null, { tool_calls: [callEntry('c')] }), result('c', [{ type: 'text', text: 'a' }, image]))[1],
    ).toMatchObject({
      content: [{ type: 'text', text: 'a' }, { type: 'image' }],
    })
  })

  test('a mark on an assistant message is a mark on its last call, or its text', () => {
    const mark = { copilot_cache_control: { type: 'ephemeral' } }
    const calling = assistant('a', { ...mark, tool_calls: [callEntry('x'), callEntry('y')] })
    expect(itemsOf(assistant('a', mark), calling, result('x', 'r'), result('y', 'r')).slice(0, 4)).toEqual([
      expect.objectContaining({ parts: [{ type: 'text', text: 'a', cache: {} }] }),
      expect.objectContaining({ parts: [{ type: 'text', text: 'a' }] }),
      expect.not.objectContaining({ cache: {} }),
      expect.objectContaining({ id: 'y', cache: {} }),
    ])
  })

  test('a mark on a message is a mark on its last part', () => {
    const [item] = itemsOf({
      ...user([
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ]),
      copilot_cache_control: { type: 'ephemeral' },
    })
    expect(item).toMatchObject({
      parts: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b', cache: {} },
      ],
    })
  })
})

describe('tools', () => {
  const schema = { type: 'object', properties: {} }

  test('of every kind', () => {
    const grammar = { syntax: 'lark', definition: 'start: /.+/' }
    const { turn } = decode({
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: 'F', parameters: schema, strict: true },
          cache_control: { type: 'ephemeral' },
        },
        { type: 'function', function: { name: 'g', description: null, parameters: null, strict: null } },
        { type: 'custom', custom: { name: 'p', description: 'P', format: { type: 'grammar', grammar } } },
        { type: 'custom', custom: { name: 'q', format: { type: 'text' } } },
        { type: 'file_search' },
      ],
    })
    expect(turn.tools).toEqual([
      { type: 'function', path: 'tools.0', name: 'f', description: 'F', parameters: schema, strict: true, cache: {} },
      { type: 'function', path: 'tools.1', name: 'g' },
      { type: 'custom', path: 'tools.2', name: 'p', description: 'P', format: { type: 'grammar', ...grammar } },
      { type: 'custom', path: 'tools.3', name: 'q', format: { type: 'text' } },
      { type: 'hosted', path: 'tools.4', wireType: 'file_search' },
    ])
  })

  test('web search is a tool', () => {
    const approximate = { country: 'DE', city: 'Berlin' }
    const options = { search_context_size: 'low', user_location: { type: 'approximate', approximate } }
    expect(decode({ web_search_options: options }).turn.tools).toEqual([
      {
        type: 'web_search',
        path: 'web_search_options',
        userLocation: { type: 'approximate', ...approximate },
        contextSize: 'low',
        onlyThere: [],
      },
    ])
    expect(decode({ web_search_options: {} }).turn.tools).toEqual([
      { type: 'web_search', path: 'web_search_options', onlyThere: [] },
    ])
  })

  test.each([
    ['DE', 'web_search_options.user_location'],
    [{ type: 'approximate', country: 'DE' }, 'web_search_options.user_location.approximate'],
    [{ type: 'exact', approximate: {} }, 'web_search_options.user_location.type'],
    [{ type: 'approximate', approximate: { city: 5 } }, 'web_search_options.user_location.approximate.city'],
  ])('the location of a web search %j is refused', (location, path) => {
    const decodeLocation = () => decode({ web_search_options: { user_location: location } })
    expect(decodeLocation).toThrow(expect.objectContaining({ error: expect.objectContaining({ path }) }))
  })

  test.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'required' }],
    [null, undefined],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'tool', name: 'f' },
    ],
    [
      { type: 'custom', custom: { name: 'p' } },
      { type: 'tool', name: 'p' },
    ],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
      { type: 'allowed', mode: 'required', tools: [{ name: 'f' }] },
    ],
  ])('tool_choice %j', (choice, expected) => {
    expect(decode({ tool_choice: choice }).turn.toolChoice).toEqual(expected)
  })
})

describe('parameters', () => {
  test('of every kind', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } }
    const { turn, warnings } = decode({
      max_completion_tokens: 7,
      temperature: 0.5,
      top_p: 0.25,
      top_k: 3,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      seed: 9,
      logit_bias: { 5: 1 },
      stop: ['a', '', 'b'],
      response_format: { type: 'json_schema', json_schema: { name: 'out', description: 'd', strict: true, schema } },
      verbosity: 'low',
      reasoning_effort: 'high',
      logprobs: true,
      top_logprobs: 2,
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      user: 'u',
    })
    expect(turn).toMatchObject({
      maxOutputTokens: 7,
      sampling: {
        temperature: 0.5,
        topP: 0.25,
        topK: 3,
        frequencyPenalty: 0.1,
        presencePenalty: 0.2,
        seed: 9,
        logitBias: { 5: 1 },
      },
      stop: ['a', 'b'],
      format: { type: 'json_schema', name: 'out', description: 'd', strict: true, schema },
      verbosity: 'low',
      reasoning: { effort: 'high' },
      logprobs: { top: 2 },
      parallelToolCalls: false,
      cacheKey: 'k',
    })
    expect(warnings).toEqual([])
  })

  test('that were not sent are not there', () => {
    const { fieldNames: _names, items: _items, ...rest } = decode({}).turn
    expect(rest).toEqual({ tools: [], sampling: {}, stop: [] })
    const names =
      'max_tokens max_completion_tokens temperature top_p top_k seed logit_bias stop n tools response_format verbosity ' +
      'reasoning_effort logprobs top_logprobs user x_unknown modalities parallel_tool_calls tool_choice ' +
      'web_search_options thinking prediction service_tier audio'
    const nulls = Object.fromEntries(names.split(' ').map((name) => [name, null]))
    const { fieldNames: _same, items: _hello, ...none } = decode(nulls).turn
    expect(none).toEqual(rest)
    expect(decode(nulls).warnings).toEqual([])
  })

  test('are named as the caller named them', () => {
    expect(decode({ max_tokens: 5 }).turn).toMatchObject({
      maxOutputTokens: 5,
      fieldNames: { maxOutputTokens: 'max_tokens' },
    })
    expect(decode({ max_completion_tokens: 5 }).turn.fieldNames.maxOutputTokens).toBe('max_completion_tokens')
    const both = decode({ max_tokens: 5, max_completion_tokens: 6 })
    expect(both.turn.maxOutputTokens).toBe(6)
    expect(both.warnings).toEqual(['dropped;max_tokens: max_completion_tokens is set too'])
  })

  test.each([
    [{ stop: 'x' }, { stop: ['x'] }],
    [{ stop: '' }, { stop: [] }],
    // A person, not a conversation.
    [{ user: 'u' }, {}],
    [{ prompt_cache_key: 'k' }, { cacheKey: 'k', sessionId: 'k' }],
    [{ response_format: { type: 'text' } }, {}],
    [{ response_format: { type: 'json_object' } }, { format: { type: 'json_object' } }],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'n' } } }, { format: { type: 'json_object' } }],
    [{ thinking: { type: 'adaptive' } }, { reasoning: { mode: 'adaptive' } }],
    [{ thinking: { type: 'enabled', budget_tokens: 2048 } }, { reasoning: { mode: 'enabled', budgetTokens: 2048 } }],
    [
      { thinking_budget: 2048, reasoning_effort: 'low' },
      { reasoning: { mode: 'enabled', budgetTokens: 2048, effort: 'low' } },
    ],
    [{ thinking_budget: 0 }, { reasoning: { mode: 'disabled' } }],
    [{ thinking: { type: 'unheard_of' } }, {}],
    [{ logprobs: false, top_logprobs: 2 }, {}],
  ])('%j', (sent, expected) => {
    const { fieldNames: _names, items: _items, tools: _tools, sampling: _sampling, ...rest } = decode(sent).turn
    expect(rest).toEqual({ stop: [], ...expected })
  })

  test('without an equivalent cause a warning, unless they change no answer', () => {
    const { warnings } = decode({
      store: true,
      metadata: { a: 'b' },
      audio: { voice: 'x' },
      user: 'u',
      safety_identifier: 's',
      prompt_cache_retention: '24h',
      stream_options: { include_usage: true },
      service_tier: 'priority',
      prediction: { type: 'content', content: 'x' },
      x_unknown: 1,
      modalities: ['text'],
    })
    expect(warnings).toEqual(
      ['store', 'metadata', 'audio', 'service_tier', 'prediction', 'x_unknown'].map(
        (name) => `dropped;${name}: the API of the provider does not have this field`,
      ),
    )
    expect(decode({ service_tier: 'auto', store: false, metadata: null }).warnings).toEqual([])
  })
})

describe('is refused', () => {
  test.each([
    [{ modalities: ['text', 'audio'], audio: { voice: 'x' } }, 'modalities'],
    [{ messages: [user([{ type: 'video_url', video_url: {} }])] }, 'messages[0].content[0].type'],
    [{ messages: [user('u'), result('c', [{ type: 'image', source: {} }])] }, 'messages[1].content[0].type'],
    [
      { messages: [user([{ type: 'image_url', image_url: { url: 'data:image/svg+xml,<svg/>' } }])] },
      'messages[0].content[0].image_url.url',
    ],
    [{ messages: [user([{ type: 'file', file: {} }])] }, 'messages[0].content[0].file.file_data'],
    [
      { messages: [user([{ type: 'file', file: { file_data: 'JVBERi0=' } }])] },
      'messages[0].content[0].file.file_data',
    ],
    [{ tool_choice: { type: 'unheard_of' } }, 'tool_choice.type'],
    [{ tool_choice: { type: 'function' } }, 'tool_choice.function.name'],
    [{ tool_choice: { type: 'allowed_tools' } }, 'tool_choice.allowed_tools'],
    [{ tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'x' } } }, 'tool_choice.allowed_tools.mode'],
    [{ tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto' } } }, 'tool_choice.allowed_tools.tools'],
    [
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function' }] } } },
      'tool_choice.allowed_tools.tools[0].function.name',
    ],
    [{ response_format: { type: 'grammar' } }, 'response_format.type'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [{ response_format: { type: 'json_schema', json_schema: {} } }, 'response_format.json_schema.name'],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: 1 } } },
      'response_format.json_schema.schema',
    ],
    [{ verbosity: 1 }, 'verbosity'],
    [{ top_k: 'x' }, 'top_k'],
    [{ web_search_options: 'on' }, 'web_search_options'],
    [{ web_search_options: { search_context_size: 'all' } }, 'web_search_options.search_context_size'],
    [{ n: 2 }, 'n'],
  ])('%j', (body, path) => {
    expect(refusalOf(body)).toMatchObject({ kind: 'invalid_request', path })
  })

  test('case 20: with the code OpenAI has for it', () => {
    expect(refusalOf({ n: 2 })).toMatchObject({ path: 'n', code: 'unsupported_value' })
  })
})

test('whatever passes as a request is a Turn or a refusal', () => {
  const loose = fc.jsonValue({ maxDepth: 2 })
  /** A value of the right kind, now and then of any other. */
  const mostly = <Value>(arbitrary: fc.Arbitrary<Value>) =>
    fc.oneof({ weight: 40, arbitrary }, { weight: 1, arbitrary: loose })
  const text = fc.constantFrom('', ' ', 'a', 'cpx1.x', 'https://e.x/a')
  const dataUrl = fc.constantFrom('data:image/png;base64,AA', 'data:text/plain;base64,AA', 'https://e.x/a')
  const part = fc.oneof(
    fc.record({ type: fc.constant('text'), text: mostly(text), cache_control: loose }),
    fc.record({ type: fc.constant('refusal'), refusal: mostly(text) }),
    fc.record({ image_url: mostly(fc.record({ url: mostly(dataUrl), detail: text })) }),
    fc.record({ input_audio: mostly(fc.record({ data: text, format: text })) }),
    fc.record({ file: mostly(fc.record({ file_data: mostly(dataUrl), filename: text })) }),
    mostly(fc.record({ type: fc.constant('text'), text })),
  )
  const content = fc.oneof(text, fc.array(part, { maxLength: 3 }))
  const call = fc.record({ id: text, function: fc.record({ name: text, arguments: text }) })
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('system', 'developer', 'user'), content, tool_calls: loose, name: text }),
    fc.record({ role: fc.constant('tool'), content, tool_call_id: text, copilot_cache_control: loose }),
    fc.record({ role: fc.constant('function'), name: text, content }),
    fc.record(
      {
        role: fc.constant('assistant'),
        content: fc.oneof(content, fc.constant(null)),
        tool_calls: mostly(fc.array(mostly(call), { maxLength: 2 })),
        function_call: mostly(fc.constantFrom(null, { name: 'f', arguments: '' })),
        reasoning_text: fc.oneof(loose, text),
        reasoning_opaque: fc.oneof(loose, text),
        refusal: loose,
        audio: loose,
      },
      { requiredKeys: ['role'] },
    ),
  )
  const named = mostly(fc.record({ name: text, description: mostly(text) }))
  const body = fc.record(
    {
      model: fc.constant('m'),
      messages: fc.array(message, { minLength: 1, maxLength: 4 }),
      tools: fc.array(fc.record({ type: fc.constantFrom('function', 'custom'), function: named, custom: named }), {
        maxLength: 2,
      }),
      tool_choice: mostly(fc.constantFrom('auto', { type: 'custom', custom: { name: 'f' } })),
      web_search_options: mostly(fc.record({ user_location: loose })),
      response_format: mostly(fc.constantFrom({ type: 'text' }, { type: 'json_object' })),
      thinking: loose,
      modalities: loose,
      verbosity: mostly(text),
      top_k: mostly(fc.nat()),
    },
    { requiredKeys: ['model', 'messages'] },
  )
  let decoded = 0
  fc.assert(
    fc.property(body, fc.nat({ max: 2 }), (value, historyWindow) => {
      try {
        const { turn } = turnOf(callOf(value, { historyWindow }))
        JSON.stringify(turn)
        decoded += 1
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
    { numRuns: 2000 },
  )
  // Else the property would hold of refusals alone.
  expect(decoded).toBeGreaterThan(times(200))
})
