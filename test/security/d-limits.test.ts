import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { callers, dialectPaths } from '../http/callers.ts'
import { createClient, readAll } from '../http/client.ts'
import { openProxy } from '../http/harness.ts'
import { recordingLog } from '../recording-log.ts'
import { openApp } from './open-app.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'

const modelPaths = [...callers.map((caller) => dialectPaths[caller]), '/v1/messages/count_tokens', '/v1/embeddings']

async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
}

test.each(modelPaths)('D01 a body one byte over the limit is a 413 on %s, and the connection ends', async (path) => {
  const proxy = await openProxy({ file: 'server: { body-limit-mb: 0.01 }' })
  const body = Buffer.alloc(Math.floor(0.01 * 1024 * 1024) + 1, ' ')
  const compressed = { 'content-encoding': 'gzip' }
  for (const ask of [{ body }, { body: inPieces(body) }, { body: gzipSync(body), headers: compressed }]) {
    const reply = await proxy.send(path, ask)
    expect(reply.status).toBe(413)
    expect(reply.headers.connection).toBe('close')
    expect(reply.json()).toEqual(envelopeOf(path))
    await expectUnharmed(proxy, reply.text)
  }
  expect(proxy.demo.log.filter(({ route }) => route !== '/models')).not.toContainEqual(
    expect.objectContaining({ method: 'POST' }),
  )
})

const soon = { headersMs: 100, requestMs: 200, uploadIdleMs: 60_000, checkEveryMs: 20 }
/** Nothing but the deadline for the headers can end it. */
const headersSoon = { ...soon, requestMs: 60_000 }

const uploadHead =
  'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n'

test.each([
  ['D03 a body that never comes', soon, uploadHead, /^HTTP\/1\.1 408 .*took too long/s],
  ['D03 a body that stops in the middle', soon, `${uploadHead}{"model"`, /^HTTP\/1\.1 408 .*took too long/s],
  [
    'D03 a body that falls silent',
    { ...soon, requestMs: 60_000, uploadIdleMs: 50 },
    `${uploadHead}{"model"`,
    /^HTTP\/1\.1 408 .*within 0\.05 s/s,
  ],
  [
    'D04 headers that never end',
    headersSoon,
    'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nA: b\r\n',
    /^HTTP\/1\.1 408 /,
  ],
  ['D04 a first line that never ends', headersSoon, 'GET /v1/mod', /^HTTP\/1\.1 408 /],
  ['D04 a connection that says nothing', headersSoon, '', /^HTTP\/1\.1 408 |^$/],
])('%s: 408, and the connection ends', { timeout: 20_000 }, async (_what, deadlines, text, expected) => {
  const client = createClient(await openApp({ deadlines }))
  onTestFinished(client.close)
  const answer = await client.raw(text)
  expect(answer).toMatch(expected)
  if (answer !== '') expect(answer.toLowerCase()).toContain('\r\nconnection: close\r\n')
  await expectUnharmed(client, answer)
})

test('D05 2,000 idle connections leave room for new callers', { timeout: 30_000 }, async () => {
  const proxy = await openProxy()
  const idle: Socket[] = []
  // In groups, because a listening socket holds a limited number of connections that nobody has taken yet.
  for (let opened = 0; opened < 2000; opened += 100) {
    idle.push(...(await Promise.all(Array.from({ length: 100 }, () => proxy.socket()))))
  }
  expect((await proxy.chat()).status).toBe(200)
  await expectUnharmed(proxy)
  expect(idle.filter((socket) => socket.destroyed)).toEqual([])
})

test('D05 beyond the limit of connections a connection is closed at once, and there is room when one goes', async () => {
  const log = recordingLog()
  const client = createClient(await openApp({ maxConnections: 2, log }))
  onTestFinished(client.close)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  expect((await client.send('/healthz', { agent })).status).toBe(200)
  const second = await client.socket()
  // The system takes connections before the program does: an answer on the first shows that the second has been taken.
  expect((await client.send('/healthz', { agent })).status).toBe(200)
  for (let round = 0; round < 3; round += 1) expect(await readAll(await client.socket())).toBe('')
  expect(log.lines.filter(({ message }) => message.includes('too many open connections'))).toMatchObject([
    { level: 'warn', fields: { closed: 1, limit: 2 } },
  ])
  // Those that are open are served on.
  expect((await client.send('/healthz', { agent })).status).toBe(200)
  second.destroy()
  await once(second, 'close')
  await expect
    .poll(() =>
      client.send('/healthz').then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200)
})

const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'))

test.runIf(hasIpv6)('D05 the limit of connections is one over both addresses of localhost', async () => {
  const { port } = new URL(await openApp({ maxConnections: 2, host: 'localhost' }))
  const open: Socket[] = []
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
  })
  /** Whether the connection is served. */
  const tries = async (host: string): Promise<boolean> => {
    const socket = connect({ host, port: Number(port) }).on('error', () => {})
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const served = await new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true)).once('close', () => resolve(false))
    })
    if (served) open.push(socket)
    return served
  }
  expect([await tries('127.0.0.1'), await tries('::1')]).toEqual([true, true])
  expect([await tries('::1'), await tries('127.0.0.1')]).toEqual([false, false])
  open.pop()?.destroy()
  await expect.poll(() => tries('127.0.0.1')).toBe(true)
  expect(await tries('::1')).toBe(false)
})
