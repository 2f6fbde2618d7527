import { describe, expect, test } from 'vitest'
import { chatBody } from '../client.ts'
import type { SmallAsk, SmallReply } from '../client.ts'
import { openProxy } from '../harness.ts'
import { openInMemory } from '../in-memory.ts'

type Send = (path: string, ask?: SmallAsk) => Promise<SmallReply>

const surfaces: readonly (readonly [string, () => Promise<Send>])[] = [
  ['in memory', async () => openInMemory().send],
  ['over a socket', async () => (await openProxy()).send],
]

function expectEnvelope(reply: SmallReply, status: number, code: string | null): string {
  expect(reply.status).toBe(status)
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(reply.headers['x-content-type-options']).toBe('nosniff')
  expect(reply.headers['x-request-id']).toEqual(expect.stringMatching(/./))
  const body = reply.json()
  expect(body).toEqual({ error: { message: expect.any(String), type: expect.any(String), param: null, code } })
  expect(reply.text).not.toMatch(/node_modules|at .*\.ts|stack/)
  return JSON.stringify(body)
}

describe.each(surfaces)('%s', (_name, open) => {
  test.each(['/v1/chat/completions', '/chat/completions', '/v1/chat/completions?api-version=2024-10-21&stream=true'])(
    'POST %s chats',
    async (path) => {
      const send = await open()
      const reply = await send(path, { body: chatBody() })
      expect(reply.status).toBe(200)
      expect(reply.json()).toMatchObject({ object: 'chat.completion' })
    },
  )

  test.each([
    ['/v1/chat/completion', 'POST /v1/chat/completions'],
    ['/chat/completion', 'POST /v1/chat/completions'],
    ['/v1/chat', 'POST /v1/chat/completions'],
    ['/v1/chat/completions/', 'POST /v1/chat/completions'],
    ['/v1/chat/completions/x', 'POST /v1/chat/completions'],
    ['/v1/v1/chat/completions', 'POST /v1/chat/completions'],
    ['/openai/deployments/gpt/chat/completions?api-version=1', 'POST /v1/chat/completions'],
    ['/v1/completion', 'POST /v1/completions'],
    ['/api/generate', 'POST /v1/chat/completions'],
    ['/v1/response', 'POST /v1/responses'],
    ['/v1/embedding', 'POST /v1/embeddings'],
    ['/V1/models', 'GET /v1/models'],
    ['//v1/models', 'GET /v1/models'],
    ['/api/tags', 'GET /v1/models'],
    ['/metric', 'GET /metrics'],
  ])('D12 GET and POST %s are unknown, and the answer names the likely route %s', async (path, route) => {
    const send = await open()
    for (const ask of [{}, { body: '{}' }]) {
      const envelope = expectEnvelope(await send(path, ask), 404, 'route_not_found')
      expect(envelope).toContain(`Did you mean ${route}?`)
    }
  })

  test.each(['/v1', '/v1/', '/nowhere', `/${'a'.repeat(8000)}`])(
    'an unknown path without a likely route gets the paths of the APIs (%s)',
    async (path) => {
      const send = await open()
      const envelope = expectEnvelope(await send(path), 404, 'route_not_found')
      expect(envelope).toContain('The APIs are at /v1/chat/completions, /v1/responses and /v1/messages.')
      expect(envelope.length).toBeLessThan(500)
    },
  )

  test.each(['/v1/message', '/messages', '/anthropic/v1/messages', '/v1/complete', '/v1/messages/'])(
    'POST %s is unknown in the envelope of Messages',
    async (path) => {
      const send = await open()
      const reply = await send(path, { body: '{}' })
      expect(reply.status).toBe(404)
      expect(reply.json()).toMatchObject({
        type: 'error',
        error: {
          type: 'not_found_error',
          message: `Unknown path: POST ${path}. Did you mean POST /v1/messages?`,
        },
      })
    },
  )

  test.each([
    ['/v1/responses/compact', 'ask for a summary with POST /v1/responses'],
    ['/responses/compact', 'ask for a summary with POST /v1/responses'],
    ['/v1/responses/input_tokens', 'POST /v1/messages/count_tokens'],
  ])('POST %s is unknown, though it reads like a response, and the answer says what to use', async (path, advice) => {
    const send = await open()
    const envelope = expectEnvelope(await send(path, { body: '{}' }), 404, 'route_not_found')
    expect(envelope).toMatch(/copilot-proxy does not offer \/v1\/responses\//)
    expect(envelope).toContain(advice)
    expectEnvelope(await send('/v1/responses/resp_1', { body: '{}' }), 405, 'method_not_allowed')
  })

  test('an unknown route is unknown whatever the body is', async () => {
    const send = await open()
    expectEnvelope(
      await send('/nowhere', { body: 'x', headers: { 'content-type': 'text/plain' } }),
      404,
      'route_not_found',
    )
  })

  test.each([
    ['GET', '/v1/chat/completions', 'POST'],
    ['HEAD', '/v1/chat/completions', 'POST'],
    ['PUT', '/v1/chat/completions', 'POST'],
    ['OPTIONS', '/v1/chat/completions', 'POST'],
    ['DELETE', '/embeddings', 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['DELETE', '/v1/models/gpt-5-mini', 'GET, HEAD'],
    ['PATCH', '/v1/models/copilot/gpt-5-mini', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
  ])('D12 %s %s is refused with the methods that are allowed', async (method, path, allow) => {
    const send = await open()
    const reply = await send(path, { method })
    expect(reply.status).toBe(405)
    expect(reply.headers['allow']).toBe(allow)
    if (method !== 'HEAD') expectEnvelope(reply, 405, 'method_not_allowed')
  })

  test.each(['/v1/models/gpt-4.1', '/v1/models/gpt-5'])('HEAD %s is GET without the body', async (path) => {
    const send = await open()
    const lengthOf = async (method: string) => (await send(path, { method })).headers['content-length']
    // The list of the account may arrive between the two.
    await expect.poll(async () => (await lengthOf('HEAD')) === (await lengthOf('GET'))).toBe(true)
    const head = await send(path, { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(head.text).toBe('')
  })

  test.each(['/v1/models/%', '/v1/models/%zz', '/%c0%ae%c0%ae/', '/v1/%ff'])(
    'D11 a path with broken percent encoding (%s) is a 400',
    async (path) => {
      const send = await open()
      expectEnvelope(await send(path), 400, null)
    },
  )

  test.each(['?%', '?a=%zz&a=1&a=2', `?${'a'.repeat(8000)}`, '?__proto__[x]=1', '?a[b][c]=1#fragment'])(
    'D11 the query string does not matter (%s)',
    async (query) => {
      const send = await open()
      expect((await send(`/v1/models${query}`)).status).toBe(200)
    },
  )

  test('models are found by id, by prefixed id and by an encoded one', async () => {
    const send = await open()
    for (const id of ['gpt-5-mini', 'copilot/gpt-5-mini', 'copilot%2Fgpt-5-mini', 'gpt%2D5%2Dmini']) {
      expect([id, (await send(`/v1/models/${id}`)).status]).toEqual([id, 200])
    }
    const reply = await send('/v1/models/gpt-5-mnii')
    expect(reply.status).toBe(404)
    expect(reply.json()).toMatchObject({
      error: { code: 'model_not_found', param: 'model', message: expect.stringContaining('gpt-5-mini') },
    })
  })

  test('a model list of OpenAI is answered', async () => {
    const send = await open()
    expect((await send('/v1/models')).json()).toMatchObject({
      object: 'list',
      data: expect.arrayContaining([
        expect.objectContaining({
          id: 'gpt-5-mini',
          object: 'model',
          created: expect.any(Number),
          owned_by: expect.any(String),
        }),
      ]),
    })
  })
})
