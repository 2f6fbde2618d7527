import type { EncodeContext, Dialect } from '../../../../src/translate/dialect.ts'
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../../src/translate/dialects.ts'
import { encodeContext, traits, translateForResponses } from '../../turns.ts'
import { joinHistory } from '../caller-requests.ts'

type Json = Readonly<Record<string, unknown>>
type Headers = Readonly<Record<string, string>>

const sol = traits('gpt-6-sol', { provider: 'codex' })
const chatgpt = { profile: 'chatgpt' } as const

function send(
  caller: keyof typeof dialects,
  body: Json,
  headers: Headers = {},
  parts: Partial<EncodeContext> = chatgpt,
) {
  const dialect: Dialect = dialects[caller]
  const text = JSON.stringify({ model: 'm', ...body })
  const request = dialect.decodeRequest(text, { bytes: Buffer.from(text), headers })
  const { request: sent } = translateForResponses(dialect, request, encodeContext(sol, parts))
  const { prompt_cache_key: key }: Json = JSON.parse(sent.body.toString())
  return { key, headers: sent.headers, replyNotes: sent.replyNotes, warnings: sent.warnings }
}

const named = (id: string) => ({ key: id, headers: { 'session-id': id, 'thread-id': id } })
const user = (text: string) => ({ role: 'user', content: text })

describe('a conversation goes by', () => {
  test('the prompt cache key of the caller', () => {
    expect(send('responses', { input: 'x', prompt_cache_key: 's-1' }, { session_id: 'other' })).toMatchObject(
      named('s-1'),
    )
    expect(send('chat', { messages: [user('x')], prompt_cache_key: 's-1' })).toMatchObject(named('s-1'))
  })

  test.each([
    'session-id',
    'session_id',
    'thread-id',
    'conversation_id',
    'x-claude-code-session-id',
    'x-session-id',
    'x-session-affinity',
  ])('the header %s, whatever the caller speaks', (name) => {
    const headers = { [name]: 's-2' }
    expect(send('responses', { input: 'x' }, headers)).toMatchObject(named('s-2'))
    expect(send('chat', { messages: [user('x')], user: 'a person' }, headers)).toMatchObject(named('s-2'))
    expect(send('messages', { max_tokens: 9, messages: [user('x')] }, headers)).toMatchObject(named('s-2'))
  })

  test('the same where the request goes on from a stored response', () => {
    const text = '{"model":"m","input":"x","previous_response_id":"resp_7"}'
    const request = dialects.responses.decodeRequest(text, {
      bytes: Buffer.from(text),
      headers: { 'session-id': 's-2' },
    })
    expect(joinHistory(request, {}).sessionId).toBe('s-2')
  })

  test('the same where the request has to be translated', () => {
    const tools = [{ type: 'function', name: 'n'.repeat(80), parameters: { type: 'object', properties: {} } }]
    expect(send('responses', { input: 'x', tools }, { 'session-id': 's-2' })).toMatchObject(named('s-2'))
  })

  test("Claude Code's session", () => {
    const metadata = { user_id: JSON.stringify({ device_id: 'd', session_id: 's-3' }) }
    expect(send('messages', { max_tokens: 9, messages: [user('x')], metadata })).toMatchObject(named('s-3'))
  })

  test('how it begins, on every turn of it and for every caller', () => {
    const first = send('responses', { instructions: 'i', input: [user('one')] })
    const second = send('responses', {
      instructions: 'i',
      input: [user('one'), { role: 'assistant', content: 'a' }, user('two')],
    })
    const chat = send('chat', { messages: [{ role: 'system', content: 'i' }, user('one')] })
    const messages = send('messages', { max_tokens: 9, system: 'i', messages: [user('one')] })
    expect(first.key).toMatch(/^cpx-[0-9a-f]{32}$/)
    expect([second.key, chat.key, messages.key]).toEqual([first.key, first.key, first.key])
    expect(first).toMatchObject(named(String(first.key)))
  })

  test('something else where it begins otherwise', () => {
    const keys = [
      send('responses', { input: 'one' }),
      send('responses', { input: 'two' }),
      send('responses', { input: 'one', instructions: 'i' }),
    ].map(({ key }) => key)
    expect(new Set(keys).size).toBe(3)
  })
})

test('a key that is too long is shortened, and one that no header can carry is encoded', () => {
  const long = send('responses', { input: 'x', prompt_cache_key: 'k'.repeat(200) })
  expect(String(long.key)).toHaveLength(64)
  expect(long).toMatchObject(named(String(long.key)))
  const odd = send('responses', { input: 'x', prompt_cache_key: 'a\r\nb: ü' })
  expect(odd.key).toBe('a\r\nb: ü')
  expect(odd.headers).toEqual({ 'session-id': 'a__b___', 'thread-id': 'a__b___' })
  expect(send('responses', { input: 'x' }, { 'session-id': 'k'.repeat(513) }).key).toMatch(/^cpx-/)
})

test('no other header of the caller passes', () => {
  const { headers } = send(
    'responses',
    { input: 'x' },
    {
      originator: 'codex_cli_rs',
      'x-openai-internal-codex-responses-lite': 'true',
      authorization: 'Bearer test',
      cookie: 'c',
    },
  )
  expect(Object.keys(headers ?? {}).toSorted()).toEqual(['session-id', 'thread-id'])
})

test('the reply tells the caller of its own key only', () => {
  expect(send('responses', { input: 'x' }).replyNotes).toMatchObject({ echo: { prompt_cache_key: null } })
  expect(send('responses', { input: 'x', prompt_cache_key: 's-1' }).replyNotes).toMatchObject({
    echo: { prompt_cache_key: 's-1' },
  })
})

describe.each([[{}], [{ model: traits('gpt-6-sol') }]])('other upstreams %#', (parts) => {
  test('get the session as its key only', () => {
    const { key, headers } = send('responses', { input: 'x' }, { 'session-id': 's-2' }, parts)
    expect({ key, headers }).toEqual({ key: 's-2', headers: undefined })
    expect(send('responses', { input: 'x', prompt_cache_key: 's-1' }, {}, parts).key).toBe('s-1')
    expect(send('chat', { messages: [user('x')], user: 'a person' }, {}, parts).key).toMatch(/^cpx-/)
  })

  test('that have refused the key are not sent it again, and the caller is not bothered with it', () => {
    const refused = { ...parts, learnedRefusals: new Set(['field:prompt_cache_key']) }
    const tools = [{ type: 'function', name: 'n'.repeat(80), parameters: { type: 'object', properties: {} } }]
    for (const body of [{ input: 'x' }, { input: 'x', tools }])
      expect(send('responses', body, { 'session-id': 's-2' }, refused)).toMatchObject({ key: undefined, warnings: [] })
  })
})

test.each<[keyof typeof dialects, Json]>([
  ['chat', { messages: [user('x')] }],
  ['responses', { input: 'x' }],
  ['messages', { max_tokens: 9, messages: [user('x')] }],
])('a %s request has the session of its header, else that of its body, else none', (caller, body) => {
  const id = (more: Json, headers: Headers = {}) => {
    const text = JSON.stringify({ model: 'm', ...body, ...more })
    return dialects[caller].decodeRequest(text, { bytes: Buffer.from(text), headers }).sessionId
  }
  const inBody =
    caller === 'messages' ? { metadata: { user_id: 'user_a_account_b_session_c' } } : { prompt_cache_key: 'c' }
  expect(id({})).toBeUndefined()
  expect(id(inBody)).toBe('c')
  expect(id(inBody, { 'x-session-id': 's' })).toBe('s')
})

test.each<[keyof typeof dialects, (at: number) => Json]>([
  ['responses', (at) => ({ type: 'input_image', image_url: `data:image/png;base64,iVBORw0KGgo${at}` })],
  ['chat', (at) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,iVBORw0KGgo${at}` } })],
  [
    'messages',
    (at) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: `iVBORw0KGgo${at}` } }),
  ],
])('a conversation of %s without a name keeps its key when its first image is left out', (caller, image) => {
  const type = caller === 'responses' ? 'input_text' : 'text'
  const turnWith = (at: number) => ({ role: 'user', content: [{ type, text: `look ${at}` }, image(at)] })
  const answer = { role: 'assistant', content: [{ type: caller === 'responses' ? 'output_text' : 'text', text: 'ok' }] }
  const limited = traits('gpt-5-mini', { supports: { vision: true } })
  const history = Array.from({ length: 22 }, (_, at) => [turnWith(at + 1), answer]).flat()
  const [first, second] = [[turnWith(1)], [...history, turnWith(23)]].map((items) => {
    const text = JSON.stringify({ model: 'm', max_tokens: 9, [caller === 'responses' ? 'input' : 'messages']: items })
    const request = dialects[caller].decodeRequest(text, { bytes: Buffer.from(text) })
    const { request: sent } = translateForResponses(dialects[caller], request, encodeContext(limited))
    const body: Json = JSON.parse(sent.body.toString())
    return { key: body['prompt_cache_key'], hasAll: !sent.body.includes('[Image omitted') }
  })
  expect(second).toEqual({ key: first?.key, hasAll: false })
})
