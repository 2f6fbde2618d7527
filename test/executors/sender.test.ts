import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { createServer as createTcpServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createPool } from '../../src/executors/connection-pool.ts'
import { createSender, toTarget } from '../../src/executors/send-request.ts'
import { openForgetfulRouter } from '../upstreams/forgetful-router.ts'
import { createAuthority, createCertificate } from '../tls-certificate.ts'
import { textOf } from './bodies.ts'
import { listenForTest } from '../listen-for-test.ts'

const deadlines = { connectMs: 5000, headersMs: 5000 }

/** Listens until the test ends, and keeps its connections in order. */
async function listen(server: Server) {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => sockets.push(socket.on('error', () => {})))
  return { sockets, host: `127.0.0.1:${await listenForTest(server)}` }
}

function askerOf(origin: string, headersMs = deadlines.headersMs) {
  const pool = createPool({ connectMs: deadlines.connectMs, env: {} })
  onTestFinished(() => pool.destroy())
  const send = createSender(pool, { ...deadlines, headersMs })
  return async (path = '/'): Promise<string> => {
    const { signal } = new AbortController()
    const reply = await send({
      target: toTarget(origin),
      path,
      method: 'POST',
      headers: () => ({}),
      body: '{}',
      signal,
    })
    const text = await textOf(reply.body)
    // The pool takes a connection back a moment after its reply was complete.
    await new Promise(setImmediate)
    return text
  }
}

async function startUpstream(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  let requests = 0
  const { sockets, host } = await listen(
    createServer((request, response) => {
      requests += 1
      handle(request, response)
    }),
  )
  return { sockets, requests: () => requests, ask: askerOf(`http://${host}`) }
}

test('E19 a request is not repeated on another kept connection', async () => {
  const gone = new Set<Socket>()
  let longResponse: ServerResponse | undefined
  const upstream = await startUpstream(({ socket, url }, response) => {
    if (gone.has(socket)) socket.resetAndDestroy()
    else if (url === '/long') longResponse = response
    else if (url === '/breaks' && upstream.requests() === 3) {
      // The connection of the long answer is free and kept by the time this one breaks.
      for (const each of upstream.sockets) gone.add(each)
      longResponse?.end('long')
      void long.then(() => socket.resetAndDestroy())
    } else response.end('short')
  })
  const long = upstream.ask('/long')
  await expect.poll(() => upstream.requests()).toBe(1)
  expect(await upstream.ask('/short')).toBe('short')
  expect(await upstream.ask('/breaks')).toBe('short')
  expect(upstream.sockets).toHaveLength(3)
})

test('E18 the answer to a repeated request is read to its end, and then its connection serves the next request', async () => {
  const goOn = Promise.withResolvers<void>()
  const upstream = await startUpstream(({ socket }, response) => {
    if (upstream.requests() === 1) response.end('whole')
    else if (upstream.requests() === 2) socket.resetAndDestroy()
    else {
      response.write('first, ')
      void goOn.promise.then(() => response.end('last'))
    }
  })
  await upstream.ask()
  const asked = upstream.ask()
  await expect.poll(() => upstream.sockets[1]?.bytesWritten).toBeGreaterThan(0)
  goOn.resolve()
  expect(await asked).toBe('first, last')
  await upstream.ask()
  expect(upstream.sockets).toHaveLength(2)
})

test('E19 a request is not repeated if its kept connection breaks in the middle of the response head', async () => {
  const upstream = await startUpstream(({ socket }, response) => {
    if (upstream.requests() === 1) response.end('whole')
    else socket.end('HTTP/1.1 200 OK\r\ncontent-ty')
  })
  await upstream.ask()
  await expect(upstream.ask()).rejects.toMatchObject({ error: { kind: 'upstream_unreachable' } })
  expect(upstream.requests()).toBe(2)
})

test('E19 a request is not repeated if its kept connection breaks after an informational response', async () => {
  const upstream = await startUpstream(({ socket }, response) => {
    if (upstream.requests() === 1) response.end('whole')
    else response.writeEarlyHints({ link: '</style.css>; rel=preload' }, () => socket.destroy())
  })
  await upstream.ask()
  await expect(upstream.ask()).rejects.toMatchObject({ error: { kind: 'upstream_unreachable' } })
  expect(upstream.requests()).toBe(2)
})

test('E18 a kept connection that is reset before anything is written to it costs no request', async () => {
  const upstream = await startUpstream((_, response) => response.end('whole'))
  for (let round = 0; round < 20; round += 1) {
    // Not yet heard of when the next request is handed over.
    upstream.sockets.at(-1)?.resetAndDestroy()
    expect(await upstream.ask()).toBe('whole')
  }
})

test('E18 a kept connection that is reset late, as over a slow link, costs no request', async () => {
  const upstream = await startUpstream(({ socket }, response) => {
    if (upstream.requests() === 2) setTimeout(() => socket.resetAndDestroy(), 1500)
    else response.end('whole')
  })
  await upstream.ask()
  expect(await upstream.ask()).toBe('whole')
})

test('E19 a request is not repeated if upstream ends its kept connection after a while: it may have run the request', async () => {
  const upstream = await startUpstream(({ socket }, response) => {
    if (upstream.requests() === 2) setTimeout(() => socket.end(), 1500)
    else response.end('whole')
  })
  await upstream.ask()
  await expect(upstream.ask()).rejects.toMatchObject({ error: { kind: 'upstream_unreachable' } })
  expect(upstream.requests()).toBe(2)
})

test('E19 a request is not repeated if its kept connection is reset after a long silence', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => clock.mockRestore())
  const upstream = await startUpstream(({ socket }, response) => {
    if (upstream.requests() === 2) {
      clock.mockReturnValue(performance.now() + 60_000)
      socket.resetAndDestroy()
    } else response.end('whole')
  })
  await upstream.ask()
  await expect(upstream.ask()).rejects.toMatchObject({ error: { kind: 'upstream_unreachable' } })
  expect(upstream.requests()).toBe(2)
})

test('E19 a connection that breaks while it is opened is tried once', async () => {
  const { sockets, host } = await listen(
    createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
  )
  await expect(askerOf(`https://${host}`)()).rejects.toMatchObject({ error: { kind: 'upstream_unreachable' } })
  expect(sockets).toHaveLength(1)
})

/** An HTTP/2 upstream that the process trusts. */
async function startSecure(handle: (request: Http2ServerRequest, response: Http2ServerResponse) => void) {
  const authority = createAuthority()
  const usual = getCACertificates('default')
  setDefaultCACertificates([...usual, authority.cert])
  onTestFinished(() => setDefaultCACertificates(usual))
  const versions = new Set<string>()
  const server = createSecureServer(createCertificate({ authority }), (request, response) => {
    versions.add(request.httpVersion)
    handle(request, response)
  })
  server.on('session', (session) => session.on('error', () => {}))
  return { server, versions, ...(await listen(server)) }
}

test('E19 all concurrent HTTP/2 requests on a closed kept connection are repeated', async () => {
  const gone = new Set<unknown>()
  const { server, sockets, host, versions } = await startSecure((request, response) => {
    const { session } = request.stream
    if (gone.has(session)) session?.destroy()
    else response.end('whole')
  })
  const ask = askerOf(`https://${host}`)
  server.once('session', (session) => server.once('request', () => gone.add(session)))
  await ask()
  expect(await Promise.all(Array.from({ length: 10 }, () => ask()))).toEqual(Array.from({ length: 10 }, () => 'whole'))
  expect(versions).toEqual(new Set(['2.0']))
  expect(sockets.length).toBeGreaterThan(1)
})

test.each(['a sleep', 'a request that failed in silence'])(
  'E18 after %s, no HTTP/2 request uses a kept connection that died in silence',
  async (what) => {
    const { host, versions } = await startSecure((_request, response) => response.end('whole'))
    const router = await openForgetfulRouter(Number(host.split(':')[1]))
    const ask = askerOf(`https://127.0.0.1:${router.port}`, 1000)
    await ask()
    router.fallSilent()
    if (what === 'a sleep') {
      const wall = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 600_000)
      onTestFinished(() => wall.mockRestore())
    } else await expect(ask()).rejects.toMatchObject({ error: { kind: 'upstream_silent' } })
    expect(await Promise.all(Array.from({ length: 6 }, () => ask()))).toEqual(Array.from({ length: 6 }, () => 'whole'))
    expect(versions).toEqual(new Set(['2.0']))
  },
)

test('E18 requests of fetch and others use no kept connection that died in silence, after one of them failed', async () => {
  const { host } = await listen(createServer((_request, response) => response.end('whole')))
  const router = await openForgetfulRouter(Number(host.split(':')[1]))
  const { agent, destroy } = createPool({ connectMs: 5000, env: {} })
  onTestFinished(destroy)
  const ask = async (headersTimeout = 5000): Promise<string> => {
    const origin = `http://127.0.0.1:${router.port}`
    const { body } = await agent.request({ origin, path: '/', method: 'GET', headersTimeout })
    return body.text()
  }
  await Promise.all([ask(), ask(), ask()])
  await new Promise(setImmediate)
  router.fallSilent()
  await expect(ask(1000)).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' })
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(['whole', 'whole', 'whole'])
})
