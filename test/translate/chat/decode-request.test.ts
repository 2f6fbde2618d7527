import { expect, test, onTestFinished, vi } from 'vitest'
import { dialects } from '../../../src/translate/dialects.ts'
import { chatBodyOf, chatRequest } from '../../../src/translate/chat/wire.ts'
import type { CallerRequest } from '../../../src/translate/dialect.ts'
import { hello } from './request-helpers.ts'
import { cpuMs } from '../../cpu-time.ts'
import { errorOf } from '../faults.ts'

const { decodeRequest } = dialects.chat
const decode = (body: unknown) => decodeRequest(JSON.stringify(body))
const valueOf = (request: CallerRequest) => chatBodyOf(request).value
const refused = (body: unknown) => errorOf(() => decode(body))
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } }

test('reads what the pipeline has to know', () => {
  const request = decode({ model: 'gpt-5-mini', messages: hello })
  expect(request).toMatchObject({
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
  ['the user sent an image', { messages: [{ role: 'user', content: [image] }] }, { hasImage: true }],
  [
    'an image has no type',
    { messages: [{ role: 'user', content: [{ image_url: { url: 'data:image/png;base64,' } }] }] },
    { hasImage: true },
  ],
  [
    'an image is spelled as Messages does',
    { messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] },
    { hasImage: true },
  ],
  [
    'an image is spelled as Responses does',
    { messages: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,' }] }] },
    { hasImage: true },
  ],
  [
    'an image is inside another part',
    { messages: [{ role: 'user', content: [{ type: 'tool_result', content: ['x', { type: 'image' }] }] }] },
    { hasImage: true },
  ],
  [
    'parts hold text only',
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'image' },
            { type: 'tool_result', content: 'image' },
          ],
        },
      ],
    },
    { hasImage: false },
  ],
  [
    'a tool result of the history holds an image',
    { messages: [...hello, { role: 'tool', tool_call_id: 'c', content: [image] }, ...hello] },
    { hasImage: true, hasAgentHistory: true, endsWithUser: true },
  ],
  [
    'an assistant message is there',
    { messages: [...hello, { role: 'assistant', content: 'hi' }] },
    { hasAgentHistory: true, endsWithUser: false },
  ],
  [
    'a function message is there',
    { messages: [{ role: 'function', name: 'f', content: null }] },
    { hasAgentHistory: true },
  ],
  [
    'only system and developer messages precede',
    { messages: [{ role: 'system', content: 's' }, { role: 'developer', content: 'd' }, ...hello] },
    { hasAgentHistory: false },
  ],
])('notices when %s', (_, body, expected) => {
  expect(decode({ model: 'm', messages: hello, ...body })).toMatchObject(expected)
})

test.each([
  ['unknown members', { x_unknown: { deep: [null] }, top_k: 3 }],
  ['unknown part types', { messages: [{ role: 'user', content: [{ type: 'search_result', text: { any: 1 } }] }] }],
  ['unknown message keys', { messages: [{ role: 'user', content: 'x', cache: 1 }] }],
  ['unknown tool types', { tools: [{ type: 'web_search', filters: {} }] }],
  ['custom tools', { tools: [{ type: 'custom', custom: { name: 'patch', format: { type: 'text' } } }] }],
  ['a named tool choice', { tool_choice: { type: 'function', function: { name: 'f' } } }],
  ['allowed tools', { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } } }],
  ['null for a default', { n: null, stop: null, tools: null, temperature: null, max_tokens: null, logit_bias: null }],
  ['several stop words', { stop: ['a', 'b'] }],
  ['an assistant without content', { messages: [{ role: 'assistant', tool_calls: [] }] }],
  ['assistant refusals', { messages: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }] }],
  [
    'custom tool calls',
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f', input: '' } }] }] },
  ],
  ['files', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] }],
  [
    'audio',
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }] }] },
  ],
  [
    'null payloads of other types',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', image_url: null }] }] },
  ],
  ['seeds of 64 bits', { seed: 2 ** 60 }],
])('accepts %s', (_, body) => {
  const sent = { model: 'm', messages: hello, ...body }
  expect(valueOf(decode(sent))).toEqual(JSON.parse(JSON.stringify(sent)))
})

test('keeps keys and their order', () => {
  const text = '{"zeta":1,"messages":[{"z":1,"content":"x","role":"user"}],"alpha":2,"model":"m"}'
  expect(JSON.stringify(valueOf(decodeRequest(text)))).toBe(text)
})

test.each([
  [[], '', 'a JSON object, got an array', 'invalid_type'],
  [null, '', 'a JSON object, got null', 'invalid_type'],
  ['x', '', 'a JSON object, got a string', 'invalid_type'],
  [{ messages: hello }, 'model', 'a string, but it is missing', 'missing_required_parameter'],
  [{ model: '', messages: hello }, 'model', 'a non-empty string, got an empty string', 'invalid_type'],
  [{ model: 5, messages: hello }, 'model', 'a string, got a number', 'invalid_type'],
  [{ model: 'm' }, 'messages', 'an array of messages, but it is missing', 'missing_required_parameter'],
  [{ model: 'm', messages: 'hi' }, 'messages', 'an array of messages, got a string', 'invalid_type'],
  [{ model: 'm', messages: [] }, 'messages', 'at least one message, got an empty array', 'empty_array'],
])('refuses %j', (body, path, expected, code) => {
  expect(refused(body)).toEqual({ kind: 'invalid_request', path, detail: `expected ${expected}`, code })
})

test.each([
  [{ stream: 'yes' }, 'stream', 'true or false, got a string'],
  [{ stream_options: true }, 'stream_options', 'an object, got a boolean'],
  [{ stream_options: { include_usage: 1 } }, 'stream_options.include_usage', 'true or false, got a number'],
  [{ max_tokens: '10' }, 'max_tokens', 'an integer, got a string'],
  [{ max_tokens: 10.5 }, 'max_tokens', 'an integer, got a number'],
  [{ max_completion_tokens: [] }, 'max_completion_tokens', 'an integer, got an array'],
  [{ temperature: '1' }, 'temperature', 'a number, got a string'],
  [{ top_p: {} }, 'top_p', 'a number, got an object'],
  [{ n: 'x' }, 'n', 'an integer, got a string'],
  [{ stop: 3 }, 'stop', 'a string or an array of strings, got a number'],
  [{ stop: ['a', 3] }, 'stop', 'a string or an array of strings, got an array'],
  [{ tools: {} }, 'tools', 'an array of tools, got an object'],
  [{ tools: ['x'] }, 'tools[0]', 'an object with type and function, got a string'],
  [{ tools: [{ function: { name: 'f' } }] }, 'tools[0].type', 'a string, but it is missing'],
  [{ tools: [{ type: 'function' }] }, 'tools[0].function', 'an object that describes the function, but it is missing'],
  [{ tools: [{ type: 'custom' }] }, 'tools[0].custom', 'an object that describes the tool, but it is missing'],
  [{ tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name', 'a string, but it is missing'],
  [
    { tools: [{ type: 'function', function: { name: 'f', parameters: true } }] },
    'tools[0].function.parameters',
    'an object, got a boolean',
  ],
  [{ tool_choice: 'any' }, 'tool_choice', '"none", "auto", "required" or an object that names a tool, got a string'],
  [{ parallel_tool_calls: 0 }, 'parallel_tool_calls', 'true or false, got a number'],
  [{ response_format: 'json' }, 'response_format', 'an object with a type, got a string'],
  [{ reasoning_effort: 3 }, 'reasoning_effort', 'a string, got a number'],
  [{ functions: [{}] }, 'functions[0].name', 'a string, but it is missing'],
  [{ metadata: 'x' }, 'metadata', 'an object, got a string'],
])('names path and expectation of the parameter %j', (body, path, expected) => {
  expect(refused({ model: 'm', messages: hello, ...body })).toMatchObject({ path, detail: `expected ${expected}` })
})

const part = (value: unknown) => ({ role: 'user', content: [{ type: 'text', text: 'x' }, value] })
const call = (value: unknown) => ({ role: 'assistant', content: null, tool_calls: [value] })

test.each([
  ['hi', '', 'an object with role and content, got a string'],
  [null, '', 'an object with role and content, got null'],
  [{ content: 'x' }, '.role', 'a string, but it is missing'],
  [{ role: 'bot', content: 'x' }, '.role', 'one of system, developer, user, assistant, tool, function'],
  [{ role: 'user' }, '.content', 'a string or an array of parts, but it is missing'],
  [{ role: 'user', content: null }, '.content', 'a string or an array of parts, got null'],
  [{ role: 'system', content: 3 }, '.content', 'a string or an array of parts, got a number'],
  [{ role: 'assistant', content: {} }, '.content', 'a string or an array of parts, got an object'],
  [{ role: 'user', content: 'x', name: 3 }, '.name', 'a string, got a number'],
  [{ role: 'tool', content: 'x' }, '.tool_call_id', 'a string, but it is missing'],
  [{ role: 'function', content: 'x' }, '.name', 'a string, but it is missing'],
  [part('x'), '.content[1]', 'an object with a type, got a string'],
  [part({}), '.content[1].type', 'a type such as text, image_url, input_audio, file, refusal, but it is missing'],
  [part({ type: 3 }), '.content[1].type', 'a string, got a number'],
  [part({ type: 'text' }), '.content[1].text', 'a string, but it is missing'],
  [part({ type: 'text', text: null }), '.content[1].text', 'a string, got null'],
  [part({ type: 'refusal' }), '.content[1].refusal', 'a string, but it is missing'],
  [part({ type: 'image_url', image_url: 'data:' }), '.content[1].image_url', 'an object with a url, got a string'],
  [part({ type: 'image_url', image_url: null }), '.content[1].image_url', 'an object with a url, got null'],
  [part({ type: 'image_url', image_url: {} }), '.content[1].image_url.url', 'a string, but it is missing'],
  [part({ image_url: { url: '' } }), '.content[1].image_url.url', 'a data: or https: URL, got an empty string'],
  [
    part({ type: 'image_url', image_url: { url: 'x', detail: 1 } }),
    '.content[1].image_url.detail',
    'a string, got a number',
  ],
  [part({ type: 'input_audio' }), '.content[1].input_audio', 'an object with data and format, but it is missing'],
  [part({ type: 'input_audio', input_audio: {} }), '.content[1].input_audio.data', 'a string, but it is missing'],
  [part({ type: 'file', file: 3 }), '.content[1].file', 'an object with file_data or file_id, got a number'],
  [part({ type: 'file', file: { file_id: 3 } }), '.content[1].file.file_id', 'a string, got a number'],
  [{ role: 'assistant', tool_calls: {} }, '.tool_calls', 'an array of tool calls, got an object'],
  [call('x'), '.tool_calls[0]', 'an object with id and function, got a string'],
  [call({ function: { name: 'f', arguments: '' } }), '.tool_calls[0].id', 'a string, but it is missing'],
  [call({ id: 'c' }), '.tool_calls[0].function', 'an object with name and arguments, but it is missing'],
  [call({ id: 'c', function: { arguments: '' } }), '.tool_calls[0].function.name', 'a string, but it is missing'],
  [
    call({ id: 'c', function: { name: 'f', arguments: {} } }),
    '.tool_calls[0].function.arguments',
    'a string of JSON, got an object',
  ],
  [call({ id: 'c', type: 'custom' }), '.tool_calls[0].custom', 'an object with name and input, but it is missing'],
  [
    { role: 'assistant', function_call: { name: 'f' } },
    '.function_call.arguments',
    'a string of JSON, but it is missing',
  ],
])('names path and expectation of the message %j', (message, below, expected) => {
  const error = refused({ model: 'm', messages: [...hello, ...hello, message] })
  expect(error).toMatchObject({ kind: 'invalid_request', path: `messages[2]${below}`, detail: `expected ${expected}` })
})

test('refuses more than one answer', () => {
  const error = refused({ model: 'm', messages: hello, n: 3 })
  expect(error).toMatchObject({ kind: 'invalid_request', path: 'n', code: 'unsupported_value' })
  expect(decode({ model: 'm', messages: hello, n: 1 }).model).toBe('m')
})

test.each([
  ['', 'the body is empty; send a JSON object'],
  [' \n', 'the body is empty; send a JSON object'],
  ['{"model":"m"', 'the JSON ends too early at line 1, column 13 (position 12)'],
  ['{\n  "model": secret-word\n}', 'not valid JSON at line 2, column 12 (position 13)'],
  ['{"model":"m"}{"model":"m"}', 'not valid JSON at line 1, column 14 (position 13)'],
])('says where JSON is broken and quotes nothing of it: %j', (text, detail) => {
  expect(errorOf(() => decodeRequest(text))).toEqual({ kind: 'malformed_body', detail })
})

test('does not pass on what JSON.parse threw, because that quotes the body', () => {
  expect(() => decodeRequest('{"model": secret-word}')).toThrow(
    expect.not.objectContaining({ cause: expect.anything() }),
  )
})

test.each([
  ['arrays', '['.repeat(1000) + ']'.repeat(1000)],
  ['objects in a member', `{"model":"m","messages":${'{"a":'.repeat(1000)}1${'}'.repeat(1001)}`],
  ['brackets alone, 2 MB', '['.repeat(2_000_000)],
])('refuses JSON nested beyond reason: %s', (_, text) => {
  expect(errorOf(() => decodeRequest(text))).toMatchObject({
    kind: 'invalid_request',
    path: '',
    detail: 'the JSON is nested deeper than 500 levels',
  })
})

test('refuses more top-level members than anybody sends', () => {
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`k${n}`, 1]))
  expect(refused({ model: 'm', messages: hello, ...many })).toMatchObject({
    kind: 'invalid_request',
    path: '',
    detail: 'more than 1000 top-level members',
  })
})

const filled = (unit: string, times: number, open: string, close: string) =>
  `{"model":"m","messages":[{"role":"user","content":"x"}],${open}${Array.from({ length: times }, () => unit).join()}${close}}`

test.each([
  ['tools', '{}', '"tools":[', ']'],
  ['stop words', '1', '"stop":[', ']'],
  ['lists', '[]', '"x":[', ']'],
  ['keys', '"k":1', '"metadata":{', '}'],
])('refuses more values than any request has, before they are parsed: %s', (_, unit, open, close) => {
  // Not JSON: a parser that saw it would say so.
  const text = `${filled(unit, 1_600_000, open, close)}!`
  expect(errorOf(() => decodeRequest(text))).toEqual({
    kind: 'invalid_request',
    path: '',
    detail: 'more than 1500000 JSON values',
    code: 'too_many_values',
  })
})

test.each([
  ['tools', '"tools":[', 'tools', 'expected at most 10000 tools, got 500000'],
  ['functions', '"functions":[', 'functions', 'expected at most 10000 tools, got 500000'],
])('refuses half a million wrong %s by their number alone', (_, open, path, detail) => {
  const text = filled('{}', 500_000, open, ']')
  // The schema would report on every element, which takes seconds.
  const schema = vi.spyOn(chatRequest, 'safeParse')
  onTestFinished(() => schema.mockRestore())
  expect(errorOf(() => decodeRequest(text))).toMatchObject({ kind: 'invalid_request', path, detail })
  expect(schema).not.toHaveBeenCalled()
})

test('reports invalid stop texts once for all of them', () => {
  const { error } = chatRequest.safeParse({ model: 'm', stop: ['a', 1, 2, 3] })
  expect(error?.issues).toEqual([{ code: 'custom', path: ['stop'], message: 'a string or an array of strings' }])
})

test('takes 128 tools with large schemas', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 200 }, (_, n) => [`p${n}`, { type: 'string', description: 'x', enum: ['a', 'b', 'c', 'd'] }]),
  )
  const parameters = { type: 'object', properties, additionalProperties: false }
  const tools = Array.from({ length: 128 }, (_, n) => ({ type: 'function', function: { name: `f${n}`, parameters } }))
  expect(valueOf(decode({ model: 'm', messages: hello, tools })).tools).toHaveLength(128)
})

test('takes JSON nested as deep as tool schemas are', () => {
  const deep = `${'{"items":'.repeat(400)}{}${'}'.repeat(400)}`
  const text = `{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":${deep}}}]}`
  expect(decodeRequest(text).model).toBe('m')
})

test('is not polluted by __proto__', () => {
  const text =
    '{"__proto__":{"stream":true,"polluted":1},"model":"m","messages":[{"role":"user","content":"x","__proto__":{"polluted":1}}]}'
  const request = decodeRequest(text)
  expect(request.stream).toBe(false)
  expect(JSON.stringify(valueOf(request))).toBe(text)
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

test('reads a body that is not ASCII, from text alone and with its bytes', () => {
  const text = JSON.stringify({ user: 'Zoë', messages: [{ role: 'user', content: '日本 😀' }], model: 'm' })
  const bytes = Buffer.from(text)
  expect(chatBodyOf(decodeRequest(text, { bytes })).bytes).toBe(bytes)
  expect(decodeRequest(text).body).toEqual(decodeRequest(text, { bytes }).body)
})

test('takes 100,000 messages', { timeout: 180_000 }, () => {
  const messages = Array.from({ length: 100_000 }, (_, at) =>
    at % 2 === 0
      ? { role: 'user', content: [{ type: 'text', text: 'x' }, image] }
      : {
          role: 'assistant',
          content: [{ type: 'text', text: 'y' }],
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
  )
  const started = cpuMs()
  expect(decode({ model: 'm', messages }).hasAgentHistory).toBe(true)
  // Around 0.1 s on a slow machine; a check that is not linear takes minutes.
  expect(cpuMs() - started).toBeLessThan(5000)
  expect(refused({ model: 'm', messages: [...messages, {}] })).toMatchObject({ path: 'messages[100000].role' })
})

test('refuses messages beyond any use', () => {
  const messages = Array.from({ length: 250_001 }, () => 0)
  expect(refused({ model: 'm', messages })).toMatchObject({ path: 'messages', code: 'array_above_max_length' })
})
