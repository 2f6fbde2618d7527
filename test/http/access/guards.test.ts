import { describe, expect, test } from 'vitest'
import { chatBody } from '../client.ts'
import type { SmallAsk, SmallReply } from '../client.ts'
import { openProxy } from '../harness.ts'
import { openInMemory } from '../in-memory.ts'

interface Surface {
  readonly send: (path: string, ask?: SmallAsk) => Promise<SmallReply>
  /** Model requests that got through. */
  readonly upstreamCalls: () => number
}

type Open = (file?: string) => Promise<Surface>

const surfaces: readonly (readonly [string, Open])[] = [
  ['in memory', async (file) => openInMemory(file)],
  [
    'over a socket',
    async (file) => {
      const proxy = await openProxy({ ...(file !== undefined && { file }) })
      return { send: proxy.send, upstreamCalls: () => proxy.demo.count('/chat/completions') }
    },
  ],
]

/** Every route, with a valid request. */
const routes: readonly (readonly [string, SmallAsk])[] = [
  ['/healthz', {}],
  ['/readyz', {}],
  ['/usage', {}],
  ['/v1/models', {}],
  ['/models', {}],
  ['/v1/models/gpt-5-mini', {}],
  ['/models/gpt-5-mini', {}],
  ['/v1/chat/completions', { body: chatBody() }],
  ['/chat/completions', { body: chatBody() }],
  ['/v1/embeddings', { body: '{"model":"text-embedding-3-small","input":"a"}' }],
  ['/embeddings', { body: '{"model":"text-embedding-3-small","input":"a"}' }],
  ['/nowhere', {}],
]

const chat = '/v1/chat/completions'
const foreign = 'https://evil.example'

function corsHeadersOf({ headers }: SmallReply): readonly string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-'))
}

describe.each(surfaces)('%s', (_name, open) => {
  test('every route refuses a foreign Host, also as a preflight, before anything reaches upstream', async () => {
    const surface = await open()
    for (const [path, ask] of routes) {
      for (const host of [
        'evil.example',
        'evil.example:4141',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
        '10.0.0.1',
      ]) {
        const reply = await surface.send(path, { ...ask, headers: { host } })
        expect([path, host, reply.status]).toEqual([path, host, 403])
        expect(reply.json()).toMatchObject({
          error: { type: 'permission_error', code: 'forbidden', message: expect.stringContaining('Host') },
        })
        expect(corsHeadersOf(reply)).toEqual([])
      }
      expect(
        (await surface.send(path, { method: 'OPTIONS', headers: { host: 'evil.example', origin: foreign } })).status,
      ).toBe(403)
    }
    expect(surface.upstreamCalls()).toBe(0)
  })

  test.each(['localhost', 'LOCALHOST:1', '127.0.0.1', '127.0.0.1:4141', '127.9.9.9', '[::1]', '[::1]:8080'])(
    'takes the loopback name %s under any port',
    async (host) => {
      expect((await (await open()).send('/v1/models', { headers: { host } })).status).toBe(200)
    },
  )

  test.each([
    '',
    'local host',
    'localhost:',
    'localhost:99999999',
    'user@localhost',
    'localhost/',
    '[::1',
    'localhost,evil.example',
  ])('refuses the malformed Host "%s"', async (host) => {
    // An empty value is how this suite leaves a header out, hence the blank.
    const { status } = await (await open()).send('/v1/models', { headers: { host: host === '' ? ' ' : host } })
    expect(status).toBe(403)
  })

  test('A04 takes a listed Host by exact name and port', async () => {
    const { send } = await open('server: { allowed-hosts: ["proxy.example:8443"] }')
    const statusFor = async (host: string) => (await send('/v1/models', { headers: { host } })).status
    expect(await statusFor('proxy.example:8443')).toBe(200)
    expect(await statusFor('PROXY.example:8443')).toBe(200)
    expect(await statusFor('proxy.example')).toBe(403)
    expect(await statusFor('proxy.example:8444')).toBe(403)
    expect(await statusFor('proxy.example.evil.example:8443')).toBe(403)
    expect(await statusFor('evil-proxy.example:8443')).toBe(403)
  })

  test.each([
    ['proxy.example:8443', 'add "proxy.example:8443" to server.allowed-hosts'],
    ['Proxy.Example', 'add "proxy.example:80" to server.allowed-hosts'],
    ['10.0.0.1', 'add "10.0.0.1:80" to server.allowed-hosts'],
  ])('A04 says which entry admits the Host %s, and that entry does', async (host, advice) => {
    const refusing = await open()
    const refused = await refusing.send('/v1/models', { headers: { host } })
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('the log of copilot-proxy names the entry'),
    ])
    // The answer does not repeat what a caller sent. The log and the list of requests do.
    expect((await refusing.send('/requests')).text).toContain(JSON.stringify(advice).slice(1, -1))
    const [, entry = ''] = /"(.+)"/.exec(advice) ?? []
    const { send } = await open(`server: { allowed-hosts: [${JSON.stringify(entry)}] }`)
    expect((await send('/v1/models', { headers: { host } })).status).toBe(200)
  })

  describe('A03 beyond loopback, with keys', () => {
    const lan = 'server: { host: 0.0.0.0, api-keys: [example-key] }'
    const headers = { authorization: 'Bearer example-key' }

    test.each(['10.0.0.1', '192.168.1.5:4141', '203.0.113.9:8080', '[fe80::1]:4141', '[2001:db8::7]'])(
      'serves a caller with a key at the address %s, and no caller without one',
      async (host) => {
        const { send, upstreamCalls } = await open(lan)
        expect((await send(chat, { body: chatBody(), headers: { ...headers, host } })).status).toBe(200)
        expect(upstreamCalls()).toBe(1)
        expect((await send('/v1/models', { headers: { host } })).status).toBe(401)
        expect((await send('/v1/models', { headers: { host, authorization: 'Bearer wrong' } })).status).toBe(401)
        expect(upstreamCalls()).toBe(1)
      },
    )

    test.each([
      'evil.example',
      '10.0.0.1.evil.example',
      '10.0.0.1.nip.io:4141',
      '10.0.0',
      '10.0.0.256',
      '010.0.0.1',
      '0x0a000001',
      '167772161',
      '[::ffff:10.0.0.1',
      '[10.0.0.1]',
      '[1:2]',
    ])('refuses the name %s, also with a key', async (host) => {
      const { send } = await open(lan)
      expect((await send('/v1/models', { headers: { ...headers, host } })).status).toBe(403)
    })

    test('refuses a web page other than its own', async () => {
      const { send } = await open(lan)
      const host = '10.0.0.1:4141'
      for (const page of [{ origin: foreign }, { 'sec-fetch-site': 'cross-site' }]) {
        expect((await send('/v1/models', { headers: { ...headers, ...page, host } })).status).toBe(403)
      }
    })

    test('refuses an address on loopback, with or without a key', async () => {
      const host = '10.0.0.1'
      const { send } = await open('server: { api-keys: [example-key] }')
      expect((await send('/v1/models', { headers: { ...headers, host } })).status).toBe(403)
      expect((await (await open()).send('/v1/models', { headers: { host } })).status).toBe(403)
    })
  })

  test('ignores forwarding headers', async () => {
    const { send } = await open()
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'localhost',
      forwarded: 'host=localhost',
      'x-forwarded-for': '127.0.0.1',
    }
    expect((await send('/v1/models', { headers })).status).toBe(403)
  })

  test.each([
    foreign,
    'null',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
    'moz-extension://0f6a2b9e-0000-4000-8000-000000000000',
    'http://localhost:5173',
    'http://localhost',
    'https://localhost:4141',
    'file://',
    'http://127.0.0.1.evil.example',
  ])('A05 A07 refuses the Origin %s before the body is read', async (origin) => {
    const surface = await open()
    const reply = await surface.send(chat, { body: 'not even JSON', headers: { origin } })
    expect(reply.status).toBe(403)
    expect(reply.json()).toMatchObject({ error: { code: 'forbidden', message: expect.stringContaining('Origin') } })
    expect(corsHeadersOf(reply)).toEqual([])
    expect(surface.upstreamCalls()).toBe(0)
  })

  test('A07 serves a listed Origin, names exactly it, and says that the answer varies', async () => {
    const { send } = await open('server: { allowed-origins: ["http://localhost:5173"] }')
    const origin = 'http://localhost:5173'
    for (const reply of [
      await send('/v1/models', { headers: { origin } }),
      await send(chat, { body: 'not JSON', headers: { origin } }),
    ]) {
      expect(reply.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' })
      expect(reply.headers['access-control-expose-headers']).toContain('x-request-id')
      expect(reply.headers).not.toHaveProperty('access-control-allow-credentials')
    }
    expect((await send('/v1/models', { headers: { origin: 'http://localhost:5174' } })).status).toBe(403)
    expect((await send('/v1/models', { headers: { origin: `${origin}.evil.example` } })).status).toBe(403)
  })

  test('A08 answers the preflight of a listed Origin without a key, and no other', async () => {
    const { send } = await open('server: { allowed-origins: ["http://localhost:5173"], api-keys: [example-key] }')
    const preflight = (origin: string) =>
      send(chat, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization, content-type',
        },
      })
    const allowed = await preflight('http://localhost:5173')
    expect(allowed.status).toBe(204)
    expect(allowed.text).toBe('')
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': 'http://localhost:5173',
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      'access-control-allow-headers': 'authorization, content-type',
      'access-control-max-age': '600',
      vary: 'Origin',
    })
    const refused = await preflight(foreign)
    expect(refused.status).toBe(403)
    expect(corsHeadersOf(refused)).toEqual([])
  })

  test.each([
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
    ['none', 200],
  ])('answers a browser that says Sec-Fetch-Site: %s with %i', async (site, status) => {
    expect((await (await open()).send('/v1/models', { headers: { 'sec-fetch-site': site } })).status).toBe(status)
  })

  test.each([
    ['a Bearer key', { authorization: 'Bearer example-key' }, 200],
    ['a Bearer key under another spelling of the scheme', { authorization: 'bearer  example-key' }, 200],
    ['an x-api-key', { 'x-api-key': 'example-key' }, 200],
    ['an x-api-key beside a made-up Bearer', { 'x-api-key': 'example-key', authorization: 'Bearer dummy' }, 200],
    ['a Bearer beside a made-up x-api-key', { 'x-api-key': 'dummy', authorization: 'Bearer example-key' }, 200],
    ['the second key', { authorization: 'Bearer other-key' }, 200],
    ['no key', {}, 401],
    ['a key of the same length', { authorization: 'Bearer example-kez' }, 401],
    ['a prefix', { authorization: 'Bearer example' }, 401],
    ['the key and more', { authorization: 'Bearer example-key1' }, 401],
    ['another case', { authorization: 'Bearer EXAMPLE-KEY' }, 401],
    ['an empty key', { authorization: 'Bearer ' }, 401],
    ['the key under another scheme', { authorization: 'Basic example-key' }, 401],
    ['the bare key', { authorization: 'example-key' }, 401],
    ['both keys at once', { 'x-api-key': 'example-key, other-key' }, 401],
  ])('B02 with keys configured, answers %s accordingly', async (_what, headers, status) => {
    const surface = await open('server: { api-keys: [example-key, other-key] }')
    for (const path of ['/v1/models', '/nowhere', '/v1/models/gpt-5-mini']) {
      const expected = path === '/nowhere' && status === 200 ? 404 : status
      expect([path, (await surface.send(path, { headers })).status]).toEqual([path, expected])
    }
    const reply = await surface.send(chat, { body: chatBody(), headers })
    expect(reply.status).toBe(status)
    expect(surface.upstreamCalls()).toBe(status === 200 ? 1 : 0)
    if (status === 401) {
      expect(reply.headers['www-authenticate']).toBe('Bearer')
      expect(reply.json()).toMatchObject({ error: { type: 'authentication_error', code: 'invalid_api_key' } })
      expect(reply.text).not.toContain('example')
    }
  })

  test('a key in the URL is no key', async () => {
    const { send } = await open('server: { api-keys: [example-key] }')
    expect((await send('/v1/models?api_key=example-key&key=example-key')).status).toBe(401)
  })

  test('health and readiness need no key, and say nothing but a status', async () => {
    const { send } = await open('server: { api-keys: [example-key] }')
    const health = await send('/healthz')
    expect(health.status).toBe(200)
    expect(health.json()).toEqual({
      ok: true,
      copilot: expect.stringMatching(/^(ok|unavailable)$/),
      version: '0.0.0-test',
    })
    expect((await send('/healthz', { method: 'HEAD' })).status).toBe(200)
    expect([200, 503]).toContain((await send('/readyz')).status)
    expect((await send('/usage')).status).toBe(401)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain; charset=application/json',
    'application/jsonp',
    '',
  ])('A09 refuses a body of the content type "%s", which a foreign page could send', async (type) => {
    const surface = await open()
    const reply = await surface.send(chat, { body: chatBody(), headers: { 'content-type': type } })
    expect(reply.status).toBe(415)
    expect(reply.json()).toMatchObject({ error: { code: 'unsupported_media_type' } })
    expect(surface.upstreamCalls()).toBe(0)
  })

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset=UTF-8',
    'application/json ; charset="utf-8"',
  ])('takes a body of the content type "%s"', async (type) => {
    expect((await (await open()).send(chat, { body: chatBody(), headers: { 'content-type': type } })).status).toBe(200)
  })
})

test('A06 serves a page of its own origin, under each of its names', async () => {
  const { send, port } = await openProxy()
  for (const name of ['localhost', '127.0.0.1', '[::1]']) {
    const origin = `http://${name}:${port}`
    const reply = await send('/v1/models', { headers: { origin, 'sec-fetch-site': 'same-origin' } })
    expect(reply.status).toBe(200)
    expect(reply.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' })
  }
  const program = await send('/v1/models')
  expect([program.status, Object.keys(program.headers).filter((name) => name.startsWith('access-control-'))]).toEqual([
    200,
    [],
  ])
  expect((await send('/v1/models', { headers: { origin: `http://localhost:${port + 1}` } })).status).toBe(403)
  expect((await send('/v1/models', { headers: { origin: `https://localhost:${port}` } })).status).toBe(403)
})

test('refuses a request with two Hosts, two Origins, or none of the first', async () => {
  const { send, raw, demo, port } = await openProxy()
  const origin = `http://localhost:${port}`
  const { status } = await send('/v1/models', { rawHeaders: ['Host', 'localhost', 'Host', 'evil.example'] })
  expect(status).toBe(403)
  const origins = ['Host', 'localhost', 'Origin', origin, 'Origin', foreign]
  expect((await send('/v1/models', { rawHeaders: origins })).status).toBe(403)
  expect(await raw('GET /v1/models HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 403 .*"forbidden"/s)
  expect(await raw('GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 40[03] .*\{"error":/s)
  expect(demo.count('/chat/completions')).toBe(0)
})

test('of two Authorization headers the first one counts', async () => {
  const { send } = await openProxy({ file: 'server: { api-keys: [example-key] }' })
  const statusOf = async (first: string, second: string) => {
    const rawHeaders = ['Host', 'localhost', 'Authorization', `Bearer ${first}`, 'Authorization', `Bearer ${second}`]
    return (await send('/v1/models', { rawHeaders })).status
  }
  expect(await statusOf('example-key', 'wrong')).toBe(200)
  expect(await statusOf('wrong', 'example-key')).toBe(401)
})
