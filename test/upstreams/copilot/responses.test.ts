import { expect, test } from 'vitest'
import { eventsOf, messageOf, refusalOf, responses, textOf } from './test-calls.ts'
import type { Body, Event, OutputItem } from './test-calls.ts'

const tools = [
  {
    type: 'function',
    name: 'read_file',
    parameters: { type: 'object', properties: { filePath: { type: 'string' } }, required: ['filePath'] },
  },
  { type: 'function', name: 'list_all', parameters: { type: 'object', properties: {} } },
]
const encrypted = { include: ['reasoning.encrypted_content'] }
const summarized = { reasoning: { effort: 'low', summary: 'auto' }, ...encrypted }

const user = { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }
const call = { type: 'function_call', call_id: 'call_1', name: 'read_file', arguments: '{}' }
const output = { type: 'function_call_output', call_id: 'call_1', output: 'forty-two' }

/** Items as the done events have them, which is what a client sends back. */
function doneItems(body: Body): readonly OutputItem[] {
  return eventsOf(responses(body)).flatMap(({ type, item }) =>
    type === 'response.output_item.done' && item !== undefined ? [item] : [],
  )
}

function withoutId(item: OutputItem): Body {
  return { ...item, id: undefined }
}

test.for<[string, Body]>([
  ['text', { ...summarized }],
  ['calls-with-reasoning', { ...summarized, input: '[demo:tools] [demo:reasoning]', tools }],
  ['failure', { input: '[demo:error-mid]' }],
  ['cut-call', { input: '[demo:tool] [demo:length]', tools }],
  ['search', { input: '[demo:search weather]', tools: [{ type: 'web_search' }] }],
])('writes its streams as the real route does: %s', async ([name, body]) => {
  // Opaque texts are shown by their first characters: that they differ is what matters.
  const shown = textOf(responses(body)).replaceAll(/"([\w+/]{12})[\w+/]{280,}=*"/g, '"$1…"')
  await expect(shown).toMatchFileSnapshot(`../../golden/upstreams/responses-${name}.txt`)
})

test('numbers its events from 0, names each twice, and sends no [DONE]', () => {
  const outcome = responses({ input: '[demo:tools]', tools, ...summarized })
  const events = eventsOf(outcome)
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at))
  const named = textOf(outcome)
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => /^event: (\S+)\n/.exec(frame)?.[1])
  expect(named).toEqual(events.map((event) => event.type))
  expect(textOf(outcome)).not.toContain('[DONE]')
})

/** The items an event shows, one or all. */
function itemsIn({ item, response }: Event): readonly OutputItem[] {
  return item === undefined ? (response?.output ?? []) : [item]
}

test('no two events have the same item id, and all of them are long base64', () => {
  const events = eventsOf(responses({ input: '[demo:tools] [demo:reasoning]', tools, ...summarized }))
  const ids = events.flatMap((event) => event.item_id ?? itemsIn(event).map(({ id = '' }) => id))
  expect(ids.length).toBeGreaterThan(20)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[\w+/]{300,}==$/)
})

test('the ciphertext of a thought differs in all three frames', () => {
  const events = eventsOf(responses(summarized))
  const texts = events.flatMap(itemsIn).flatMap((item) => item.encrypted_content ?? [])
  expect(texts).toHaveLength(3)
  expect(new Set(texts).size).toBe(3)
})

function reasoningIn(body: Body): Body | undefined {
  return doneItems(body).find(({ type }) => type === 'reasoning')
}

test('a model that reasons always shows a reasoning item, with ciphertext and summary for those who ask', () => {
  expect(reasoningIn({})).toEqual({ type: 'reasoning', id: expect.any(String), summary: [] })
  expect(reasoningIn(encrypted)).toMatchObject({
    encrypted_content: expect.stringMatching(/^[\w+/]{300,}=*$/),
    summary: [],
  })
  expect(reasoningIn({ ...summarized, input: '[demo:reasoning]' })).toMatchObject({
    summary: [{ type: 'summary_text', text: expect.stringContaining('wants to see thinking') }],
  })
  expect(reasoningIn({ input: '[demo:redacted]', ...summarized })).toMatchObject({ summary: [] })
  expect(reasoningIn({ model: 'gpt-5.1', reasoning: { effort: 'none' } })).toBeUndefined()
})

function types(model: string): readonly string[] {
  return eventsOf(responses({ model, input: '[demo:reasoning]', ...summarized })).map(({ type }) => type)
}

test('newer models stream their summary, older ones state it at the end', () => {
  expect(types('gpt-5.4')).toContain('response.reasoning_summary_text.delta')
  expect(types('gpt-5-mini').filter((type) => type.includes('summary'))).toEqual([])
})

test('deltas carry obfuscation, those of text logprobs, and the end what it cost', () => {
  const events = eventsOf(responses({}))
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta')
  for (const delta of deltas) expect(delta).toMatchObject({ logprobs: [], obfuscation: expect.any(String) })
  expect(events.at(-1)).toMatchObject({
    type: 'response.completed',
    copilot_quota_snapshots: { premium_interactions: { entitlement: '300' } },
    copilot_usage: { total_nano_aiu: expect.any(Number) },
    response: {
      usage: { input_tokens: 1, output_tokens_details: { reasoning_tokens: 1 } },
    },
  })
})

test.for([
  ['[demo:length]', 'max_output_tokens'],
  ['[demo:filter]', 'content_filter'],
])('%s ends incomplete', ([marker, reason]) => {
  const end = eventsOf(responses({ input: `${marker} [demo:long 10]` })).at(-1)
  expect(end).toMatchObject({
    type: 'response.incomplete',
    response: { status: 'incomplete', incomplete_details: { reason } },
  })
})

test('a failure in the middle is a failed response, or an error event, with the next number', () => {
  const failed = eventsOf(responses({ input: '[demo:error-mid]' }))
  expect(failed.at(-1)).toMatchObject({
    type: 'response.failed',
    sequence_number: failed.length - 1,
    response: { status: 'failed', error: { code: 'server_is_overloaded' } },
  })
  const wished = eventsOf(responses({ input: '[demo:error-mid rate_limit_exceeded]' })).at(-1)
  expect(wished).toMatchObject({ response: { error: { code: 'rate_limit_exceeded' } } })
  const bare = eventsOf(responses({ input: '[demo:error-event cyber_policy]' })).at(-1)
  expect(bare).toMatchObject({ type: 'error', code: 'cyber_policy', param: null })
})

test('[demo:sparse] has calls without ids and an end without output', () => {
  const events = eventsOf(responses({ input: '[demo:sparse] [demo:tool]', tools }))
  const added = events.filter(({ item }) => item?.type === 'function_call')
  expect(added.map(({ item }) => item?.id)).toEqual([undefined, undefined])
  expect(events.at(-1)?.response?.output).toEqual([])
})

test('calls tools of namespaces and custom tools as what they are', () => {
  const offered = [
    { type: 'namespace', name: 'gh', description: 'GitHub', tools },
    { type: 'custom', name: 'apply_patch', format: { type: 'text' } },
  ]
  const items = doneItems({
    input: '[demo:tool gh__list_all] [demo:tool apply_patch "*** Begin\\n[x]"]',
    tools: offered,
  })
  expect(items.slice(1)).toMatchObject([
    { type: 'function_call', name: 'list_all', namespace: 'gh', arguments: '{}' },
    { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin\n[x]' },
  ])
})

test('a request that ends with a compaction trigger gets a compaction that may come back', () => {
  const items = doneItems({ input: [user, { type: 'compaction_trigger' }] })
  expect(items).toMatchObject([{ type: 'compaction', encrypted_content: expect.any(String) }])
  const again = responses({ input: [...items.map(withoutId), user] })
  expect(again.kind).toBe('stream')
})

// What comes back.

test.each(['response.output_item.done', 'response.completed'])(
  'a thought of %s comes back with its own long id',
  (moment) => {
    const thought = thoughtOf(eventsOf(responses(encrypted)), moment)
    expect(responses({ input: [user, thought, user] }).kind).toBe('stream')
  },
)

test('a thought of a done event comes back, without its id', () => {
  const items = doneItems({ ...summarized, input: '[demo:tool] [demo:reasoning]', tools })
  const sent = [user, ...items.map(withoutId), { ...output, call_id: 'call_demo_1_0' }]
  expect(responses({ input: sent, tools }).kind).toBe('stream')
})

function thoughtOf(events: readonly Event[], moment: string): OutputItem {
  const found = events.filter(({ type }) => type === moment).flatMap(itemsIn)
  return found.find(({ type }) => type === 'reasoning') ?? expect.fail(`no thought in ${moment}`)
}

test.for<[string, (events: readonly Event[]) => Body, string, string]>([
  [
    'with an id of another kind',
    (events) => ({ ...thoughtOf(events, 'response.output_item.done'), id: 'rs_1' }),
    'invalid_encrypted_content',
    'Encrypted content item_id did not match the target item id.',
  ],
  [
    'from the first event',
    (events) => withoutId(thoughtOf(events, 'response.output_item.added')),
    'invalid_encrypted_content',
    'could not be decrypted',
  ],
  [
    'from elsewhere',
    () => ({ type: 'reasoning', summary: [], encrypted_content: 'Z0FBQUFB' }),
    'invalid_encrypted_content',
    'could not be decrypted',
  ],
  ['without ciphertext', () => ({ type: 'reasoning', summary: [] }), 'invalid_encrypted_content', 'decrypted'],
  [
    'without a summary',
    (events) => {
      return { ...withoutId(thoughtOf(events, 'response.output_item.done')), summary: undefined }
    },
    'missing_required_parameter',
    "Missing required parameter: 'input[1].summary'.",
  ],
])('refuses a thought %s', ([, pick, code, message]) => {
  const thought = pick(eventsOf(responses(encrypted)))
  const { status, body } = refusalOf(responses({ input: [user, thought, user] }))
  expect(status).toBe(400)
  expect(body).toMatchObject({ error: { code, message: expect.stringContaining(message) } })
})

test('refuses a ciphertext that was changed in one place', () => {
  const thought = withoutId(thoughtOf(eventsOf(responses(encrypted)), 'response.output_item.done'))
  const text = String(thought['encrypted_content'])
  const changed = `${text.slice(0, 200)}${text[200] === 'A' ? 'B' : 'A'}${text.slice(201)}`
  expect(messageOf(responses({ input: [user, { ...thought, encrypted_content: changed }, user] }))).toContain(
    'decrypted',
  )
})

test('a thought is good after a restart and on another server', () => {
  const thought = withoutId(thoughtOf(eventsOf(responses(encrypted, { number: 7 })), 'response.output_item.done'))
  expect(responses({ input: [user, thought, user] }, { number: 1 }).kind).toBe('stream')
})

test('[demo:replay] wants the thinking of its answer back', () => {
  const asked = { role: 'user', content: '[demo:replay] [demo:tool]' }
  const items = doneItems({ input: [asked], tools, ...encrypted })
  const result = { ...output, call_id: 'call_demo_1_0' }
  const whole = [asked, ...items.map(withoutId), result]
  expect(responses({ input: whole, tools, ...encrypted }).kind).toBe('stream')
  const forgotten = whole.filter((item) => !('type' in item) || item.type !== 'reasoning')
  expect(messageOf(responses({ input: forgotten, tools, ...encrypted }))).toContain("required 'reasoning' item")
  expect(responses({ input: [...whole, user], tools, ...encrypted }).kind).toBe('stream')
  expect(messageOf(responses({ input: [...forgotten, user], tools, ...encrypted }))).toContain("required 'reasoning'")
})

// Refusals.

const image = { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] }
const long = 'x'.repeat(65)

const ROWS: readonly [refuses: string, body: Body, code: string, message: string, param?: string][] = [
  ['an unknown model', { model: 'gpt-9' }, 'model_not_supported', 'not supported', 'model'],
  [
    'a model of another endpoint',
    { model: 'gpt-4.1' },
    'unsupported_api_for_model',
    'model "gpt-4.1" is not accessible via the /responses endpoint',
  ],
  ['a broken shape', { input: [{ role: 'user', content: 3 }] }, 'invalid_type', "Invalid type for 'input[0].content'"],
  ['a missing model', { model: undefined }, 'missing_required_parameter', "Missing required parameter: 'model'."],
  ['no input', { input: [] }, 'missing_required_parameter', 'One of "input"', 'input'],
  ['store', { store: true }, 'unsupported_value', "'store'", 'store'],
  [
    'previous_response_id',
    { previous_response_id: 'resp_1' },
    'previous_response_not_found',
    "Previous response with id 'resp_1' not found.",
    'previous_response_id',
  ],
  ...['background', 'conversation', 'prompt', 'safety_identifier', 'service_tier'].map(
    (name): [string, Body, string, string, string] => [
      name,
      { [name]: name === 'background' ? true : 'x' },
      'unsupported_parameter',
      `Unsupported parameter: '${name}'`,
      name,
    ],
  ),
  [
    'an unknown parameter',
    { client_metadata: {} },
    'unknown_parameter',
    "Unknown parameter: 'client_metadata'.",
    'client_metadata',
  ],
  ['a temperature', { temperature: 1 }, 'unsupported_parameter', "Unsupported parameter: 'temperature'", 'temperature'],
  [
    'compaction in advance on a model that is not asked for it',
    { model: 'gpt-5.1', context_management: [{ type: 'compaction', compact_threshold: 1000 }] },
    'unsupported_parameter',
    "Unsupported parameter: 'context_management'",
    'context_management',
  ],
  ['top_p', { top_p: 0.5 }, 'unsupported_parameter', "'top_p' is not supported with this model.", 'top_p'],
  [
    'effort minimal',
    { reasoning: { effort: 'minimal' } },
    'invalid_reasoning_effort',
    'supported values: [low medium high]',
  ],
  ['an output below 16', { max_output_tokens: 15 }, 'integer_below_min_value', 'Expected a value >= 16, but got 15'],
  ['an output above the model’s', { max_output_tokens: 128_001 }, 'integer_above_max_value', '<= 128000'],
  [
    'image generation',
    { tools: [{ type: 'image_generation' }] },
    'unsupported_value',
    'The requested tool image_generation is not supported.',
    'tools',
  ],
  [
    'other hosted tools',
    { tools: [{ type: 'file_search' }] },
    'invalid_value',
    "Invalid value: 'file_search'.",
    'tools[0].type',
  ],
  [
    'custom tools on an older model',
    { model: 'gpt-5-mini', tools: [...tools, { type: 'custom', name: 'x' }] },
    'invalid_value',
    "Invalid value: 'custom'. Supported values are: 'function', 'web_search'",
    'tools[2].type',
  ],
  [
    'namespaces on an older model',
    { model: 'gpt-5', tools: [{ type: 'namespace', name: 'x', description: 'X', tools }] },
    'invalid_value',
    "Invalid value: 'namespace'.",
    'tools[0].type',
  ],
  [
    'custom calls on an older model',
    { model: 'gpt-5-mini', input: [{ type: 'custom_tool_call', call_id: 'c', name: 'x', input: '' }] },
    'invalid_value',
    "Invalid value: 'custom_tool_call'.",
    'input[0]',
  ],
  [
    'a long tool name',
    { tools: [{ ...tools[0], name: long }] },
    'string_above_max_length',
    "Invalid 'tools[0].name': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
    'tools[0].name',
  ],
  [
    'a long name in a namespace',
    { tools: [{ type: 'namespace', name: 'gh', description: 'GitHub', tools: [{ ...tools[0], name: long }] }] },
    'string_above_max_length',
    'string too long',
    'tools[0].tools[0].name',
  ],
  [
    'a name with dots',
    { tools: [{ ...tools[0], name: 'a.b' }] },
    'invalid_value',
    'does not match pattern',
    'tools[0].name',
  ],
  [
    'more than 128 tools',
    { model: 'gpt-5-mini', tools: Array.from({ length: 129 }, () => tools[0]) },
    'array_above_max_length',
    'length 129',
    'tools',
  ],
  [
    'a schema without type',
    { tools: [{ type: 'function', name: 'x', parameters: {} }] },
    'invalid_request_body',
    'schema must be a JSON Schema of \'type: "object"\', got \'type: "None"\'.',
  ],
  [
    'a schema with alternatives at its top',
    { tools: [{ type: 'function', name: 'x', parameters: { type: 'object', properties: {}, anyOf: [] } }] },
    'invalid_request_body',
    'at the top level',
  ],
  [
    'a schema without properties',
    { tools: [{ type: 'function', name: 'x', parameters: { type: 'object' } }] },
    'invalid_request_body',
    'object schema missing properties',
  ],
  [
    'a strict schema that is open',
    { tools: [{ ...tools[0], strict: true }] },
    'invalid_function_parameters',
    "'additionalProperties' is required",
  ],
  [
    'a forced choice without tools',
    { tool_choice: 'required' },
    'invalid_value',
    "with 'tools' parameter",
    'tool_choice',
  ],
  [
    'the choice of an absent tool',
    { tools, tool_choice: { type: 'function', name: 'x' } },
    'invalid_value',
    "Tool choice 'x' not found in 'tools' parameter.",
  ],
  [
    'a tool_choice that only Gemini knows',
    { tools, tool_choice: 'validated' },
    'invalid_value',
    "'validated'",
    'tool_choice',
  ],
  ...['', undefined].map((description): (typeof ROWS)[number] => [
    `a namespace whose description is ${description === '' ? 'empty' : 'absent'}`,
    { tools: [{ type: 'namespace', name: 'gh', description, tools }] },
    description === '' ? 'empty_string' : 'missing_required_parameter',
    "'tools[0].description'",
    'tools[0].description',
  ]),
  ['an unknown item', { input: [{ type: 'mcp_call' }] }, 'invalid_value', "'mcp_call'", 'input[0]'],
  ['a long item id', { input: [{ ...user, id: long }] }, 'string_above_max_length', "'input[0].id'", 'input[0].id'],
  [
    'a long call id',
    {
      input: [
        { ...call, call_id: long },
        { ...output, call_id: long },
      ],
    },
    'string_above_max_length',
    "Invalid 'input[0].call_id': string too long",
    'input[0].call_id',
  ],
  ['an empty call id', { input: [{ ...call, call_id: '' }] }, 'empty_string', "'input[0].call_id'", 'input[0].call_id'],
  ['a call of a long name', { input: [{ ...call, name: long }] }, 'string_above_max_length', '', 'input[0].name'],
  [
    'endless arguments',
    { input: [{ ...call, arguments: ' '.repeat(1_048_577) }] },
    'string_above_max_length',
    'maximum length 1048576',
    'input[0].arguments',
  ],
  [
    'a call without output',
    { input: [user, call, user] },
    'invalid_request_body',
    'No tool output found for function call call_1.',
  ],
  [
    'a custom call without output',
    { input: [{ type: 'custom_tool_call', call_id: 'c', name: 'x', input: '' }] },
    'invalid_request_body',
    'No tool output found for custom tool call c.',
  ],
  [
    'an output without call',
    { input: [output] },
    'invalid_request_body',
    'No tool call found for function call output with call_id call_1.',
  ],
  [
    'user parts in an assistant message',
    { input: [user, { role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] },
    'invalid_value',
    "Invalid value: 'input_text'. Supported values are: 'output_text', 'refusal'.",
    'input[1].content[0]',
  ],
  ['an image without the vision header', { input: [image] }, '', 'missing required Copilot-Vision-Request header'],
  [
    'an image in an output without the vision header',
    { input: [user, call, { ...output, output: image.content }] },
    '',
    'Copilot-Vision-Request',
  ],
  [
    'a prompt above the limit',
    { input: 'four'.repeat(272_001) },
    'model_max_prompt_tokens_exceeded',
    'prompt token count of 272001 exceeds the limit of 272000',
  ],
  [
    'a foreign compaction',
    { input: [{ type: 'compaction', encrypted_content: 'x' }] },
    'invalid_encrypted_content',
    'decrypted',
  ],
]

test.for(ROWS)('refuses %s', ([, body, code, message, param]) => {
  const { status, body: answer } = refusalOf(responses(body))
  expect(status).toBe(400)
  expect(answer).toMatchObject({
    error: { code, message: expect.stringContaining(message), ...(param !== undefined && { param }) },
  })
})

test('an item reference is 401, though nothing is wrong with the token', () => {
  const { status, body } = refusalOf(responses({ input: [{ type: 'item_reference', id: 'msg_1' }, user] }))
  expect(status).toBe(401)
  expect(body).toEqual({ error: { message: 'input item ID does not belong to this connection', code: '' } })
})

test('reports the first of two errors', () => {
  expect(messageOf(responses({ store: true, input: [output] }))).toContain("'store'")
})

test('an image address is refused with the vision header too, a data URL is taken', () => {
  const outside = { role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/x.png' }] }
  expect(messageOf(responses({ input: [outside] }, { hasVisionHeader: true }))).toContain('external image URLs')
  expect(responses({ input: [image] }, { hasVisionHeader: true }).kind).toBe('stream')
})

test('takes what GitHub’s own client and the Codex CLI send', () => {
  const taken = responses({
    instructions: 'Be brief.',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'D' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Ho', annotations: [] }],
      },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    ],
    tools: [
      ...tools,
      { type: 'web_search', external_web_access: true },
      { type: 'namespace', name: 'gh', description: 'GitHub', tools },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    max_output_tokens: 1000,
    store: false,
    text: { verbosity: 'low' },
    truncation: 'disabled',
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    context_management: [{ type: 'compaction', compact_threshold: 1000 }],
    prompt_cache_key: 'session',
    top_logprobs: 0,
    service_tier: null,
  })
  expect(eventsOf(taken).at(-1)?.response).toMatchObject({ usage: { input_tokens_details: { cached_tokens: 2 } } })
})

const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } }
const marked = { type: 'input_text', text: 'Hi', ...breakpoint }

test.for<[string, Body, string | undefined]>([
  ['on what the user says', { model: 'gpt-5.6', input: [{ role: 'user', content: [marked] }] }, undefined],
  ['with options', { model: 'gpt-5.6', prompt_cache_options: { mode: 'explicit' } }, undefined],
  [
    'of an older model',
    { input: [{ role: 'user', content: [marked] }] },
    'input[0].content[0].prompt_cache_breakpoint',
  ],
  ['options of an older model', { prompt_cache_options: { mode: 'implicit' } }, 'prompt_cache_options'],
  [
    'on what the assistant said',
    {
      model: 'gpt-5.6',
      input: [{ role: 'assistant', content: [{ type: 'output_text', text: 'x', ...breakpoint }] }, user],
    },
    'input[0].content[0].prompt_cache_breakpoint',
  ],
  [
    'on the output of a call',
    { model: 'gpt-5.6', input: [user, call, { ...output, output: [marked] }], tools },
    'input[2].output[0].prompt_cache_breakpoint',
  ],
  [
    'more than four',
    { model: 'gpt-5.6', input: [{ role: 'user', content: [marked, marked, marked, marked, marked] }] },
    'max 4',
  ],
])('cache breakpoints: %s', ([, body, refused]) => {
  const outcome = responses(body)
  if (refused === undefined) expect(outcome.kind).toBe('stream')
  else expect(messageOf(outcome)).toContain(refused)
})
