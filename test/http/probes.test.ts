import { expect, test } from 'vitest'
import { openProxy } from './harness.ts'
import { openInMemory } from './in-memory.ts'

test.each(['/', '/api/hello'])('HEAD and GET %s find somebody there, without a key', async (path) => {
  const { send } = openInMemory('server: { api-keys: [secret-key-1] }')
  for (const method of ['HEAD', 'GET']) expect((await send(path, { method })).status).toBe(200)
})

test.each(['/v1/responses', '/responses'])(
  'an incomplete WebSocket handshake for %s is answered 426 at once',
  async (path) => {
    const { raw, port } = await openProxy()
    const answer = await raw(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\nUpgrade: websocket\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 426 /)
    expect(answer).toContain('no complete WebSocket handshake')
  },
)

test('GET /v1/responses without an upgrade is a 405 that names the allowed method', async () => {
  const { send } = openInMemory()
  const reply = await send('/v1/responses')
  expect(reply.status).toBe(405)
  expect(reply.headers['allow']).toBe('POST')
})

test('D12 unknown paths below /v1/messages, or from an Anthropic client, get an Anthropic error envelope', async () => {
  const { send } = openInMemory()
  for (const [path, headers] of [
    ['/v1/messages/batches', {}],
    ['/v1/files', { 'anthropic-version': '2023-06-01' }],
  ] as const) {
    const reply = await send(path, { headers })
    expect(reply.status).toBe(404)
    expect(reply.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
  }
})
