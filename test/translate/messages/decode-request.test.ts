import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import { expect, test } from 'vitest'
import { decodeCountRequest } from '../../../src/translate/messages/decode-request.ts'
import { messagesBodyOf } from '../../../src/translate/messages/wire.ts'
import { dialects } from '../../../src/translate/dialects.ts'
import { decode, fixture, hello } from './caller-helpers.ts'
import { errorOf } from '../faults.ts'

const refused = (body: object) => errorOf(() => decode(body))
const user = (...content: object[]) => ({ role: 'user', content })
const text = (words: string) => ({ type: 'text', text: words })
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0=' } }
const result = (content?: unknown) => ({ type: 'tool_result', tool_use_id: 't1', content })
const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] }

test('reads what the pipeline has to know', () => {
  expect(decode({ model: 'claude-opus-5-5' })).toMatchObject({
    model: 'claude-opus-5-5',
    stream: false,
    hasImage: false,
    hasAgentHistory: false,
    endsWithUser: true,
  })
})

test.each([
  ['stream is asked for', { stream: true }, { stream: true }],
  ['stream is null', { stream: null }, { stream: false }],
  ['the user sent an image', { messages: [user(image)] }, { hasImage: true }],
  ['a tool result holds an image', { messages: [...hello, call, user(result([image])), ...hello] }, { hasImage: true }],
  [
    'a document holds an image',
    { messages: [user({ type: 'document', source: { type: 'content', content: [image] } })] },
    { hasImage: true },
  ],
  [
    'there is a document but no image',
    { messages: [user({ type: 'document', source: { type: 'text', data: 'image' } })] },
    { hasImage: false },
  ],
  [
    'an assistant message is there',
    { messages: [...hello, { role: 'assistant', content: 'hi' }] },
    { hasAgentHistory: true, endsWithUser: false },
  ],
  [
    'the last message holds tool results only',
    { messages: [...hello, call, user(result('r'), result('r'))] },
    { hasAgentHistory: true, endsWithUser: false },
  ],
  [
    'the user says something beside a tool result',
    { messages: [...hello, call, user(result('r'), text('and now?'))] },
    { hasAgentHistory: true, endsWithUser: true },
  ],
  [
    'the client adds a reminder to a tool result',
    { messages: [...hello, call, user(result('r'), text('<system-reminder>\nBe brief.\n</system-reminder>'))] },
    { endsWithUser: false },
  ],
  ['a prompt is nothing but a reminder', { messages: [user(text('<system-reminder>x'))] }, { endsWithUser: true }],
  [
    'a system message follows the user',
    { messages: [...hello, { role: 'system', content: [text('80 columns')] }] },
    { hasAgentHistory: false, endsWithUser: true },
  ],
])('notices when %s', (_, body, expected) => {
  expect(decode(body)).toMatchObject(expected)
})

test.each([
  ['no header', undefined, []],
  [
    'one header',
    'effort-2025-11-24,interleaved-thinking-2025-05-14',
    ['effort-2025-11-24', 'interleaved-thinking-2025-05-14'],
  ],
  ['spaces and gaps', ' a , ,b,', ['a', 'b']],
  ['several headers', ['a, b', 'c'], ['a', 'b', 'c']],
])('reads the betas of %s', (_, header, betas) => {
  const request = decode({}, header === undefined ? {} : { 'anthropic-beta': header })
  expect(messagesBodyOf(request).betas).toEqual(betas)
})

test('keeps the very bytes and every key', () => {
  const body = fixture('messages-requests/claude-code-first.json')
  const bytes = Buffer.from(body)
  const { value, bytes: kept, members } = messagesBodyOf(messagesDialect.decodeRequest(body, { bytes }))
  expect(kept).toBe(bytes)
  expect(value).toEqual(JSON.parse(body))
  expect(members.map(({ start, keyEnd }) => body.slice(start + 1, keyEnd - 1))).toEqual(Object.keys(value))
})

test('finds members after text that is not ASCII', () => {
  const body = JSON.stringify({ messages: [user(text('é😀'))], model: 'm', max_tokens: 1 })
  const { members, bytes } = messagesBodyOf(messagesDialect.decodeRequest(body))
  expect(members.map(({ valueStart, end }) => bytes.toString('utf8', valueStart, end)).slice(1)).toEqual(['"m"', '1'])
})

test('knows a request of another dialect as a mistake of the program', () => {
  const other = dialects.chat.decodeRequest('{"model":"m","messages":[{"role":"user","content":"x"}]}')
  expect(() => messagesBodyOf(other)).toThrow(TypeError)
})

test.each([
  ['unknown members', { x_new: { deep: [null] }, inference_geo: 'us' }],
  ['unknown blocks', { messages: [user({ type: 'hologram', text: { any: 1 } })] }],
  ['unknown block members', { messages: [{ ...user({ ...text('x'), citations: [] }), clear_at: 'never' }] }],
  ['unknown sources', { messages: [user({ type: 'image', source: { type: 'satellite' } })] }],
  ['unknown tools', { tools: [{ type: 'computer_toolset_20260801' }, { type: 'mcp_toolset', mcp_server_name: 's' }] }],
  ['unknown thinking', { thinking: { type: 'daydream', display: 'updates' } }],
  ['a tool without a schema', { tools: [{ name: 'later', defer_loading: true }] }],
  [
    'a schema with a key that Object has',
    { tools: [{ name: 'f', input_schema: JSON.parse('{"__proto__":1}') as object }] },
  ],
  ['a type that Object has', { messages: [user({ type: 'constructor' }), user({ type: '__proto__' })] }],
  ['a system text', { system: 's' }],
  ['system blocks', { system: [{ ...text('s'), cache_control: { type: 'ephemeral', ttl: '1h', scope: 'global' } }] }],
  [
    'a system message that only sets the effort',
    { messages: [...hello, { role: 'system', output_config: { effort: 'low' } }] },
  ],
  [
    'nulls for what is optional',
    { system: null, tools: null, thinking: null, stop_sequences: null, tool_choice: null },
  ],
  ['containers and remote servers, which upstream may judge', { container: 'c1', mcp_servers: [{ type: 'url' }] }],
  [
    'a call without input',
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: null }] }, ...hello] },
  ],
  ['an empty tool result', { messages: [user({ type: 'tool_result', tool_use_id: 't' })] }],
  [
    'thinking without a signature',
    { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }] }, ...hello] },
  ],
  ['a prewarming request', { max_tokens: 0 }],
])('takes %s', (_, body) => {
  expect(() => decode(body)).not.toThrow()
})

function search(change: object) {
  return { type: 'web_search_20250305', name: 'web_search', ...change }
}

test.each([
  [{ model: '' }, 'model', 'expected a non-empty string, got an empty string'],
  [{ model: undefined }, 'model', 'expected a string, but it is missing'],
  [{ max_tokens: undefined }, 'max_tokens', 'expected an integer, but it is missing'],
  [{ max_tokens: null }, 'max_tokens', 'expected an integer, got null'],
  [{ max_tokens: 1.5 }, 'max_tokens', 'expected an integer, got a number'],
  [{ max_tokens: -1 }, 'max_tokens', 'expected an integer that is not negative, got a number'],
  [{ messages: undefined }, 'messages', 'expected an array of messages, but it is missing'],
  [{ messages: [] }, 'messages', 'expected at least one message, got an empty array'],
  [{ messages: [null] }, 'messages[0]', 'expected an object with role and content, got null'],
  [{ messages: [...hello, { content: 'x' }] }, 'messages[1].role', 'expected a string, but it is missing'],
  [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role', 'expected one of user, assistant, system'],
  [
    { messages: [{ role: 'user' }] },
    'messages[0].content',
    'expected a string or an array of content blocks, but it is missing',
  ],
  [
    { messages: [{ role: 'assistant', content: null }] },
    'messages[0].content',
    'expected a string or an array of content blocks, got null',
  ],
  [
    { messages: [{ role: 'user', content: ['x'] }] },
    'messages[0].content[0]',
    'expected an object with a type, got a string',
  ],
  [{ messages: [user({ text: 'x' })] }, 'messages[0].content[0].type', 'expected a string, but it is missing'],
  [
    { messages: [user(text('a'), { type: 'text' })] },
    'messages[0].content[1].text',
    'expected a string, but it is missing',
  ],
  [
    { messages: [user({ type: 'image' })] },
    'messages[0].content[0].source',
    'expected an object with a type, but it is missing',
  ],
  [
    { messages: [user({ type: 'image', source: { type: 'base64', data: 'x' } })] },
    'messages[0].content[0].source.media_type',
    'expected a string, but it is missing',
  ],
  [
    { messages: [user({ type: 'document', source: { type: 'url' } })] },
    'messages[0].content[0].source.url',
    'expected a string, but it is missing',
  ],
  [
    { messages: [user({ type: 'document', source: { type: 'content', content: [1] } })] },
    'messages[0].content[0].source.content[0]',
    'expected an object with a type, got a number',
  ],
  [
    { messages: [user({ type: 'tool_result' })] },
    'messages[0].content[0].tool_use_id',
    'expected a string, but it is missing',
  ],
  [
    { messages: [user(result([{ type: 'text', text: 1 }]))] },
    'messages[0].content[0].content[0].text',
    'expected a string, got a number',
  ],
  [
    { messages: [user({ ...result('r'), is_error: 'yes' })] },
    'messages[0].content[0].is_error',
    'expected true or false, got a string',
  ],
  [
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: [] }] }] },
    'messages[0].content[0].input',
    'expected an object, got an array',
  ],
  [
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', name: 'f', input: {} }] }] },
    'messages[0].content[0].id',
    'expected a string, but it is missing',
  ],
  [
    { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 1 }] }] },
    'messages[0].content[0].signature',
    'expected a string, got a number',
  ],
  [
    { messages: [user({ ...text('x'), cache_control: 'yes' })] },
    'messages[0].content[0].cache_control',
    'expected an object with a type, got a string',
  ],
  [
    { messages: [{ role: 'system', content: [{ type: 'tool_addition', tool: { type: 'tool_definition' } }] }] },
    'messages[0].content[0].tool.definition',
    'expected an object with name and input_schema, but it is missing',
  ],
  [{ system: 1 }, 'system', 'expected a string or an array of content blocks, got a number'],
  [{ system: [{ type: 'text' }] }, 'system[0].text', 'expected a string, but it is missing'],
  [{ tools: {} }, 'tools', 'expected an array of tools, got an object'],
  [{ tools: [{ input_schema: {} }] }, 'tools[0].name', 'expected the name of the tool, but it is missing'],
  [
    { tools: [{ name: 'f', input_schema: true }] },
    'tools[0].input_schema',
    'expected an object that is a JSON schema, got a boolean',
  ],
  [{ tools: [{ name: 'f', strict: 1 }] }, 'tools[0].strict', 'expected true or false, got a number'],
  [{ tools: [search({ max_uses: 0 })] }, 'tools[0].max_uses', 'expected a whole number above 0, got 0'],
  [{ tools: [search({ max_uses: '1' })] }, 'tools[0].max_uses', 'expected a whole number above 0, got a string'],
  [{ tools: [search({ user_location: 'DE' })] }, 'tools[0].user_location', 'expected an object, got a string'],
  [{ tools: [search({ user_location: { type: 'exact' } })] }, 'tools[0].user_location.type', 'expected approximate'],
  [
    { tools: [search({ user_location: { type: 'approximate', city: 5 } })] },
    'tools[0].user_location.city',
    'expected text, got a number',
  ],
  [
    { tools: [search({ blocked_domains: ['e.x/blog/*', 'https://e.x'] })] },
    'tools[0].blocked_domains[1]',
    'expected a domain without https://, such as example.com or example.com/blog',
  ],
  [
    { tools: [search({ allowed_domains: 'e.x' })] },
    'tools[0].allowed_domains',
    'expected an array of domains, got a string',
  ],
  [
    { tools: [search({ allowed_domains: ['e.x'], blocked_domains: ['f.x'] })] },
    'tools[0].blocked_domains',
    'expected either allowed_domains or blocked_domains',
  ],
  [{ stop_sequences: 'END' }, 'stop_sequences', 'expected an array of strings, got a string'],
  [{ stop_sequences: ['a', 1] }, 'stop_sequences', 'expected an array of strings, got an array'],
  [{ tool_choice: 'auto' }, 'tool_choice', 'expected an object with a type, got a string'],
  [{ tool_choice: { type: 'tool' } }, 'tool_choice.name', 'expected the name of a tool, but it is missing'],
  [{ thinking: { budget_tokens: 1 } }, 'thinking.type', 'expected a string, but it is missing'],
  [
    { thinking: { type: 'enabled', budget_tokens: '1' } },
    'thinking.budget_tokens',
    'expected an integer, got a string',
  ],
  [
    { output_config: { format: { type: 'json_schema' } } },
    'output_config.format.schema',
    'expected an object that is a JSON schema, but it is missing',
  ],
  [{ temperature: '0' }, 'temperature', 'expected a number, got a string'],
  [{ stream: 'true' }, 'stream', 'expected true or false, got a string'],
])('refuses %j at %s', (body, path, detail) => {
  expect(refused(body)).toMatchObject({ kind: 'invalid_request', path, detail })
})

test('says of a thread what the official SDK falls back on', () => {
  const body = fixture('messages-requests/anthropic-sdk-thread.json')
  expect(errorOf(() => messagesDialect.decodeRequest(body))).toMatchObject({
    kind: 'invalid_request',
    path: 'thread',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
  expect(errorOf(() => decodeCountRequest(body))).toMatchObject({ path: 'thread' })
})

test('counts tokens of a request without max_tokens', () => {
  const body = JSON.stringify({ model: 'm', messages: hello })
  expect(decodeCountRequest(body)).toMatchObject({ model: 'm', endsWithUser: true })
  expect(errorOf(() => messagesDialect.decodeRequest(body))).toMatchObject({ path: 'max_tokens' })
})

test.each([
  ['', 'malformed_body'],
  ['{"model":"m"', 'malformed_body'],
  ['[]', 'invalid_request'],
  ['null', 'invalid_request'],
  [`{"model":${'['.repeat(501)}${']'.repeat(501)}}`, 'invalid_request'],
])('refuses a body that is no JSON object or built to hurt: %s', (body, kind) => {
  expect(errorOf(() => messagesDialect.decodeRequest(body))).toMatchObject({ kind })
})

test.each([
  ['messages', { messages: Array.from({ length: 250_001 }, () => ({ role: 'user', content: '' })) }],
  ['tools', { tools: Array.from({ length: 10_001 }, () => ({ name: 'f' })) }],
])('refuses more %s than anybody has', (path, body) => {
  expect(refused(body)).toMatchObject({ path, code: 'array_above_max_length' })
})

test('never quotes what the caller wrote', () => {
  const secret = 'hunter2hunter2'
  const error = refused({ messages: [{ role: secret, content: secret }], tools: [secret], stream: secret })
  expect(JSON.stringify(error)).not.toContain(secret)
})
