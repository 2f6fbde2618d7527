import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished, test, vi } from 'vitest'
import type { Deadlines } from '../../src/http/connections.ts'
import { connect, fakeWorkspaces, openRpcApp } from './support.ts'

const MiB = 1024 * 1024

/** A frame of a client, masked with zeros, which leaves the payload as it is. */
function frame(payload: Buffer, { opcode = 1, isLast = true, rsv1 = false } = {}): Buffer {
  const first = (isLast ? 0x80 : 0) | (rsv1 ? 0x40 : 0) | opcode
  const size = payload.length
  const head = size < 126 ? Buffer.from([first, 0x80 | size]) : Buffer.from([first, 0x80 | 126, size >> 8, size & 255])
  return Buffer.concat([head, Buffer.alloc(4), payload])
}

interface RawClient {
  readonly socket: Socket
  readonly head: string
  /** The close code that the daemon sends. */
  readonly closeCode: () => Promise<number>
}

/** A client that writes frames of its own making. */
async function openRaw(url: string): Promise<RawClient> {
  const socket = connectSocket(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
  })
  socket.on('error', () => {})
  socket.write(
    'GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  const [head]: Buffer[] = await once(socket, 'data')
  const received: Buffer[] = []
  socket.on('data', (bytes: Buffer) => received.push(bytes))
  const ended = once(socket, 'close')
  return {
    socket,
    head: head?.toString() ?? '',
    async closeCode() {
      await ended
      const all = Buffer.concat(received)
      const at = all.indexOf(0x88)
      return at === -1 ? -1 : all.readUInt16BE(at + 2)
    },
  }
}

async function open(file = '', deadlines: Partial<Deadlines> = {}) {
  const fake = fakeWorkspaces()
  return { ...fake, ...(await openRpcApp({ workspaces: () => fake.workspaces, file, deadlines })) }
}

it('G30: a message over server.body-limit-mb closes the connection with 1009', async () => {
  const { url } = await open('server: { body-limit-mb: 1 }')
  const client = await connect(url)
  const fits = await client.ask('echo', { text: 'x'.repeat(MiB - 1000) })
  expect(fits).toMatchObject({ result: {} })
  client.sendText('x'.repeat(MiB + 1))
  expect(await client.closed).toBe(1009)
})

it('G30: compression is not negotiated, and a compressed frame closes the connection', async () => {
  const { url } = await open()
  const { socket, head, closeCode } = await openRaw(url)
  expect(head).toMatch(/^HTTP\/1\.1 101 /)
  expect(head.toLowerCase()).not.toContain('sec-websocket-extensions')
  socket.write(frame(Buffer.from('{}'), { rsv1: true }))
  expect(await closeCode()).toBe(1002)
})

it('G30: endless fragments of one byte close the connection, with bounded memory', async () => {
  const { url } = await open()
  const { socket, closeCode } = await openRaw(url)
  const before = process.memoryUsage().rss
  const flood = Buffer.concat(Array.from({ length: 1000 }, () => frame(Buffer.from('x'), { opcode: 0, isLast: false })))
  socket.write(frame(Buffer.from('x'), { isLast: false }))
  for (let sent = 0; sent < 1000 && socket.writable; sent += 1) {
    if (!socket.write(flood)) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
  }
  expect(await closeCode()).toBe(1008)
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * MiB)
})

test.each([
  ['a binary message', frame(Buffer.from('{}'), { opcode: 2 }), 1003],
  ['text that is not UTF-8', frame(Buffer.from([0xff, 0xfe])), 1007],
  ['an unknown opcode', frame(Buffer.from('x'), { opcode: 5 }), 1002],
])('%s closes the connection with its code', async (_name, bytes, code) => {
  const { url } = await open()
  const { socket, closeCode } = await openRaw(url)
  socket.write(bytes)
  expect(await closeCode()).toBe(code)
})

it('G31: requests beyond the bound are refused, and each of 10,000 gets one answer', async () => {
  const { url, waiting, release, calls } = await open()
  const client = await connect(url)
  for (let id = 0; id < 10_000; id += 1) client.sendText(`{"jsonrpc":"2.0","id":${id},"method":"wait"}`)
  const refused: unknown[] = []
  while (refused.length < 9900) refused.push(await client.next())
  expect(refused[0]).toMatchObject({ id: 100, error: { code: -32000, data: { kind: 'busy' } } })
  expect([waiting(), calls.length]).toEqual([100, 100])
  release()
  const ids = new Set<unknown>()
  while (ids.size < 100) ids.add(Object(await client.next()).id)
  expect(await client.ask('echo')).toMatchObject({ result: {} })
})

const large = (word: string): string =>
  `{"jsonrpc":"2.0","id":"${word}","method":"wait","params":{"text":"${word.repeat(MiB)}"}}`

it('handles messages in order, also after large ones', async () => {
  const { url, calls } = await open()
  const client = await connect(url)
  client.sendText(large('1'))
  client.sendText('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"1"}}')
  client.sendText(large('2'))
  client.sendText('{"jsonrpc":"2.0","id":3,"method":"echo","params":{"text":"é"}}')
  expect(await client.next()).toMatchObject({ id: '1', error: { code: -32800 } })
  expect(await client.next()).toMatchObject({ id: 3, result: { args: { text: 'é' } } })
  expect(calls.map(({ name }) => name)).toEqual(['wait', 'wait', 'echo'])
})

function bigRequest(id: number): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"big","params":{"bytes":100000}}`)
}

it('G31: a client that reads no replies is closed, with bounded memory', async () => {
  const { url, log, calls } = await open('', { unreadMs: 200 })
  const { socket } = await openRaw(url)
  socket.pause()
  const before = process.memoryUsage().rss
  let highest = before
  const closed = once(socket, 'close')
  for (let sent = 0; sent < 10_000 && socket.writable; sent += 1) {
    if (!socket.write(frame(bigRequest(sent)))) await Promise.race([once(socket, 'drain'), closed])
    if (sent % 50 === 0) await new Promise(setImmediate)
    highest = Math.max(highest, process.memoryUsage().rss)
    if (log.some(({ message }) => message === 'closed a connection to /rpc')) break
  }
  await vi.waitFor(() => expect(log.map(({ message }) => message)).toContain('closed a connection to /rpc'), 20_000)
  expect(calls.length).toBeLessThan(10_000)
  expect(highest - before).toBeLessThan(300 * MiB)
})

it('G32: a client that stops answering is found by two pings, and its calls are cancelled', async () => {
  const fake = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => fake.workspaces, deadlines: { pingMs: 200 } })
  const lively = await connect(url)
  const client = fork(fileURLToPath(new URL('children/waiting-client.ts', import.meta.url)), [url], {
    execArgv: [],
    stdio: 'inherit',
  })
  onTestFinished(() => {
    client.kill('SIGKILL')
  })
  await vi.waitFor(() => expect(fake.waiting()).toBe(1), 10_000)
  const stoppedAt = performance.now()
  client.kill('SIGSTOP')
  await vi.waitFor(() => expect(fake.waiting()).toBe(0), 5000)
  expect(fake.calls[0]?.signal.aborted).toBe(true)
  // At 30 s between pings this is 60 s.
  expect(performance.now() - stoppedAt).toBeLessThan(10 * 200)
  expect(await lively.ask('echo')).toMatchObject({ result: {} })
})
