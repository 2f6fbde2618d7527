import { expect, test } from 'vitest'
import { issueOpaque } from '../answer/sealed-text.ts'
import { ask, askWithKey, doneItems, eventsOf, loginHeaders, promptOf, replyOf, openCodex } from './test-client.ts'
import type { Fields } from './test-client.ts'

const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }
const call = { type: 'function_call', call_id: 'call_1', name: 'read_file', arguments: '{}' }
const output = { type: 'function_call_output', call_id: 'call_1', output: 'forty-two' }
const parameters = { type: 'object', properties: {} }
const tool = { type: 'function', name: 'read_file', strict: false, parameters }
const long = 'x'.repeat(65)

/** The parts of a refusal that identify its reason. */
async function refusalOf(response: Response): Promise<string> {
  const { status, body } = await replyOf(response)
  expect(response.headers.get('content-type')).toContain('application/json')
  if (typeof body !== 'object' || body === null) return `${status} ${String(body)}`
  if ('detail' in body) return `${status} ${JSON.stringify(body.detail)}`
  const { code, param, message } = (body as { error: Record<string, unknown> }).error
  return `${status} ${String(code)} ${String(param)}: ${String(message)}`
}

test.for<[string, Fields, RegExp]>([
  ['no instructions', { instructions: undefined }, /^400 "Instructions are required"$/],
  ['null instructions', { instructions: null }, /^400 "Instructions are required"$/],
  ['storing', { store: true }, /^400 "Store must be set to false"$/],
  ['store left open', { store: undefined }, /^400 "Store must be set to false"$/],
  ['no stream', { stream: false }, /^400 "Stream must be set to true"$/],
  ['input as text', { input: 'Hi' }, /^400 "Input must be a list"$/],
  ['empty input', { input: [] }, /^400 missing_required_parameter input/],
  ['a system message', { input: [{ type: 'message', role: 'system', content: 'x' }, user] }, /System messages are not/],
  ['no model', { model: undefined }, /^400 missing_required_parameter model/],
  ['a wrong type', { tools: 'all' }, /^400 invalid_type tools/],
  ['an effort that is not listed', { reasoning: { effort: 'minimal' } }, /^400 unsupported_value reasoning.effort/],
  ['ultra', { model: 'gpt-6-sol', reasoning: { effort: 'ultra' } }, /^400 unsupported_value reasoning.effort/],
  [
    'a summary where the model has none',
    { model: 'gpt-5.6-luna', reasoning: { summary: 'auto' } },
    /^400 unsupported_parameter reasoning.summary/,
  ],
  ['an unknown include', { include: ['everything'] }, /^400 invalid_value include/],
  ['a verbosity', { text: { verbosity: 'max' } }, /^400 invalid_value text.verbosity/],
  ['a schema without name', { text: { format: { type: 'json_schema', schema: {} } } }, /text.format.name/],
  ['a tier', { service_tier: 'flex' }, /^400 "Unsupported service_tier/],
  ['a long cache key', { prompt_cache_key: long }, /^400 string_above_max_length prompt_cache_key/],
  ['metadata that is no text', { client_metadata: { a: 1 } }, /^400 invalid_value client_metadata/],
  ['parallel calls of no tools', { parallel_tool_calls: true }, /^400 invalid_value parallel_tool_calls/],
  ['usage in the stream', { stream_options: { include_usage: true } }, /^400 "Unsupported parameter: stream_options/],
  ['an unknown context', { reasoning: { context: 'some' } }, /^400 invalid_value reasoning.context/],
])('refuses %s', async ([, change, words]) => {
  const codex = await openCodex()
  expect(await refusalOf(await ask(codex, promptOf('Hi', change)))).toMatch(words)
})

test.for([
  'max_output_tokens',
  'max_tokens',
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'top_logprobs',
  'metadata',
  'user',
  'safety_identifier',
  'truncation',
  'prompt_cache_retention',
  'previous_response_id',
  'conversation',
  'background',
  'prompt',
  'moderation',
  'context_management',
  'max_tool_calls',
])('the allow list has no %s, not even null', async (name) => {
  const codex = await openCodex()
  const words = `400 "Unsupported parameter: ${name}"`
  expect(await refusalOf(await ask(codex, promptOf('Hi', { [name]: 1 })))).toBe(words)
  expect(await refusalOf(await ask(codex, promptOf('Hi', { [name]: null })))).toBe(words)
})

test('takes all that the client of OpenAI sends', async () => {
  const codex = await openCodex()
  const body = promptOf('Hi', {
    tools: [
      tool,
      { type: 'custom', name: 'apply_patch', format: { type: 'text' } },
      { type: 'namespace', name: 'docs', tools: [{ ...tool, name: 'find' }] },
      { type: 'tool_search', execution: 'client', parameters },
      { type: 'web_search', external_web_access: true },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'xhigh', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    service_tier: 'priority',
    prompt_cache_key: 'a-session',
    text: { verbosity: 'low', format: { type: 'json_schema', name: 'x', strict: true, schema: parameters } },
    client_metadata: { a: 'b' },
    stream_options: { reasoning_summary_delivery: 'sequential_cutoff' },
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be kind' }] },
      user,
      { ...call, id: 'fc_1' },
      {
        ...output,
        id: 'fco_1',
        output: [{ type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'low' }],
      },
      { type: 'message', role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'So.' }] },
      user,
    ],
  })
  expect((await ask(codex, body)).status).toBe(200)
})

test.for<[string, readonly Fields[], RegExp]>([
  ['an id of another kind', [{ ...user, id: 'item_1' }], /^400 invalid_value input\[0\].id: .*begins with 'msg'/],
  ['a call id as item id', [user, { ...call, id: 'call_1' }, output], /input\[1\].id: .*begins with 'fc'/],
  ['a long item id', [{ ...user, id: `msg_${long}` }], /^400 string_above_max_length input\[0\].id/],
  ['a long call id', [user, { ...call, call_id: long }, { ...output, call_id: long }], /input\[1\].call_id/],
  ['no call id', [user, { ...call, call_id: undefined }], /^400 missing_required_parameter input\[1\].call_id/],
  ['a call without output', [user, call], /No tool output found for function call call_1/],
  ['an output without call', [user, output], /No tool call found for function call output with call_id call_1/],
  ['an output before its call', [user, output, call], /No tool call found/],
  ['a call with a strange name', [user, { ...call, name: 'a.b' }, output], /^400 invalid_value input\[1\].name/],
  ['a call with a long name', [user, { ...call, name: long }, output], /^400 string_above_max_length input\[1\].name/],
  ['arguments that are none', [user, { ...call, arguments: undefined }, output], /input\[1\].arguments/],
  ['an unknown item', [{ type: 'computer_call', call_id: 'x' }], /^400 invalid_value input\[0\]/],
  ['an unknown role', [{ ...user, role: 'tool' }], /^400 invalid_value input\[0\].role/],
  ['what an assistant says', [{ ...user, role: 'assistant' }], /^400 invalid_value input\[0\].content\[0\]/],
  ['a reference', [{ type: 'item_reference', id: 'msg_1' }], /^404 item_not_found/],
  ['reasoning without ciphertext', [{ type: 'reasoning', summary: [] }], /^400 invalid_encrypted_content/],
  ['reasoning without summary', [{ type: 'reasoning', encrypted_content: 'x' }], /input\[0\].summary/],
  ['foreign reasoning', [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAA-x' }], /^400 invalid_encrypted/],
  [
    'a ciphertext of the simulated Copilot',
    [{ type: 'reasoning', summary: [], encrypted_content: issueOpaque('reasoning', 1, 'rs_1') }],
    /^400 invalid_encrypted_content/,
  ],
  ['foreign compaction', [{ type: 'compaction', encrypted_content: 'x' }], /^400 invalid_encrypted_content/],
  [
    'a broken image',
    [{ ...user, content: [{ type: 'input_image', image_url: 'data:image/png;base64,' }] }],
    /input\[0\].content\[0\].image_url: .*does not represent a valid image/,
  ],
  ['lite tools', [{ type: 'additional_tools', role: 'developer', tools: [] }, user], /additional_tools requires/],
])('refuses input with %s', async ([, input, words]) => {
  const codex = await openCodex()
  expect(await refusalOf(await ask(codex, promptOf('Hi', { input })))).toMatch(words)
})

test.for<[string, Fields, RegExp]>([
  ['a long name', { tools: [{ ...tool, name: long }] }, /^400 string_above_max_length tools\[0\].name/],
  ['a strange name', { tools: [{ ...tool, name: 'a b' }] }, /^400 invalid_value tools\[0\].name/],
  ['no word about strict', { tools: [{ ...tool, strict: undefined }] }, /tools\[0\].strict/],
  [
    'no word about strict in a namespace',
    { tools: [{ type: 'namespace', name: 'n', tools: [{ ...tool, strict: undefined }] }] },
    /tools\[0\].tools\[0\].strict/,
  ],
  [
    'a schema that is no object',
    { tools: [{ ...tool, parameters: { type: 'string' } }] },
    /invalid_function_parameters/,
  ],
  ['images', { tools: [{ type: 'image_generation' }] }, /^400 unsupported_value tools/],
  ['files', { tools: [{ type: 'file_search', vector_store_ids: [] }] }, /^400 invalid_value tools\[0\].type/],
  ['code', { tools: [{ type: 'code_interpreter' }] }, /^400 invalid_value tools\[0\].type/],
  ['mcp', { tools: [{ type: 'mcp', server_label: 'x' }] }, /^400 invalid_value tools\[0\].type/],
  ['a search by the server', { tools: [{ type: 'tool_search', execution: 'server' }] }, /execution/],
  [
    'a choice of a tool nobody declared',
    { tools: [tool], tool_choice: { type: 'function', name: 'other' } },
    /^400 invalid_value tool_choice: Tool choice 'other' not found in 'tools' parameter/,
  ],
  ['a required choice of nothing', { tool_choice: 'required' }, /^400 invalid_value tool_choice/],
])('refuses tools with %s', async ([, change, words]) => {
  const codex = await openCodex()
  expect(await refusalOf(await ask(codex, promptOf('Hi', change)))).toMatch(words)
})

test('takes back its own reasoning, of the account and with the id it was issued for', async () => {
  const codex = await openCodex()
  const login = codex.login()
  const include = ['reasoning.encrypted_content']
  const stream = await (await ask(codex, promptOf('Hi', { include }), loginHeaders(login))).text()
  const thought = doneItems(eventsOf(stream)).find(({ type }) => type === 'reasoning') ?? expect.fail('no reasoning')
  const again = (item: Fields, headers = loginHeaders(login)) =>
    ask(codex, promptOf('', { include, input: [user, item, user] }), headers)
  expect((await again(thought)).status).toBe(200)
  expect((await again({ ...thought, id: undefined })).status).toBe(200)
  expect(await refusalOf(await again({ ...thought, id: 'rs_other' }))).toMatch(/item_id did not match/)
  const elsewhere = loginHeaders(codex.login({ accountId: 'another-account' }))
  expect(await refusalOf(await again(thought, elsewhere))).toMatch(/could not be decrypted/)
  const body = { model: 'gpt-5.5', input: [user, thought, user] }
  expect(await refusalOf(await askWithKey(codex, body))).toMatch(/^400 invalid_encrypted_content/)
  const added = eventsOf(stream).find(({ type }) => type === 'response.output_item.added')?.item
  expect(await refusalOf(await again({ ...added }))).toMatch(/^400 invalid_encrypted_content/)
})

test('accepts a compaction in place of the history', async () => {
  const codex = await openCodex()
  const stream = await (await ask(codex, promptOf('', { input: [user, { type: 'compaction_trigger' }] }))).text()
  const [item] = doneItems(eventsOf(stream))
  expect(item?.type).toBe('compaction')
  expect((await ask(codex, promptOf('', { input: [item, user] }))).status).toBe(200)
})

test('requires the reasoning back if a marker in the conversation demands it', async () => {
  const codex = await openCodex()
  const include = ['reasoning.encrypted_content']
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] }
  const first = { ...user, content: [{ type: 'input_text', text: '[demo:replay]' }] }
  expect(await refusalOf(await ask(codex, promptOf('', { include, input: [first, said, user] })))).toMatch(/reasoning/)
})

test('refuses a prompt that does not fit', async () => {
  const codex = await openCodex()
  const response = await ask(codex, promptOf('x'.repeat(272_000 * 4)))
  expect(await refusalOf(response)).toMatch(/^400 context_length_exceeded/)
})

test('refuses a body that is no JSON, of another type, or too large', async () => {
  const codex = await openCodex({ settings: { maxBodyBytes: 1000 } })
  const send = (body: string, more: Record<string, string> = {}) =>
    fetch(`${codex.baseUrl}/responses`, { method: 'POST', headers: loginHeaders(codex.login(), more), body })
  expect((await send('{')).status).toBe(400)
  expect((await send('[]')).status).toBe(400)
  expect((await send('{}', { 'content-type': 'text/plain' })).status).toBe(415)
  expect((await send('x'.repeat(1001))).status).toBe(413)
})

test.for<[string, Fields, RegExp]>([
  ['an unknown model', { model: 'gpt-0' }, /^404 model_not_found/],
  ['an unknown parameter', { max_tokens: 5 }, /^400 unknown_parameter max_tokens/],
  ['sampling', { temperature: 1 }, /^400 unsupported_parameter temperature/],
  ['too little room', { max_output_tokens: 3 }, /^400 integer_below_min_value/],
  ['what was said before', { previous_response_id: 'resp_1' }, /^400 previous_response_not_found/],
  ['ids of another kind', { input: [{ ...user, id: 'x' }] }, /^400 invalid_value input\[0\].id/],
])('the key API refuses %s', async ([, change, words]) => {
  const codex = await openCodex()
  expect(await refusalOf(await askWithKey(codex, { model: 'gpt-5.5', input: 'Hi', ...change }))).toMatch(words)
})

test('the key API takes what the ChatGPT backend does not', async () => {
  const codex = await openCodex()
  const body = {
    model: 'gpt-5.5',
    input: [{ role: 'system', content: 'Be kind' }, user],
    max_output_tokens: 64,
    user: 'me',
    metadata: {},
    store: true,
    temperature: null,
    tools: [{ type: 'image_generation' }, { ...tool, strict: undefined }],
  }
  const reply = await askWithKey(codex, body)
  expect(reply.status).toBe(200)
  expect(eventsOf(await reply.text()).at(-1)?.response).toMatchObject({
    object: 'response',
    status: 'completed',
    output: [{ type: 'reasoning' }, {}],
  })
})
