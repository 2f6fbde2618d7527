import { once } from 'node:events'
import { Agent } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { startDaemon } from '../../src/daemon.ts'
import { streamReply } from '../upstreams/http/outcome.ts'
import { recordingLog } from '../recording-log.ts'
import { chatBody, contentOf, dataOf, readAll, saying } from './client.ts'
import { openProxy } from './harness.ts'
import { event, finish } from './word-stream.ts'

/** Longer than any test: whoever waits for it fails. Ms. */
const longGraceMs = 60_000

const shuttingDown = { type: 'service_unavailable_error', code: 'shutting_down' }

test('F01 running requests may finish within the grace period, and no new connection is accepted', async () => {
  const { openChat, chat, demo, daemon } = await openProxy()
  demo.script('/chat/completions', { outcome: streamReply([event('one '), event('two'), finish]) })
  const gate = demo.gateNext()
  gate.release(1)
  const reply = await openChat()
  expect(await reply.next()).toContain('one ')
  const plainGate = demo.gateNext()
  const plain = chat()
  await plainGate.opened
  const closed = daemon.close(longGraceMs)
  await expect(chat()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  gate.open()
  expect(contentOf(await reply.rest())).toBe('two')
  plainGate.open()
  expect((await plain).status).toBe(200)
  await closed
})

test.each([
  ['/v1/models', 503, { error: shuttingDown }],
  ['/healthz', 200, { ok: true }],
])(
  'F01 a further request for %s on a busy connection is a %i and closes the connection',
  async (path, status, body) => {
    const { socket, demo, daemon } = await openProxy()
    const client = await socket()
    demo.script('/chat/completions', { outcome: streamReply([event('one '), finish]) })
    const gate = demo.gateNext()
    gate.release(1)
    const ask = chatBody({ stream: true })
    const head = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${ask.length}`
    client.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n${ask}`)
    await once(client, 'readable')
    const closed = daemon.close(longGraceMs)
    client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    gate.open()
    const text = await readAll(client)
    expect(text).toMatch(/^HTTP\/1\.1 200 .*\[DONE\]/s)
    const second = text.slice(text.indexOf(`HTTP/1.1 ${status}`, 1))
    expect(second).toMatch(/^connection: close\r$/im)
    expect(JSON.parse(second.slice(second.indexOf('\r\n\r\n')))).toMatchObject(body)
    await closed
  },
)

test('idle connections do not delay the shutdown', async () => {
  const { socket, send, daemon } = await openProxy()
  const unused = await socket()
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  await send('/healthz', { agent })
  const begun = await socket()
  begun.write('GET /v1/models HTTP/1.1\r\nHost')
  await send('/healthz')
  const received = readAll(unused)
  await daemon.close(longGraceMs)
  expect(await received).toBe('')
})

test('a connection that becomes idle during the shutdown does not delay it', async () => {
  const { demo, chat, daemon } = await openProxy()
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const gate = demo.gateNext()
  const reply = chat({}, { agent })
  await gate.opened
  const closed = daemon.close(longGraceMs)
  gate.open()
  expect((await reply).status).toBe(200)
  await closed
})

test('F01 after the grace period, a stream ends in an error event and any other request in a 503', async () => {
  const { openChat, chat, send, demo, daemon } = await openProxy({
    file: 'server: { max-concurrent-requests: 4, max-queued-requests: 1 }',
  })
  demo.script('/chat/completions', { outcome: streamReply([event('one ')], { ending: 'hold' }), times: 2 })
  const stream = await openChat()
  expect(await stream.next()).toContain('one ')
  const pending = [chat(), chat(saying('[demo:silent]')), chat({ stream: true, ...saying('[demo:hang]') })]
  await demo.until(() => demo.count('/chat/completions') === 4)
  const queued = chat(saying('queued'))
  for (let round = 0; round < 3; round += 1) await send('/healthz')
  await daemon.close(50)
  const rest = dataOf(await stream.rest())
  expect(rest).toHaveLength(1)
  expect(JSON.parse(rest[0] ?? '')).toMatchObject({ error: shuttingDown })
  for (const reply of await Promise.all([...pending, queued])) {
    expect(reply.status).toBe(503)
    expect(reply.headers.connection).toBe('close')
    expect(reply.json()).toMatchObject({ error: shuttingDown })
  }
  await demo.until(() => demo.openStreams() === 0)
  expect(demo.count('/chat/completions')).toBe(4)
})

test('an incomplete upload is aborted after the grace period', async () => {
  const { socket, send, daemon } = await openProxy()
  const client = await socket()
  client.write(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
  )
  await send('/healthz')
  const closed = daemon.close(50)
  const text = await readAll(client)
  expect(text).toMatch(/^HTTP\/1\.1 503 .*"shutting_down"/s)
  await closed
})

test('a caller that does not read cannot delay the shutdown', async () => {
  const { openChat, demo, daemon } = await openProxy()
  demo.script('/chat/completions', {
    outcome: streamReply(Array.from({ length: 1000 }, () => event('x'.repeat(16_000)))),
  })
  const reply = await openChat()
  await reply.next()
  await daemon.close(50)
  await demo.until(() => demo.openStreams() === 0)
  expect(dataOf(await reply.rest().catch(() => ''))).not.toContain('[DONE]')
})

test('a port in use is reported unchanged, and nothing stays open', async () => {
  const { port, configure, demo, send } = await openProxy()
  const log = recordingLog()
  const starting = startDaemon({
    config: { ...configure(''), server: { ...configure('').server, port } },
    authDir: '/nonexistent',
    ownPaths: { folders: [], files: [] },
    codexHome: undefined,
    version: '0.0.0-test',
    log,
    demo: true,
    githubToken: demo.tokens.issueGithub(),
    env: {},
    onAccount: (account) => log.info({ account }, 'logged in'),
  })
  await expect(starting).rejects.toMatchObject({ code: 'EADDRINUSE', port })
  // A daemon that does not start announces no account.
  expect(log.lines.filter(({ message }) => message.includes('logged in'))).toEqual([])
  expect((await send('/healthz')).status).toBe(200)
})

test('closing twice has the same effect as closing once', async () => {
  const { daemon } = await openProxy()
  await Promise.all([daemon.close(0), daemon.close(0)])
  await daemon.close(0)
})
