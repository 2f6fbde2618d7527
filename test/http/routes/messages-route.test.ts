import { gzipSync, zstdCompressSync, brotliCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { dataOf } from '../client.ts'
import type { Reply } from '../client.ts'
import { openProxy } from '../harness.ts'
import type { Proxy } from '../harness.ts'

type Json = Readonly<Record<string, unknown>>

function messagesBody(change: Json = {}): string {
  return JSON.stringify({
    model: 'claude-sonnet-4.5',
    max_tokens: 1024,
    messages: [{ role: 'user', content: 'Hello' }],
    ...change,
  })
}

function ask({ send }: Proxy, change: Json = {}, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return send('/v1/messages?beta=true', {
    body: messagesBody(change),
    headers: { 'anthropic-version': '2023-06-01', ...headers },
  })
}

const says = (content: string) => ({ messages: [{ role: 'user', content }] })

test.each([
  ['claude-sonnet-4.5', 'copilot/messages'],
  ['gpt-5-mini', 'copilot/responses'],
  ['gpt-5.3-codex', 'copilot/responses'],
])('%s answers over %s, under the name that was asked for', async (model, route) => {
  const proxy = await openProxy()
  const reply = await ask(proxy, { model })
  expect(reply.status).toBe(200)
  expect(reply.headers['x-copilot-proxy-route']).toBe(route)
  expect(reply.headers['request-id']).toBe(reply.headers['x-request-id'])
  expect(reply.json()).toMatchObject({ type: 'message', role: 'assistant', model, stop_reason: 'end_turn' })
  expect(reply.text).toContain('You said: Hello')
})

test('the answer has the model name of the request, with its date and dashes', async () => {
  const proxy = await openProxy()
  const model = 'claude-sonnet-4-5-20250929'
  expect((await ask(proxy, { model })).json()).toMatchObject({ model })
  const streamed = await ask(proxy, { model, stream: true })
  expect(JSON.parse(dataOf(streamed.text)[0] ?? '')).toMatchObject({ type: 'message_start', message: { model } })
})

test('setting upstream-dialect: chat takes chat where the model has it', async () => {
  const proxy = await openProxy({ file: 'copilot: { upstream-dialect: chat }' })
  expect((await ask(proxy)).headers['x-copilot-proxy-route']).toBe('copilot/chat')
})

test('either credential header is accepted', async () => {
  const proxy = await openProxy({ file: 'server: { api-keys: [right-key-1] }' })
  expect((await ask(proxy, {}, { 'x-api-key': 'right-key-1' })).status).toBe(200)
  expect((await ask(proxy, {}, { authorization: 'Bearer right-key-1' })).status).toBe(200)
  const refused = await ask(proxy, {}, { 'x-api-key': 'wrong' })
  expect(refused.status).toBe(401)
  expect(refused.json()).toMatchObject({ type: 'error', error: { type: 'authentication_error' } })
})

test.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
] as const)('a body compressed with %s is read', async (encoding, compress) => {
  const { send } = await openProxy()
  const body = compress(Buffer.from(messagesBody()))
  const reply = await send('/v1/messages', {
    body,
    headers: { 'content-encoding': encoding, 'content-type': 'application/json' },
  })
  expect(reply.status).toBe(200)
})

describe('errors, in Anthropic’s envelope', () => {
  test.each([
    ['a missing field', { max_tokens: undefined }, 400, 'invalid_request_error', 'max_tokens'],
    ['a wrong type', { messages: [{ role: 'user', content: 5 }] }, 400, 'invalid_request_error', 'messages[0].content'],
    ['an unknown model', { model: 'claude-nothing' }, 404, 'not_found_error', 'claude-nothing'],
    ['a rate limit', says('[demo:error 429 7]'), 429, 'rate_limit_error', ''],
    ['no quota', says('[demo:error 402]'), 402, 'billing_error', ''],
    ['an overloaded upstream', says('[demo:error 503]'), 529, 'overloaded_error', ''],
    ['a failing upstream', says('[demo:error 500]'), 500, 'api_error', ''],
    ['a full context', says('[demo:overflow]'), 400, 'invalid_request_error', 'prompt is too long: '],
  ])('%s', async (_name, change, status, type, words) => {
    const proxy = await openProxy()
    const reply = await ask(proxy, change)
    expect(reply.status).toBe(status)
    const body = JSON.parse(reply.text)
    expect(body).toMatchObject({ type: 'error', error: { type, message: expect.any(String) } })
    expect(body.request_id).toBe(reply.headers['request-id'])
    expect(body.error.message).toContain(words)
  })

  test('retry-after is kept, and x-should-retry is false if retrying is futile', async () => {
    const proxy = await openProxy()
    const limited = await ask(proxy, says('[demo:error 429 7]'))
    expect(limited.headers['retry-after']).toBe('7')
    const spent = await ask(proxy, says('[demo:error 402]'))
    expect(spent.headers['x-should-retry']).toBe('false')
  })

  test.each(['claude-sonnet-4.5', 'gpt-5-mini', 'gpt-5.3-codex'])(
    'a full context of %s has the message that Claude Code recognises',
    async (model) => {
      const proxy = await openProxy()
      const reply = await ask(proxy, { model, ...says('[demo:overflow]') })
      expect(reply.status).toBe(400)
      expect(reply.json()).toMatchObject({
        error: { message: expect.stringMatching(/^prompt is too long: \d+ tokens > \d+ maximum/) },
      })
    },
  )

  test.each(['claude-sonnet-4.5', 'gpt-5-mini', 'gpt-5.3-codex'])(
    'a stream of %s that fails ends in an error event, without a made-up end',
    async (model) => {
      const proxy = await openProxy()
      const reply = await ask(proxy, { model, stream: true, ...says('[demo:long 40][demo:error-mid]') })
      const types = dataOf(reply.text).map((data): unknown => JSON.parse(data).type)
      expect(types[0]).toBe('message_start')
      expect(types.at(-1)).toBe('error')
      expect(types).not.toContain('message_stop')
    },
  )
})

describe('what Claude Code sends', () => {
  test('chat.strict refuses a loss with a 400 that names the field', async () => {
    const proxy = await openProxy({ file: 'chat: { strict: true }' })
    const reply = await ask(proxy, { model: 'gpt-5-mini', top_k: 5 })
    expect(reply.status).toBe(400)
    expect(reply.text).toContain('top_k')
  })

  test('an unknown top-level member is removed after upstream refused it, and its second refusal is learned', async () => {
    const proxy = await openProxy()
    for (const sent of [2, 4]) {
      expect((await ask(proxy, { brand_new_member: { a: 1 } })).status).toBe(200)
      expect(proxy.demo.count('/v1/messages')).toBe(sent)
    }
    const again = await ask(proxy, { brand_new_member: { a: 1 } })
    expect(again.status).toBe(200)
    expect(proxy.demo.count('/v1/messages')).toBe(5)
    expect(again.headers['x-copilot-proxy-warnings']).toContain('brand_new_member')
  })

  test('betas that upstream does not know do not reach it', async () => {
    const proxy = await openProxy()
    const betas = 'claude-code-20250219,interleaved-thinking-2025-05-14,context-1m-2025-08-07,files-api-2025-04-14'
    expect((await ask(proxy, {}, { 'anthropic-beta': betas })).status).toBe(200)
    const sent = String(proxy.demo.log.at(-1)?.headers['anthropic-beta'])
    expect(sent).not.toMatch(/claude-code|context-1m|files-api/)
  })
})

function count({ send }: Proxy, change: Json): Promise<Reply> {
  return send('/v1/messages/count_tokens?beta=true', {
    body: messagesBody({ max_tokens: undefined, ...change }),
    headers: { 'anthropic-version': '2023-06-01' },
  })
}

describe('count_tokens', () => {
  test('is upstream’s own for a model with native Messages', async () => {
    const proxy = await openProxy()
    const reply = await count(proxy, {})
    expect(reply.json()).toEqual({ input_tokens: expect.any(Number) })
    expect(reply.headers['x-copilot-proxy-token-count']).toBe('upstream')
    expect(proxy.demo.count('/v1/messages/count_tokens')).toBe(1)
  })

  test('is an estimate, and says so, for any other model', async () => {
    const proxy = await openProxy()
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(100)
    const reply = await count(proxy, { model: 'gpt-5-mini', ...says(text) })
    expect(reply.headers['x-copilot-proxy-token-count']).toBe('estimate')
    // o200k has 1001 for it.
    const { input_tokens: tokens } = JSON.parse(reply.text)
    expect(tokens).toBeGreaterThan(850)
    expect(tokens).toBeLessThan(1150)
  })

  test('counts tools, system and results, and an image by its size at most', async () => {
    const proxy = await openProxy()
    const tokensOf = async (change: Json): Promise<number> => {
      const { input_tokens: tokens } = JSON.parse((await count(proxy, { model: 'gpt-5-mini', ...change })).text)
      return tokens
    }
    const bare = await tokensOf({})
    expect(await tokensOf({ system: 'You are brief and kind.' })).toBeGreaterThan(bare)
    const tool = { name: 'read', description: 'Reads a file', input_schema: { type: 'object', properties: {} } }
    expect(await tokensOf({ tools: [tool] })).toBeGreaterThan(bare)
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0='.repeat(1000) } }
    const content = [{ type: 'text', text: 'Hello' }, image]
    expect(await tokensOf({ messages: [{ role: 'user', content }] })).toBe(bare + 1600)
  })

  test('falls back to an estimate where the provider has no count', async () => {
    const proxy = await openProxy()
    proxy.demo.script('/v1/messages/count_tokens', {
      outcome: { kind: 'whole', status: 404, headers: {}, body: '404 page not found' },
    })
    const reply = await count(proxy, {})
    expect(reply.status).toBe(200)
    expect(reply.headers['x-copilot-proxy-token-count']).toBe('estimate')
  })
})
