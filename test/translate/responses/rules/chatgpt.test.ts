import { responsesDialect } from '../../../../src/translate/responses/dialect.ts'
import type { EncodeContext } from '../../../../src/translate/dialect.ts'
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../../src/translate/dialects.ts'
import type { Turn } from '../../../../src/translate/turn.ts'
import { formatWarning } from '../../../../src/translate/warning.ts'
import { encodeContext, traits, turn, translateForResponses } from '../../turns.ts'
import { clientBodies } from '../caller-requests.ts'
import { errorOf } from '../../faults.ts'

type Json = Readonly<Record<string, unknown>>

const efforts = ['low', 'medium', 'high', 'xhigh', 'max']
const sol = traits('gpt-6-sol', { provider: 'codex', vendor: 'OpenAI', supports: { reasoningEffort: efforts } })

function contextOf(parts: Partial<EncodeContext> = {}): EncodeContext {
  return encodeContext(parts.model ?? sol, { profile: 'chatgpt', ...parts })
}

/** What the backend is sent for a request of its own dialect. */
function pass(body: Json, parts: Partial<EncodeContext> = {}) {
  const request = responsesDialect.decodeRequest(JSON.stringify({ model: 'm', input: 'hi', ...body }))
  const passed = responsesDialect.upstream.passRequest(request, contextOf(parts))
  if (passed === undefined) throw new Error('the request is to be translated')
  const sent: Json = JSON.parse(passed.body.toString())
  return { sent, warnings: passed.warnings.map(formatWarning), headers: passed.headers }
}

/** What it is sent for a request of another dialect. */
function encode(parts: Partial<Turn>, context: Partial<EncodeContext> = {}) {
  const said = [{ type: 'message', role: 'user', parts: [{ type: 'text', text: 'hi' }], path: 'messages.0' }] as const
  const encoded = responsesDialect.upstream.encodeTurn(turn({ items: said, ...parts }), contextOf(context))
  const sent: Json = JSON.parse(encoded.body.toString())
  return { sent, warnings: encoded.warnings.map(formatWarning), headers: encoded.headers }
}

const fn = (name: string, extra: Json = {}): Json => ({
  type: 'function',
  name,
  strict: false,
  parameters: { type: 'object', properties: {} },
  ...extra,
})

describe('what every request has', () => {
  test('a bare one gets it', () => {
    const { sent, warnings } = pass({})
    expect(sent).toEqual({
      model: 'gpt-6-sol',
      instructions: '',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: expect.stringMatching(/^cpx-[0-9a-f]{32}$/),
      store: false,
      stream: true,
    })
    expect(warnings).toEqual([])
  })

  test('one that says otherwise is put right', () => {
    expect(pass({ store: true, stream: false, instructions: null, include: [] }).sent).toMatchObject({
      store: false,
      stream: true,
      instructions: '',
      include: ['reasoning.encrypted_content'],
    })
  })

  test('one of another dialect gets it too', () => {
    const { sent } = encode({})
    expect(Object.keys(sent).toSorted()).toEqual(
      ['include', 'input', 'instructions', 'model', 'prompt_cache_key', 'store', 'stream'].toSorted(),
    )
    expect(sent).toMatchObject({ instructions: '', store: false, stream: true })
  })

  test('what the backend takes passes as it is', () => {
    const body = {
      instructions: 'i',
      input: [{ type: 'message', role: 'user', content: 'x' }],
      tools: [fn('run')],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { effort: 'low', context: 'all_turns' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'n', schema: {}, strict: true } },
      include: ['reasoning.encrypted_content'],
      service_tier: 'priority',
      prompt_cache_key: 'session-1',
      stream_options: { reasoning_summary_delivery: 'sequential_cutoff' },
      store: false,
      stream: true,
    }
    const { sent, warnings } = pass(body)
    expect(sent).toEqual({ model: 'gpt-6-sol', ...body })
    expect(warnings).toEqual([])
  })
})

describe('members the backend refuses', () => {
  test.each<[string, unknown]>([
    ['max_output_tokens', 500],
    ['max_tokens', 500],
    ['max_tool_calls', 3],
    ['temperature', 0],
    ['top_p', 0.5],
    ['frequency_penalty', 1],
    ['presence_penalty', 1],
    ['metadata', { a: 'b' }],
    ['user', 'u'],
    ['safety_identifier', 's'],
    ['truncation', 'auto'],
    ['prompt_cache_retention', '24h'],
    ['prompt_cache_options', { mode: 'implicit' }],
    ['context_management', [{ type: 'compaction', compact_threshold: 1000 }]],
    ['something_new', 1],
  ])('%s is left out, and it is said', (member, value) => {
    const { sent, warnings } = pass({ [member]: value })
    expect(sent).not.toHaveProperty(member)
    expect(warnings).toEqual([`dropped;${member}`])
  })

  test.each<[string, unknown]>([
    ['max_output_tokens', null],
    ['temperature', 1],
    ['top_p', 1],
    ['frequency_penalty', 0],
    ['presence_penalty', 0],
    ['top_logprobs', 0],
    ['metadata', {}],
    ['truncation', 'disabled'],
    ['context_management', []],
    ['background', false],
    ['conversation', null],
    ['client_metadata', { session: 's' }],
    ['service_tier', 'auto'],
    ['stream_options', { include_obfuscation: false, include_usage: true }],
    ['something_new', null],
  ])('%s goes silently where nothing is lost', (member, value) => {
    const { sent, warnings } = pass({ [member]: value })
    expect(sent).not.toHaveProperty(member)
    expect(warnings).toEqual([])
  })

  test.each<[string, Json]>([
    ['top_logprobs', { top_logprobs: 2 }],
    ['include', { include: ['message.output_text.logprobs'] }],
    ['moderation', { moderation: { model: 'omni-moderation-latest' } }],
    ['conversation', { conversation: 'conv_1' }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
    ['background', { background: true }],
  ])('%s is refused: without it the answer would be to another question', (path, body) => {
    expect(errorOf(() => pass(body))).toMatchObject({ kind: 'invalid_request', path })
  })

  test('a previous response that nobody has kept is refused', () => {
    expect(errorOf(() => pass({ previous_response_id: 'resp_1' }))).toMatchObject({ path: 'previous_response_id' })
  })

  test('strict refuses what would be left out', () => {
    const request = responsesDialect.decodeRequest('{"model":"m","input":"hi","temperature":0}')
    const open = () => translateForResponses(dialects.responses, request, contextOf({ strict: true }))
    expect(errorOf(open)).toMatchObject({ kind: 'invalid_request', path: 'temperature' })
  })

  test('warnings name no member that a header could not hold', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`x${at}`, 1]))
    const { warnings } = pass({ 'x\r\ny': 1, ...many })
    expect(warnings).toHaveLength(32)
    expect(warnings[0]).toBe('dropped;unknown member')
  })

  test("of other callers they are left out in the caller's own words", () => {
    const { sent, warnings } = encode({
      maxOutputTokens: 10,
      sampling: { temperature: 0, topP: 0.1, topK: 3, frequencyPenalty: 1, presencePenalty: 1, seed: 1 },
    })
    expect(warnings.toSorted()).toEqual(
      [
        'dropped;frequency_penalty',
        'dropped;max_tokens',
        'dropped;presence_penalty',
        'dropped;seed',
        'dropped;temperature',
        'dropped;top_k',
        'dropped;top_p',
      ].toSorted(),
    )
    expect(sent).not.toHaveProperty('max_output_tokens')
    expect(sent).not.toHaveProperty('temperature')
    expect(errorOf(() => encode({ logprobs: { top: 2 } }))).toMatchObject({ path: 'logprobs' })
  })
})

/** What it is sent for a caller who wants nothing lost. */
function openStrictly(caller: keyof typeof dialects, body: Json) {
  const dialect = dialects[caller]
  const request = dialect.decodeRequest(JSON.stringify({ model: 'm', ...body }))
  return translateForResponses(dialect, request, contextOf({ strict: true })).request
}

describe('under chat.strict', () => {
  const messages = [{ role: 'user', content: 'hi' }]

  test('a limit that the Messages API demands is left out with a warning', () => {
    expect(openStrictly('messages', { max_tokens: 9, messages }).warnings.map(formatWarning)).toEqual([
      'dropped;max_tokens',
    ])
    expect(errorOf(() => openStrictly('messages', { max_tokens: 9, top_k: 5, messages }))).toMatchObject({
      path: 'top_k',
    })
  })

  test.each([
    ['chat', { max_tokens: 9, messages }, 'max_tokens'],
    ['chat', { max_completion_tokens: 9, messages }, 'max_completion_tokens'],
    ['responses', { max_output_tokens: 90, input: 'hi' }, 'max_output_tokens'],
  ] as const)('one that a %s caller need not have sent is refused', (caller, body, path) => {
    expect(errorOf(() => openStrictly(caller, body))).toMatchObject({ kind: 'invalid_request', path })
  })
})

describe('what is inside', () => {
  test('includes that are no reasoning go', () => {
    const { sent, warnings } = pass({ include: ['web_search_call.action.sources', 'reasoning.encrypted_content'] })
    expect(sent['include']).toEqual(['reasoning.encrypted_content'])
    expect(warnings).toEqual(['dropped;include'])
  })

  test('stream options keep the one that is known', () => {
    const options = { include_obfuscation: false, reasoning_summary_delivery: 'sequential_cutoff' }
    expect(pass({ stream_options: options }).sent['stream_options']).toEqual({
      reasoning_summary_delivery: 'sequential_cutoff',
    })
  })

  test.each<[string, string, readonly string[] | undefined, string]>([
    ['clamped', 'none', efforts, 'low'],
    ['clamped', 'minimal', efforts, 'low'],
    ['clamped', 'none', undefined, 'low'],
    ['clamped', 'minimal', undefined, 'low'],
    ['clamped', 'max', ['low', 'medium', 'high', 'xhigh'], 'xhigh'],
    ['clamped', 'ultra', ['low', 'medium', 'high', 'xhigh'], 'xhigh'],
    ['adapted', 'ultra', efforts, 'max'],
    ['adapted', 'ultra', undefined, 'max'],
  ])('effort is %s: %s where the model lists %j is %s', (code, effort, reasoningEffort, sentAs) => {
    const model = traits('gpt-6-sol', { provider: 'codex', supports: { reasoningEffort } })
    const passed = pass({ reasoning: { effort } }, { model })
    expect(passed.sent['reasoning']).toEqual({ effort: sentAs })
    expect(passed.warnings).toEqual([`${code};reasoning.effort`])
    const encoded = encode({ reasoning: { effort, summary: 'none' } }, { model })
    expect(encoded.sent['reasoning']).toEqual({ effort: sentAs })
    expect(encoded.warnings).toContain(`${code};effort`)
  })

  test.each(['none', 'minimal'])('effort %s stays where the model lists it', (effort) => {
    const model = traits('gpt-6-sol', { provider: 'codex', supports: { reasoningEffort: [effort, 'low'] } })
    expect(pass({ reasoning: { effort } }, { model }).sent['reasoning']).toEqual({ effort })
  })

  test.each([
    [true, { effort: 'low', summary: 'auto' }, []],
    [false, { effort: 'low' }, ['dropped;reasoning.summary']],
    [undefined, { effort: 'low' }, ['dropped;reasoning.summary']],
  ])('a summary is asked for where the model takes the parameter: %s', (reasoningSummary, sentAs, warned) => {
    const model = traits('gpt-6-sol', { provider: 'codex', supports: { reasoningEffort: efforts, reasoningSummary } })
    const reasoning = { effort: 'low', summary: 'auto' }
    const { sent, warnings } = pass({ reasoning }, { model })
    expect(sent['reasoning']).toEqual(sentAs)
    expect(warnings).toEqual(warned)
    expect(encode({ reasoning }, { model }).sent['reasoning']).toEqual(sentAs)
  })

  test('settings of reasoning and text that are not known go', () => {
    const { sent, warnings } = pass({
      reasoning: { mode: 'pro', generate_summary: 'auto' },
      text: { format: null, tone: 'dry' },
    })
    expect(sent).not.toHaveProperty('reasoning')
    expect(sent).not.toHaveProperty('text')
    expect(warnings).toEqual(['dropped;reasoning.generate_summary', 'dropped;reasoning.mode', 'dropped;text.tone'])
  })

  test('a model without verbosity gets none', () => {
    const model = traits('gpt-6-sol', { provider: 'codex', supports: { verbosity: false } })
    const { sent, warnings } = pass({ text: { verbosity: 'low' } }, { model })
    expect(sent).not.toHaveProperty('text')
    expect(warnings).toEqual(['dropped;text.verbosity'])
    expect(encode({ verbosity: 'low' }, { model }).warnings).toEqual(['dropped;verbosity'])
  })
})

/** The items as the backend gets them. */
const items = (input: readonly unknown[]) => pass({ input }).sent['input']

describe('items', () => {
  test('messages state their type, and systems are developers', () => {
    expect(
      items([
        { role: 'system', content: 'x' },
        { role: 'user', content: 'y' },
      ]),
    ).toEqual([
      { type: 'message', role: 'developer', content: 'x' },
      { type: 'message', role: 'user', content: 'y' },
    ])
  })

  test('none has an id, and a phase stays', () => {
    const long = 'c'.repeat(80)
    const sent = items([
      { type: 'message', id: 'msg_1', role: 'assistant', phase: 'commentary', content: [] },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
      { type: 'function_call', id: 'fc_1', call_id: long, name: 'run', arguments: '{}' },
      { type: 'function_call_output', id: 'fco_1', call_id: long, output: 'ok' },
    ])
    const callId = expect.stringMatching(/^.{1,64}$/)
    expect(sent).toEqual([
      { type: 'message', role: 'assistant', phase: 'commentary', content: [] },
      { type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
      { type: 'function_call', call_id: callId, name: 'run', arguments: '{}' },
      { type: 'function_call_output', call_id: callId, output: 'ok' },
    ])
  })

  test('reasoning that upstream could not check goes', () => {
    expect(
      items([
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { role: 'user', content: 'y' },
      ]),
    ).toHaveLength(1)
  })
})

describe('tools', () => {
  const strictSchema = { type: 'object', properties: {}, required: [], additionalProperties: false }

  test.each<[string, Json, Json, readonly string[]]>([
    ['is stated', { strict: undefined }, { strict: false }, []],
    ['null is stated', { strict: null }, { strict: false }, []],
    [
      'stays where the schema is strict',
      { strict: true, parameters: strictSchema },
      { strict: true, parameters: strictSchema },
      [],
    ],
    ['goes where it is not', { strict: true }, { strict: false }, ['dropped;tools.0.strict']],
  ])('strict %s', (_, given, expected, warned) => {
    const { sent, warnings } = pass({ tools: [fn('run', given)] })
    expect(sent['tools']).toEqual([fn('run', expected)])
    expect(warnings).toEqual(warned)
  })

  test('inside of namespaces too, and parameters are an object', () => {
    const inner = { type: 'function', name: 'run' }
    const space = { type: 'namespace', name: 'ns', description: 'd' }
    expect(pass({ tools: [{ ...space, tools: [inner] }] }).sent['tools']).toEqual([{ ...space, tools: [fn('run')] }])
  })

  test('of other dialects state it as well', () => {
    const tools = [
      { type: 'function', name: 'run', parameters: { type: 'object', properties: {} }, path: 'tools.0' },
    ] as const
    expect(encode({ tools }).sent['tools']).toEqual([fn('run')])
  })

  test.each<Json>([
    fn('run'),
    { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    { type: 'namespace', name: 'ns', description: 'd', tools: [] },
    { type: 'tool_search', execution: 'client', description: 'd', parameters: {} },
    { type: 'web_search', external_web_access: true, search_context_size: 'low' },
  ])('$type passes', (tool) => {
    const { sent, warnings } = pass({ tools: [tool] })
    expect(sent['tools']).toEqual([tool])
    expect(warnings).toEqual([])
  })

  test('web search goes by its one name', () => {
    const { sent } = pass({ tools: [{ type: 'web_search_preview' }], tool_choice: { type: 'web_search_preview' } })
    expect(sent).toMatchObject({ tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } })
  })

  test.each(['file_search', 'code_interpreter', 'computer_use_preview', 'mcp', 'local_shell'])(
    'the hosted tool %s is refused',
    (type) => {
      expect(errorOf(() => pass({ tools: [fn('run'), { type }] }))).toMatchObject({
        path: 'tools[1].type',
        code: 'unsupported_tool',
      })
    },
  )

  test('one that clients offer anyway is left out, and refused where it is the point', () => {
    const tools = [{ type: 'image_generation' }, fn('run')]
    const { sent, warnings } = pass({ tools })
    expect(sent['tools']).toEqual([fn('run')])
    expect(warnings).toEqual(['dropped;tools.0'])
    expect(errorOf(() => pass({ tools: tools.slice(0, 1) }))).toMatchObject({ code: 'unsupported_tool' })
    expect(errorOf(() => pass({ tools, tool_choice: 'required' }))).toMatchObject({ code: 'unsupported_tool' })
    expect(errorOf(() => pass({ tools, tool_choice: { type: 'image_generation' } }))).toMatchObject({
      path: 'tool_choice',
    })
  })

  test('a choice names a tool that is there, in whichever list', () => {
    const choice = { type: 'function', name: 'run' }
    const space = { type: 'namespace', name: 'ns', description: 'd', tools: [fn('run')] }
    const brought = [
      { role: 'user', content: 'x' },
      { type: 'additional_tools', role: 'developer', tools: [fn('run')] },
    ]
    for (const body of [{ tools: [fn('run')] }, { tools: [space] }, { input: brought }]) {
      expect(pass({ ...body, tool_choice: choice }).sent['tool_choice']).toEqual(choice)
    }
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [choice] }
    expect(pass({ tools: [fn('run')], tool_choice: allowed }).sent['tool_choice']).toEqual(allowed)
    for (const missing of [choice, allowed, { type: 'web_search' }]) {
      expect(errorOf(() => pass({ tools: [fn('other')], tool_choice: missing }))).toMatchObject({ path: 'tool_choice' })
    }
  })

  test('without tools there is no choice among them', () => {
    const { sent, warnings } = pass({ tools: [], tool_choice: 'required', parallel_tool_calls: true })
    for (const member of ['tools', 'tool_choice', 'parallel_tool_calls']) expect(sent).not.toHaveProperty(member)
    expect(warnings).toEqual(['dropped;tool_choice'])
  })

  test('a request in the lite form is put into the usual one', () => {
    const space = { type: 'namespace', name: 'functions', description: 'd', tools: [fn('run')] }
    const developer = { type: 'message', role: 'developer', content: 'be brief' }
    const { sent } = pass({
      instructions: '',
      input: [{ type: 'additional_tools', role: 'developer', tools: [space] }, developer],
      parallel_tool_calls: false,
    })
    expect(sent).toMatchObject({ tools: [space], input: [developer], parallel_tool_calls: false })
  })
})

describe('clients', () => {
  const taken = new Set([
    'model',
    'instructions',
    'input',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'reasoning',
    'text',
    'include',
    'store',
    'stream',
    'stream_options',
    'service_tier',
    'prompt_cache_key',
  ])
  // It asks for log probabilities, which are refused.
  const clients = [...clientBodies].filter(([name]) => name !== 'openai-sdk')

  test.each(clients)('%s gets through, with nothing but what the backend takes', (_, text) => {
    const request = responsesDialect.decodeRequest(text)
    const { request: sent } = translateForResponses(dialects.responses, request, contextOf())
    const body: Json = JSON.parse(sent.body.toString())
    expect(Object.keys(body).filter((key) => !taken.has(key))).toEqual([])
  })
})
