import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { htmlReply, jsonReply, streamReply, textReply } from '../upstreams/http/outcome.ts'
import type { Outcome } from '../upstreams/http/outcome.ts'
import { bodyOfPrompt, callers, dialectPaths } from '../http/callers.ts'
import { some } from '../thorough.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'
import { answers, upstreams } from './upstream-answers.ts'
import { listenForTest } from '../listen-for-test.ts'

/** A captive portal's page. */
const portal = htmlReply(200, 'Welcome to the hotel')

/** Asks as each caller, streaming and not. Expects the status, the envelope, and no internal details. */
async function expectRefused(proxy: Proxy, model: string, status: number): Promise<readonly string[]> {
  const texts: string[] = []
  for (const caller of callers) {
    const path = dialectPaths[caller]
    for (const stream of [true, false]) {
      const reply = await proxy.send(path, { body: bodyOfPrompt(caller, model, 'Hello', { stream }) })
      expect([caller, stream, reply.status]).toEqual([caller, stream, status])
      expect(reply.json()).toEqual(envelopeOf(path))
      texts.push(reply.text)
    }
  }
  await expectUnharmed(proxy, ...texts)
  return texts
}

describe.each(some(upstreams, 2, 1))('$name', ({ dialect, model, options, answer }) => {
  test.each([
    ['204', { ...textReply(204, ''), body: '' }],
    ['205', { ...textReply(205, ''), body: '' }],
    ['206', textReply(206, 'part')],
    ['202', jsonReply(202, {})],
    ['304', { ...textReply(304, ''), body: '' }],
    ['a redirect', textReply(307, 'moved', { location: 'http://127.0.0.1:1/' })],
    ['the page of a captive portal', portal],
    ['such a page that calls itself an event stream', { ...portal, headers: { 'content-type': 'text/event-stream' } }],
    ['such a page that calls itself nothing', { ...portal, headers: {} }],
    ['a picture', { ...textReply(200, 'GIF89a'), headers: { 'content-type': 'image/gif' } }],
    ['a JSON body of another kind', jsonReply(200, { hello: 'world' })],
    ['nothing', { ...textReply(200, ''), body: '' }],
    [
      'an event stream that nobody asked to compress',
      {
        ...textReply(200, ''),
        body: gzipSync('data: {}\n\n'),
        headers: { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' },
      },
    ],
  ] satisfies readonly (readonly [string, Outcome])[])(
    'E30 %s in place of an answer is a 502 in shape',
    async (_what, outcome) => {
      const proxy = await openProxy(options)
      answer(proxy, outcome, 6)
      for (const text of await expectRefused(proxy, model, 502)) expect(text).not.toMatch(/hotel|<h1/)
    },
  )

  test('E24 an event that does not end is refused instead of kept', { timeout: 20_000 }, async () => {
    const proxy = await openProxy(options)
    const { begin, say } = answers[dialect]
    const piece = 'x'.repeat(1024 * 1024)
    let sent = 0
    const pieces = Object.assign([...begin], {
      *[Symbol.iterator](this: readonly string[]) {
        for (let at = 0; at < this.length; at += 1) yield this[at] ?? ''
        yield say('"one"')
        yield 'data: {"choices":"'
        for (; sent < 100; sent += 1) yield piece
      },
    })
    answer(proxy, streamReply(pieces))
    const reply = await proxy.send(dialectPaths[dialect], {
      body: bodyOfPrompt(dialect, model, 'Hello', { stream: true }),
    })
    expect(reply.text).toContain('more than 16777216 bytes')
    expect(reply.text.length).toBeLessThan(100_000)
    // Of 100 MB no more was taken than the limit and what lies in the buffers between.
    expect(sent).toBeLessThan(60)
    await expectUnharmed(proxy)
  })

  test.each([
    ['86400', '86400'],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 'Wed, 21 Oct 2026 07:28:00 GMT'],
    ['-1', undefined],
    ['soon', undefined],
    ['1e9999', undefined],
    ['9'.repeat(60), undefined],
  ])(
    'E28 Retry-After: %s is passed on to the caller if it is meaningful, and nothing waits for it',
    async (value, passedOn) => {
      const proxy = await openProxy(options)
      answer(
        proxy,
        jsonReply(429, { error: { message: 'slow down', code: 'rate_limited' } }, { 'retry-after': value }),
        6,
      )
      for (const caller of callers) {
        for (const stream of [true, false]) {
          const reply = await proxy.send(dialectPaths[caller], {
            body: bodyOfPrompt(caller, model, 'Hello', { stream }),
          })
          expect(reply.status).toBe(429)
          expect(reply.headers['retry-after']).toBe(passedOn)
        }
      }
      // The next one is sent at once, too.
      const { begin, finish, mark } = answers[dialect]
      answer(proxy, streamReply([...begin, ...finish(''), ...mark]))
      const next = await proxy.send(dialectPaths[dialect], { body: bodyOfPrompt(dialect, model, 'Hello') })
      expect(next.status).toBe(200)
    },
  )

  test('E29 of upstream’s headers only those on the list reach a caller', async () => {
    const kept = {
      'set-cookie': 'session=example',
      'set-cookie2': 'session=example',
      'access-control-allow-origin': '*',
      'access-control-allow-credentials': 'true',
      'content-security-policy': 'none',
      'strict-transport-security': 'max-age=1',
      'keep-alive': 'timeout=99',
      'proxy-authenticate': 'Basic',
      'www-authenticate': 'Basic',
      location: 'http://127.0.0.1:1/',
      refresh: '0; url=http://127.0.0.1:1/',
      server: 'upstream',
      via: '1.1 upstream',
      'x-powered-by': 'upstream',
      'x-forwarded-for': '10.0.0.1',
      'alt-svc': 'h3=":443"',
      'x-internal': 'example',
      'x-copilot-proxy-route': 'made/up',
      trailer: 'x-later',
    }
    const { begin, finish, mark } = answers[dialect]
    const plain = streamReply([...begin, ...finish(''), ...mark])
    const proxy = await openProxy(options)
    answer(proxy, { ...plain, headers: { ...plain.headers, ...kept } }, 6)
    for (const caller of callers) {
      for (const stream of [true, false]) {
        const reply = await proxy.send(dialectPaths[caller], { body: bodyOfPrompt(caller, model, 'Hello', { stream }) })
        expect(reply.status).toBe(200)
        for (const [name, value] of Object.entries(kept)) {
          expect([name, String(reply.headers[name] ?? '')]).not.toEqual([name, value])
        }
        expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
        expect(reply.headers).not.toHaveProperty('set-cookie')
      }
    }
  })
})

/** An upstream that answers with these bytes, whatever it is asked, and ends. */
async function openRaw(bytes: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(bytes))
  })
  return `http://127.0.0.1:${await listenForTest(server)}`
}

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
const whole = 'data: {}\n\n'

const raw: readonly (readonly [string, string])[] = [
  ['E24 a header of 1 MB', `${head}x-long: ${'x'.repeat(1024 * 1024)}\r\n\r\n${whole}`],
  ['E24 100,000 headers', `${head}${'x-a: b\r\n'.repeat(100_000)}\r\n${whole}`],
  [
    'E24 10 encodings one over the other',
    `${head}content-encoding: ${Array(10).fill('gzip').join(', ')}\r\n\r\n${whole}`,
  ],
  ['E30 a switch to another protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
  ['E30 something that is not HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['E30 a reply without a head', '<html>hello</html>'],
  ['E30 announcements and nothing after them', 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'],
  ['E30 two lengths', `${head}content-length: 10\r\ncontent-length: 20\r\n\r\n${whole}`],
  ['E30 less than it announced', `${head}content-length: 1000\r\n\r\n${whole}`],
  ['E30 chunks without sizes', `${head}transfer-encoding: chunked\r\n\r\nzz\r\n${whole}`],
]

test.each(some(raw, 3))('%s from Copilot is a 502 in shape', async (_what, bytes) => {
  const proxy = await openProxy({ settings: { COPILOT_PROXY_COPILOT_BASE_URL: await openRaw(bytes) } })
  await expectRefused(proxy, 'gpt-4.1', 502)
})

test.each(some(raw, 3, 1))('%s from Codex is a 502 in shape', async (_what, bytes) => {
  const settings = { COPILOT_PROXY_CODEX_BASE_URL: await openRaw(bytes) }
  await expectRefused(await openProxy({ codexLogin: 'stored', settings }), 'gpt-5.5', 502)
})

const refusals = [402, 403, 404, 408, 413, 422, 429, 500, 503, 529]

test.each(upstreams)(
  'E11 $name: a refusal keeps its status, its words and when to try again, for every caller',
  async ({ model, options, answer }) => {
    const proxy = await openProxy(options)
    for (const status of refusals) {
      const refusal = jsonReply(
        status,
        { error: { message: `words of ${status}`, code: `code_${status}` } },
        { 'retry-after': '7' },
      )
      for (const caller of callers) {
        const path = dialectPaths[caller]
        for (const stream of [true, false]) {
          answer(proxy, refusal)
          const reply = await proxy.send(path, { body: bodyOfPrompt(caller, model, 'Hello', { stream }) })
          // An overload is 529 with Anthropic, and 503 with OpenAI.
          const isOverload = status === 503 || status === 529
          const expected = isOverload ? (caller === 'messages' ? 529 : 503) : status
          expect([caller, reply.status]).toEqual([caller, expected])
          expect(reply.json()).toEqual(envelopeOf(path))
          expect(reply.text).toContain(`words of ${status}`)
          expect(reply.headers['retry-after']).toBe('7')
        }
      }
    }
    await expectUnharmed(proxy)
  },
)

test.each([
  [
    'a compressed error body',
    {
      ...textReply(429, ''),
      body: gzipSync('{"error":{"message":"hidden"}}'),
      headers: { 'content-encoding': 'gzip' },
    },
    429,
  ],
  ['an error body of 100 MB', { ...textReply(503, ''), body: 'x'.repeat(100 * 1024 * 1024) }, 503],
])('E24 %s costs its words and not its status', { timeout: 20_000 }, async (_what, outcome, status) => {
  const proxy = await openProxy()
  proxy.demo.script('/chat/completions', { outcome })
  const reply = await proxy.chat()
  expect(reply.status).toBe(status)
  expect(reply.json()).toMatchObject({
    error: { message: expect.stringContaining(`Copilot answered ${status} without a message.`) },
  })
  await expectUnharmed(proxy, reply.text)
})

const notTokens: readonly (readonly [string, Outcome])[] = [
  ['204', { ...textReply(204, ''), body: '' }],
  ['304', { ...textReply(304, ''), body: '' }],
  ['a redirect', textReply(302, 'moved', { location: 'http://127.0.0.1:1/' })],
  ['the page of a captive portal', portal],
  ['a JSON body of another kind', jsonReply(200, { hello: 'world' })],
  [
    'a bomb',
    { ...textReply(200, ''), body: gzipSync(Buffer.alloc(64 * 1024 * 1024)), headers: { 'content-encoding': 'gzip' } },
  ],
  [
    '10 encodings one over the other',
    { ...textReply(200, 'x'), headers: { 'content-encoding': Array(10).fill('gzip').join(', ') } },
  ],
  ['a connection that breaks', { kind: 'drop' }],
]

test.each(notTokens)(
  'E30 %s in place of a token is a 503 in shape that says when to try again',
  async (_what, outcome) => {
    const proxy = await openProxy({
      prepare: (demo) => demo.script('/copilot_internal/v2/token', { outcome, times: 100 }),
    })
    const reply = await proxy.chat()
    expect(reply.status).toBe(503)
    expect(reply.json()).toEqual(envelopeOf('/v1/chat/completions'))
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
    expect(reply.text).not.toMatch(/hotel|<h1/)
    await expectUnharmed(proxy, reply.text)
  },
)

test.each(notTokens)('E30 %s in place of the model list leaves the models that are known', async (_what, outcome) => {
  const proxy = await openProxy({
    codexLogin: 'stored',
    prepare: (demo, codex) => {
      demo.script('/models', { outcome, times: 100 })
      codex.script('/backend-api/codex/models', { outcome, times: 100 })
    },
  })
  for (const model of ['gpt-4.1', 'gpt-5.5']) expect((await proxy.chat({ model })).status).toBe(200)
  const unknown = await proxy.chat({ model: 'nothing-like-it' })
  expect(unknown.status).toBe(502)
  expect(unknown.json()).toEqual(envelopeOf('/v1/chat/completions'))
  await expectUnharmed(proxy, unknown.text)
})
