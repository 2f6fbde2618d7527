import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { chatBody } from '../http/client.ts'
import type { Reply } from '../http/client.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { openInMemory } from '../http/in-memory.ts'
import type { Route } from '../http/in-memory.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'

function askOf({ method }: Route, headers: Readonly<Record<string, string>>) {
  return { method, headers, ...(method === 'POST' && { body: chatBody({ max_tokens: 5 }) }) }
}

function corsHeadersOf({ headers }: Pick<Reply, 'headers'>): readonly string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-'))
}

const foreign = 'https://evil.example'

test('the walk below knows every kind of route', async () => {
  const routes = (await openInMemory().routes()).map(({ method, path }) => `${method} ${path}`)
  expect(routes).toEqual(
    expect.arrayContaining([
      'GET /',
      'GET /healthz',
      'GET /usage',
      'GET /v1/models',
      'POST /v1/chat/completions',
      'POST /v1/messages',
      'POST /v1/messages/count_tokens',
      'POST /v1/responses',
      'DELETE /v1/responses/some-id',
      'POST /v1/embeddings',
    ]),
  )
})

describe.each([
  ['A03 a foreign Host', { host: 'evil.example' }],
  ['A03 a Host that begins like an allowed one', { host: 'localhost.evil.example' }],
  ['A05 a foreign Origin', { origin: foreign }],
  ['A05 the Origin null', { origin: 'null' }],
  ['A05 an extension', { origin: 'chrome-extension://abcdefghijklmnopabcdefghijklmnop' }],
  ['A05 a load that carries no Origin', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
])('%s', (_what, headers) => {
  test('is refused on every route, in its own words, and reaches nothing', async () => {
    const proxy = await openProxy()
    const replies: string[] = []
    for (const route of await openInMemory().routes()) {
      for (const extra of [{}, { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }]) {
        const reply = await proxy.send(route.path, askOf(route, { ...headers, ...extra }))
        expect([route, reply.status, corsHeadersOf(reply)]).toEqual([route, 403, []])
        expect(reply.json()).toEqual(envelopeOf(route.path))
        expect(reply.headers['x-content-type-options']).toBe('nosniff')
        replies.push(reply.text)
      }
    }
    expect(proxy.demo.count('/chat/completions')).toBe(0)
    await expectUnharmed(proxy, ...replies)
  })
})

test('A05 a foreign Origin is answered while its body is still on the way', async () => {
  const proxy = await openProxy()
  const socket = await proxy.socket()
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: ${foreign}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{',
  )
  const [head] = await once(socket, 'data')
  expect(String(head)).toMatch(/^HTTP\/1\.1 403 /)
  socket.destroy()
  expect(proxy.demo.count('/chat/completions')).toBe(0)
})

const preflight = (origin: string) => ({
  method: 'OPTIONS',
  headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' },
})

test('A08 a preflight from a listed origin names that origin, and one from a stranger gets nothing', async () => {
  const proxy = await openProxy({ file: 'server: { allowed-origins: ["https://app.example"] }' })
  for (const { path } of await openInMemory().routes()) {
    const allowed = await proxy.send(path, preflight('https://app.example'))
    expect([path, allowed.status, allowed.headers['access-control-allow-origin']]).toEqual([
      path,
      204,
      'https://app.example',
    ])
    expect(allowed.headers['access-control-allow-methods']).toBe('GET, HEAD, POST, DELETE')
    expect(allowed.headers['access-control-allow-headers']).toBe('x-api-key')
    expect(allowed.headers).not.toHaveProperty('access-control-allow-credentials')
    for (const origin of [foreign, 'null', 'https://app.example.evil.example', 'http://app.example']) {
      const refused = await proxy.send(path, preflight(origin))
      expect([path, refused.status, corsHeadersOf(refused)]).toEqual([path, 403, []])
    }
  }
  await expectUnharmed(proxy)
})

test('A08 a listed origin may send the headers of the APIs and their SDKs, and no others', async () => {
  const proxy = await openProxy({ file: 'server: { allowed-origins: ["https://app.example"] }' })
  const asked =
    'Authorization,content-type, x-api-key, anthropic-version,x-stainless-retry-count, x-forwarded-for, cookie, evil'
  const { headers } = await proxy.send('/v1/messages', {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': asked,
    },
  })
  expect(headers['access-control-allow-headers']).toBe(
    'authorization, content-type, x-api-key, anthropic-version, x-stainless-retry-count',
  )
})

test('A10 a foreign page opens no WebSocket, and an incomplete handshake opens none', async () => {
  const proxy = await openProxy()
  const handshake = (origin: string) =>
    proxy.raw(
      `GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\nConnection: close\r\n` +
        'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    )
  expect(await handshake(foreign)).toMatch(/^HTTP\/1\.1 403 /)
  expect(await handshake(`http://localhost:${proxy.port}`)).toMatch(/^HTTP\/1\.1 426 /)
  await expectUnharmed(proxy)
})

const claims = (address: string) => ({
  'x-forwarded-for': address,
  'x-real-ip': address,
  forwarded: `for=${address};host=localhost;proto=https`,
  'x-forwarded-host': 'localhost',
  'x-forwarded-proto': 'https',
})

/** Of four chat requests, each of which says that it comes from somewhere else. */
async function statusesOf(proxy: Proxy, headers: Readonly<Record<string, string>>): Promise<readonly number[]> {
  const statuses: number[] = []
  for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4']) {
    statuses.push((await proxy.chat({}, { headers: { ...headers, ...claims(address) } })).status)
  }
  return statuses
}

test('A14 what a client says of itself changes nothing where no key is asked for either', async () => {
  const proxy = await openProxy({ file: 'server: { max-requests-per-minute: 3 }' })
  expect(await statusesOf(proxy, {})).toEqual([200, 200, 200, 429])
})

test('A14 what a client says of itself changes neither the Host check nor what it is slowed by', async () => {
  const proxy = await openProxy({ file: 'server: { api-keys: [right-key-0123456789], max-requests-per-minute: 3 }' })
  const evil = await proxy.send('/v1/models', { headers: { ...claims('127.0.0.1'), host: 'evil.example' } })
  expect(evil.status).toBe(403)

  const key = { authorization: 'Bearer right-key-0123456789' }
  expect(await statusesOf(proxy, key)).toEqual([200, 200, 200, 429])
  for (const line of proxy.log) expect(JSON.stringify(line)).not.toContain('203.0.113.')
})
