import { once } from 'node:events'
import { expect, test } from 'vitest'
import { chatBody, readAll } from './client.ts'
import { openProxy } from './harness.ts'
import { expectUnharmed } from '../security/unharmed.ts'

interface RawReply {
  readonly status: number
  readonly headers: string
  readonly body: string
}

function parseReply(text: string): RawReply {
  const end = text.indexOf('\r\n\r\n')
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]),
    headers: text.slice(0, end).toLowerCase(),
    body: text.slice(end + 4),
  }
}

/** A POST of a chat request as bytes on the wire. */
function rawChat(body: string, headers: readonly string[] = [`Content-Length: ${Buffer.byteLength(body)}`]): string {
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    ...headers,
    '',
    body,
  ].join('\r\n')
}

test.each([
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['a TLS greeting', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n', 400],
  ['D14 HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['a header without a colon', 'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nbroken\r\n\r\n', 400],
  ['a header name with a blank', 'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nbro ken: 1\r\n\r\n', 400],
  ['a folded header', 'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nA: 1\r\n 2\r\n\r\n', 400],
  ['a control character in a header', 'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nA: \u0000\r\n\r\n', 400],
  ['D09 two different lengths', rawChat('{}', ['Content-Length: 2', 'Content-Length: 3']), 400],
  ['a negative length', rawChat('{}', ['Content-Length: -2']), 400],
  ['a length that is no number', rawChat('{}', ['Content-Length: two']), 400],
  ['D09 a length and chunks', rawChat('0\r\n\r\n', ['Content-Length: 5', 'Transfer-Encoding: chunked']), 400],
  ['D09 chunks in disguise', rawChat('0\r\n\r\n', ['Transfer-Encoding: xchunked']), 400],
  ['D02 headers of 20 KB', `GET /v1/models HTTP/1.1\r\nHost: localhost\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  ['D11 a URL of 100 KB', `GET /v1/models?${'a'.repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431],
])('%s: gets one error in the usual envelope, then the connection closes', async (_what, text, status) => {
  const { raw, send, demo } = await openProxy()
  const sent = await raw(text)
  expect(sent.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
  const reply = parseReply(sent)
  expect(reply.status).toBe(status)
  expect(reply.headers).toContain('content-type: application/json')
  expect(reply.headers).toContain('connection: close')
  expect(reply.headers).toMatch(/^x-request-id: \S+$/m)
  expect(JSON.parse(reply.body)).toEqual({
    error: { message: expect.any(String), type: 'invalid_request_error', code: null, param: null },
  })
  expect(demo.count('/chat/completions')).toBe(0)
  await expectUnharmed({ send }, sent)
})

const toLocalhost = 'Host: localhost\r\n'

test.each([
  ['another authority', 'http://evil.example/', toLocalhost],
  ['another port', 'http://localhost:1/', toLocalhost],
  ['a name before it', 'http://evil@localhost/', toLocalhost],
  ['a name before it, in the Host too', 'http://evil@localhost/', 'Host: evil@localhost\r\n'],
  ['a foreign authority that the Host repeats', 'http://evil.example/', 'Host: evil.example\r\n'],
  ['two Hosts', 'http://localhost/', `${toLocalhost}Host: evil.example\r\n`],
  ['no Host', 'http://localhost/', ''],
  ['a question mark in its place', 'http://evil.example?/', toLocalhost],
  ['no authority', 'http:///', toLocalhost],
  ['another scheme', 'ftp://localhost/', toLocalhost],
])('P15 the absolute form with %s is refused', async (_what, base, host) => {
  const { raw, send, demo } = await openProxy()
  const body = chatBody()
  const rest = `${host}Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
  for (const method of ['POST', 'OPTIONS']) {
    const sent = await raw(`${method} ${base}v1/chat/completions HTTP/1.1\r\n${rest}`)
    expect(sent.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
    const reply = parseReply(sent)
    expect([method, reply.status]).toEqual([method, expect.toBeOneOf([400, 403])])
    expect(JSON.parse(reply.body)).toMatchObject({ error: { message: expect.any(String) } })
    await expectUnharmed({ send }, sent)
  }
  expect(demo.count('/chat/completions')).toBe(0)
})

test('P15 the absolute form that names the Host, as through a proxy, is served like the usual one', async () => {
  const { raw, port } = await openProxy()
  for (const [target, host] of [
    ['http://localhost/v1/models', 'localhost'],
    [`http://127.0.0.1:${port}/v1/models?limit=1`, `127.0.0.1:${port}`],
    ['HTTP://LOCALHOST/v1/models', 'localhost'],
  ]) {
    const reply = parseReply(await raw(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`))
    expect([target, reply.status]).toEqual([target, 200])
  }
})

test('P15 only OPTIONS accepts an asterisk as target', async () => {
  const { raw } = await openProxy()
  const statusOf = async (method: string) =>
    parseReply(await raw(`${method} * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)).status
  expect([await statusOf('OPTIONS'), await statusOf('GET')]).toEqual([404, 400])
})

test('answers a chunk of a broken size after the head', async () => {
  const { raw, demo } = await openProxy()
  const reply = parseReply(await raw(rawChat('zz\r\n{}\r\n0\r\n\r\n', ['Transfer-Encoding: chunked'])))
  expect(reply.status).toBe(400)
  expect(demo.count('/chat/completions')).toBe(0)
})

test('what is not HTTP after a request ends the connection, and is not written into the running answer', async () => {
  const { socket, demo } = await openProxy()
  const client = await socket()
  const gate = demo.gateNext()
  gate.release(2)
  client.write(rawChat(chatBody({ stream: true })))
  const [head] = await once(client, 'data')
  client.write('hello\r\n\r\n')
  expect(`${head}${await readAll(client)}`.match(/HTTP\/1\.1/g)).toHaveLength(1)
  expect(await gate.closed).toBe('aborted')
})

test.each([
  ['ends it', 'end'],
  ['goes on with what is no HTTP', 'zz\r\n'],
])('an upload that was refused before it was complete gets no second answer when its sender %s', async (_how, rest) => {
  const { socket } = await openProxy()
  const client = await socket()
  client.write(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n' +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n',
  )
  const [head] = await once(client, 'data')
  expect(String(head)).toMatch(/^HTTP\/1\.1 403 /)
  if (rest === 'end') client.end()
  else client.write(rest)
  expect(await readAll(client)).not.toContain('HTTP/1.1')
})

test('invalid HTTP after an answered request gets the usual error', async () => {
  const { socket } = await openProxy()
  const client = await socket()
  client.write('GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(client, 'data')
  client.write('hello\r\n\r\n')
  expect(await readAll(client)).toMatch(/HTTP\/1\.1 400 /)
})

test('keeps serving other requests after each of them', async () => {
  const { raw, send } = await openProxy()
  await raw('hello\r\n\r\n')
  expect((await send('/v1/models')).status).toBe(200)
})

test('answers pipelined requests in order', async () => {
  const { raw } = await openProxy()
  const models = 'GET /v1/models/gpt-5-mini HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const last = 'GET /v1/models/gpt-4.1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  const text = await raw(rawChat(chatBody()) + models + rawChat(chatBody({ stream: true })) + models + last)
  const seen = [...text.matchAll(/"object":"chat\.completion"|\[DONE\]|"id":"(gpt-[^"]+)"/g)].map(
    ([whole, id]) => id ?? whole,
  )
  expect(seen).toEqual(['"object":"chat.completion"', 'gpt-5-mini', '[DONE]', 'gpt-5-mini', 'gpt-4.1'])
})

test('D16 a client that pipelines and leaves stops every request it made', async () => {
  const { socket, demo, chat } = await openProxy({
    file: 'server: { max-concurrent-requests: 20, max-queued-requests: 0 }',
  })
  const count = 20
  const gates = Array.from({ length: count }, () => demo.gateNext())
  const client = await socket()
  client.write(rawChat(chatBody({ stream: true })).repeat(count))
  for (const { opened } of gates) await opened
  client.destroy()
  expect(await Promise.all(gates.map(({ closed }) => closed))).toEqual(Array.from({ length: count }, () => 'aborted'))
  // All places are free again.
  expect((await chat()).status).toBe(200)
})

test('a client that waits for 100 Continue gets it', async () => {
  const { socket } = await openProxy()
  const client = await socket()
  const body = chatBody()
  client.write(rawChat('', [`Content-Length: ${body.length}`, 'Expect: 100-continue', 'Connection: close']))
  const first = await new Promise<Buffer>((resolve) => client.once('data', resolve))
  expect(first.toString()).toMatch(/^HTTP\/1\.1 100 Continue/)
  client.write(body)
  expect(await readAll(client)).toMatch(/^HTTP\/1\.1 200 /)
})

test('D14 an offer to upgrade to HTTP/2 or a WebSocket is passed over', async () => {
  const { raw } = await openProxy()
  const offer = 'Connection: Upgrade, close\r\nUpgrade: h2c, websocket\r\n'
  expect(parseReply(await raw(`GET /v1/models HTTP/1.1\r\nHost: localhost\r\n${offer}\r\n`)).status).toBe(200)
})
