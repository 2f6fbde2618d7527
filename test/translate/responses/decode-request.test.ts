import { responsesDialect } from '../../../src/translate/responses/dialect.ts'
import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import { ResponsesBody, responsesBodyOf } from '../../../src/translate/responses/wire.ts'
import { arbitraryBody, arbitraryJson } from './arbitrary-bodies.ts'
import { clientBodies, decode } from './caller-requests.ts'
import { errorOf } from '../faults.ts'

const refused = (body: Readonly<Record<string, unknown>>) => errorOf(() => decode(body))
const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0=' }
const user = (...content: readonly unknown[]) => ({ role: 'user', content })
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const result = { type: 'function_call_output', call_id: 'c', output: 'ok' }

test('reads what the pipeline has to know', () => {
  expect(decode({})).toMatchObject({
    model: 'gpt-5-mini',
    stream: false,
    hasImage: false,
    hasAgentHistory: false,
    endsWithUser: true,
  })
})

test.each([
  ['stream is asked for', { stream: true }, { stream: true }],
  ['stream is null', { stream: null }, { stream: false }],
  ['the user sent an image', { input: [user(image)] }, { hasImage: true }],
  ['an image is spelled as Chat does', { input: [user({ type: 'image_url', image_url: 'x' })] }, { hasImage: true }],
  [
    'a tool returned an image',
    { input: [call, { type: 'function_call_output', call_id: 'c', output: [image] }] },
    { hasImage: true, hasAgentHistory: true, endsWithUser: false },
  ],
  [
    'a screenshot was taken',
    {
      input: [{ type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: 'x' } }],
    },
    { hasImage: true },
  ],
  ['a text speaks of an image', { input: [user({ type: 'input_text', text: 'input_image' })] }, { hasImage: false }],
  ['a tool was used', { input: [user(), call, result] }, { hasAgentHistory: true, endsWithUser: false }],
  ['the user goes on', { input: [user(), call, result, user()] }, { hasAgentHistory: true, endsWithUser: true }],
  [
    'the model has spoken',
    { input: [user(), { role: 'assistant', content: 'x' }] },
    { hasAgentHistory: true, endsWithUser: false },
  ],
  [
    'there are instructions only beside the prompt',
    { input: [{ role: 'developer', content: 'x' }, user()] },
    { hasAgentHistory: false, endsWithUser: true },
  ],
  [
    'the last item only adds tools',
    { input: [user(), { type: 'additional_tools', role: 'developer', tools: [] }] },
    { hasAgentHistory: false, endsWithUser: true },
  ],
  [
    'a summary is asked for by the client itself',
    { input: [user(), { type: 'compaction_trigger' }] },
    { hasAgentHistory: true, endsWithUser: false },
  ],
])('%s', (_title, body, expected) => {
  expect(decode(body)).toMatchObject(expected)
})

test.each([...clientBodies.entries()])('takes what %s sends, and keeps its bytes', (_client, text) => {
  const request = responsesDialect.decodeRequest(text)
  expect(responsesBodyOf(request).bytes.toString()).toBe(text)
  expect(responsesBodyOf(request).value).toEqual(JSON.parse(text))
})

test.each([
  ['codex-first', { hasImage: false, hasAgentHistory: false, endsWithUser: true }],
  ['codex-second', { hasImage: true, hasAgentHistory: true, endsWithUser: false }],
  ['codex-compaction', { hasImage: false, hasAgentHistory: true, endsWithUser: false }],
  ['opencode', { hasImage: false, hasAgentHistory: true, endsWithUser: false }],
  ['pi', { hasImage: true, hasAgentHistory: false, endsWithUser: true }],
  ['copilot-sdk', { hasImage: false, hasAgentHistory: false, endsWithUser: true }],
  ['openai-sdk', { hasImage: false, hasAgentHistory: false, endsWithUser: true }],
])('tells who speaks in what %s sends', (client, expected) => {
  expect(responsesDialect.decodeRequest(clientBodies.get(client) ?? '')).toMatchObject(expected)
})

test('members are found in a body that is not ASCII', () => {
  const text = '{"model":"gpt-5-mini","input":"Gruß"}'
  const body = responsesBodyOf(responsesDialect.decodeRequest(text, { bytes: Buffer.from(text) }))
  const last = body.members.at(-1)
  expect(body.bytes.subarray(last?.valueStart, last?.end).toString()).toBe('"Gruß"')
})

test('a string is one message of the user', () => {
  expect(responsesBodyOf(decode({ input: 'hi' })).chain.input).toEqual([
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
  ])
})

test.each([
  ['nothing said', {}, { previousId: undefined, references: [], keep: true }],
  ['not to be kept', { store: false }, { keep: false }],
  ['null is the default', { store: null, previous_response_id: null }, { previousId: undefined, keep: true }],
  ['goes on from a response', { previous_response_id: 'resp_1' }, { previousId: 'resp_1' }],
  [
    'refers to items, with and without type',
    { input: [{ type: 'item_reference', id: 'msg_1' }, user(), { id: 'fc_2' }] },
    { references: ['msg_1', 'fc_2'] },
  ],
  [
    'goes on without a word of its own',
    { input: undefined, previous_response_id: 'resp_1' },
    { previousId: 'resp_1', input: [] },
  ],
  ['goes on with an empty list', { input: [], previous_response_id: 'resp_1' }, { previousId: 'resp_1', input: [] }],
])('chain: %s', (_title, body, expected) => {
  expect(responsesBodyOf(decode(body)).chain).toMatchObject(expected)
})

test.each([
  ['no model', { model: undefined }, 'model', 'missing_required_parameter'],
  ['an empty model', { model: '' }, 'model', 'invalid_type'],
  ['no input', { input: undefined }, 'input', 'missing_required_parameter'],
  ['an empty list', { input: [] }, 'input', 'empty_array'],
  ['a body of Chat Completions', { input: undefined, messages: [] }, 'messages', 'unsupported_parameter'],
  ['input of a wrong type', { input: 7 }, 'input', 'invalid_type'],
  ['an item that is no object', { input: ['hi'] }, 'input[0]', 'invalid_type'],
  ['an item of no type', { input: [user(), {}] }, 'input[1].type', 'missing_required_parameter'],
  ['a type that is no string', { input: [{ type: 1 }] }, 'input[0].type', 'invalid_type'],
  ['an unknown role', { input: [{ role: 'tool', content: '' }] }, 'input[0].role', 'invalid_value'],
  ['a message without content', { input: [{ role: 'user' }] }, 'input[0].content', 'missing_required_parameter'],
  ['a part that is no object', { input: [user(null)] }, 'input[0].content[0]', 'invalid_type'],
  ['a part without type', { input: [user({ text: 'x' })] }, 'input[0].content[0].type', 'missing_required_parameter'],
  [
    'a text without text',
    { input: [user({ type: 'input_text' })] },
    'input[0].content[0].text',
    'missing_required_parameter',
  ],
  [
    'an image of nothing',
    { input: [user({ type: 'input_image' })] },
    'input[0].content[0].image_url',
    'missing_required_parameter',
  ],
  [
    'an image spelled as an object',
    { input: [user({ type: 'input_image', image_url: { url: 'x' } })] },
    'input[0].content[0].image_url',
    'invalid_type',
  ],
  [
    'an empty image',
    { input: [user({ type: 'input_image', image_url: '' })] },
    'input[0].content[0].image_url',
    'invalid_type',
  ],
  [
    'a file of nothing',
    { input: [user({ type: 'input_file', filename: 'a' })] },
    'input[0].content[0].file_data',
    'missing_required_parameter',
  ],
  ['a call without id', { input: [{ ...call, call_id: undefined }] }, 'input[0].call_id', 'missing_required_parameter'],
  ['arguments as an object', { input: [{ ...call, arguments: {} }] }, 'input[0].arguments', 'invalid_type'],
  ['a call without a name', { input: [{ ...call, name: undefined }] }, 'input[0].name', 'missing_required_parameter'],
  ['a namespace that is no string', { input: [{ ...call, namespace: 1 }] }, 'input[0].namespace', 'invalid_type'],
  [
    'an output of nothing',
    { input: [{ ...result, output: undefined }] },
    'input[0].output',
    'missing_required_parameter',
  ],
  [
    'an output with a bad part',
    { input: [{ ...result, output: [{ type: 'input_text' }] }] },
    'input[0].output[0].text',
    'missing_required_parameter',
  ],
  [
    'custom input as an object',
    { input: [{ type: 'custom_tool_call', call_id: 'c', name: 'p', input: {} }] },
    'input[0].input',
    'invalid_type',
  ],
  ['reasoning that is no list', { input: [{ type: 'reasoning', summary: 'x' }] }, 'input[0].summary', 'invalid_type'],
  [
    'ciphertext that is no string',
    { input: [{ type: 'reasoning', encrypted_content: 1 }] },
    'input[0].encrypted_content',
    'invalid_type',
  ],
  [
    'a compaction that is no string',
    { input: [{ type: 'compaction', encrypted_content: {} }] },
    'input[0].encrypted_content',
    'invalid_type',
  ],
  ['a reference to nothing', { input: [{ type: 'item_reference' }] }, 'input[0].id', 'missing_required_parameter'],
  [
    'more tools that are none',
    { input: [{ type: 'additional_tools', tools: [{}] }] },
    'input[0].tools[0].type',
    'missing_required_parameter',
  ],
  ['tools that are no list', { tools: {} }, 'tools', 'invalid_type'],
  [
    'a tool of Chat Completions',
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    'tools[0].name',
    'missing_required_parameter',
  ],
  ['a tool without type', { tools: [{ name: 'f' }] }, 'tools[0].type', 'missing_required_parameter'],
  [
    'parameters that are no object',
    { tools: [{ type: 'function', name: 'f', parameters: [] }] },
    'tools[0].parameters',
    'invalid_type',
  ],
  [
    'strict that is no boolean',
    { tools: [{ type: 'function', name: 'f', strict: 'yes' }] },
    'tools[0].strict',
    'invalid_type',
  ],
  [
    'a format that is no object',
    { tools: [{ type: 'custom', name: 'f', format: 'lark' }] },
    'tools[0].format',
    'invalid_type',
  ],
  ['an empty namespace', { tools: [{ type: 'namespace', name: 'n' }] }, 'tools[0].tools', 'missing_required_parameter'],
  [
    'a namespace in a namespace',
    { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'namespace', name: 'm', tools: [] }] }] },
    'tools[0].tools[0].type',
    'invalid_value',
  ],
  [
    'domains that are no list',
    { tools: [{ type: 'web_search', filters: { allowed_domains: 'x' } }] },
    'tools[0].filters.allowed_domains',
    'invalid_type',
  ],
  ['a choice of nothing', { tool_choice: {} }, 'tool_choice', 'invalid_type'],
  ['an unknown choice', { tool_choice: 'any' }, 'tool_choice', 'invalid_type'],
  ['a choice without a name', { tool_choice: { type: 'function' } }, 'tool_choice.name', 'missing_required_parameter'],
  [
    'allowed tools without mode',
    { tool_choice: { type: 'allowed_tools', tools: [] } },
    'tool_choice.mode',
    'missing_required_parameter',
  ],
  [
    'allowed tools that are names',
    { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: ['f'] } },
    'tool_choice.tools[0]',
    'invalid_type',
  ],
  [
    'a format without a schema',
    { text: { format: { type: 'json_schema', name: 'x' } } },
    'text.format.schema',
    'missing_required_parameter',
  ],
  ['include that holds no strings', { include: [1] }, 'include', 'invalid_type'],
  ['half a token', { max_output_tokens: 0.5 }, 'max_output_tokens', 'invalid_type'],
  ['a temperature in words', { temperature: 'hot' }, 'temperature', 'invalid_type'],
  ['an effort that is no word', { reasoning: { effort: 3 } }, 'reasoning.effort', 'invalid_type'],
  ['instructions that are no string', { instructions: [] }, 'instructions', 'invalid_type'],
  ['an answer in the background', { background: true }, 'background', 'unsupported_value'],
  ['a stored conversation', { conversation: 'conv_1' }, 'conversation', 'unsupported_value'],
  ['a stored prompt', { prompt: { id: 'pmpt_1' } }, 'prompt', 'unsupported_value'],
])('refuses %s', (_title, body, path, code) => {
  expect(refused(body)).toMatchObject({ kind: 'invalid_request', path, code })
})

test.each([
  [
    'null is the default everywhere',
    {
      stream: null,
      tools: null,
      tool_choice: null,
      text: null,
      reasoning: null,
      include: null,
      background: null,
      conversation: null,
      prompt: null,
      metadata: null,
      temperature: null,
      instructions: null,
      stream_options: null,
    },
  ],
  [
    'items and tools we do not know',
    { input: [{ type: 'mcp_call', whatever: 1 }], tools: [{ type: 'mcp', server_label: 'x' }] },
  ],
  ['parts we do not know', { input: [user({ type: 'input_video' })] }],
  ['members we do not know', { moderation: { model: 'x' }, something_new: [1] }],
  [
    'a message of nothing',
    {
      input: [
        { role: 'user', content: [] },
        { role: 'assistant', content: '' },
      ],
    },
  ],
  [
    'reasoning without text',
    { input: [{ type: 'reasoning', id: 'rs', summary: [], content: null, encrypted_content: null }] },
  ],
])('takes %s', (_title, body) => {
  expect(responsesBodyOf(decode(body)).value).toMatchObject(body)
})

test('refuses more items than any conversation has', () => {
  const text = `{"model":"x","input":[${Array.from({ length: 250_001 }, () => '1').join(',')}]}`
  expect(errorOf(() => responsesDialect.decodeRequest(text))).toMatchObject({
    path: 'input',
    code: 'array_above_max_length',
  })
})

test('refuses a body that is nested without end', () => {
  const text = `{"model":"x","input":${'['.repeat(600)}${']'.repeat(600)}}`
  expect(errorOf(() => responsesDialect.decodeRequest(text))).toMatchObject({ path: '', code: 'nesting_too_deep' })
})

test('says where JSON breaks off', () => {
  expect(errorOf(() => responsesDialect.decodeRequest('{"model":"x",'))).toMatchObject({ kind: 'malformed_body' })
})

test('a refusal never repeats what was sent', () => {
  const secret = 'hunter2'
  const bodies = [
    { input: [{ role: secret, content: secret }] },
    { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: { secret } }] },
    { tool_choice: secret },
    { text: { format: secret } },
    { reasoning: secret },
  ]
  for (const body of bodies) expect(JSON.stringify(refused(body))).not.toContain(secret)
})

/** Fails on anything but a Fault. */
function readOrRefuse(text: string): void {
  try {
    responsesDialect.decodeRequest(text)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
  }
}

test('whatever JSON comes, it is read or refused', () => {
  fc.assert(fc.property(arbitraryBody, readOrRefuse))
  fc.assert(fc.property(fc.json(), readOrRefuse))
  fc.assert(fc.property(arbitraryJson, (value) => readOrRefuse(JSON.stringify(value) ?? '')))
})

test('a request of another dialect is a programming error', () => {
  const request = decode({})
  expect(responsesBodyOf(request)).toBeInstanceOf(ResponsesBody)
  expect(() => responsesBodyOf({ ...request, body: {} })).toThrow(TypeError)
})
