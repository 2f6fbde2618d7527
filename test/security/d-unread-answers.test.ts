import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { expect, onTestFinished, test } from 'vitest'
import { begin } from '../mcp/server/support.ts'
import { makeFolder } from '../tools/session.ts'
import { isThorough, some, times } from '../thorough.ts'
import { runDaemon, watchDaemon } from './running-daemon.ts'
import type { RunningDaemon } from './running-daemon.ts'

const MiB = 1024 * 1024

/** Some space for the rest of the answer: `workspace.max-file-mb` is 4. */
const fileBytes = 4 * MiB - 100

async function openDaemon(): Promise<RunningDaemon> {
  const root = await makeFolder()
  await writeFile(join(root, 'large.txt'), `${'x'.repeat(63)}\n`.repeat(fileBytes / 64))
  await writeFile(join(root, 'small.txt'), 'small')
  return await runDaemon({ config: `workspaces: ['${root}']\n` })
}

async function openSocket({ client }: RunningDaemon): Promise<Socket> {
  const socket = connect(client.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const readCall = (id: number, path: string) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'mcp.fs.read', params: { path } })

/** A frame of a client, masked with zeros, which leaves the payload as it is. */
function frame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])
}

async function readNothingOverRpc(daemon: RunningDaemon): Promise<Socket[]> {
  const socket = await openSocket(daemon)
  socket.write(
    'GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  await once(socket, 'data')
  socket.pause()
  for (let id = 0; id < 100; id += 1) socket.write(frame(readCall(id, 'large.txt')))
  return [socket]
}

async function readNothingOverMcp(daemon: RunningDaemon): Promise<Socket[]> {
  const session = await begin(`${daemon.client.url}/mcp`)
  const params = { name: 'fs_read', arguments: { path: 'large.txt' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const head =
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n' +
    `Content-Type: application/json\r\nMcp-Session-Id: ${session}\r\nContent-Length: ${body.length}\r\n\r\n`
  const sockets: Socket[] = []
  for (let call = 0; call < 20; call += 1) {
    const socket = await openSocket(daemon)
    socket.pause()
    socket.write(head + body)
    sockets.push(socket)
    await setTimeout(50)
  }
  return sockets
}

async function openRpc({ client }: RunningDaemon): Promise<WebSocket> {
  const socket = new WebSocket(`${client.url.replace('http', 'ws')}/rpc`)
  onTestFinished(() => socket.terminate())
  await once(socket, 'open')
  return socket
}

function contentIn(message: unknown): string {
  return JSON.parse(String(message)).result.content
}

const attacks = [
  ['/rpc', readNothingOverRpc],
  ['/mcp', readNothingOverMcp],
] as const

test.each(some(attacks, 2, 1))(
  'clients that read nothing of %s cost little memory, and others are served',
  { timeout: 180_000 },
  async (_path, attack) => {
    const daemon = await openDaemon()
    const honest = await openRpc(daemon)
    honest.send(readCall(1, 'large.txt'))
    const [warm]: unknown[] = await once(honest, 'message')
    expect(contentIn(warm)).toHaveLength(Math.floor(fileBytes / 64) * 64)

    const watch = await watchDaemon(daemon)
    const sockets = (await Promise.all(Array.from({ length: 20 }, () => attack(daemon)))).flat()
    for (let id = 2; id < 40; id += 1) {
      honest.send(readCall(id, 'small.txt'))
      const asked = performance.now()
      const [answer]: unknown[] = await once(honest, 'message')
      expect(contentIn(answer)).toBe('small')
      expect(performance.now() - asked).toBeLessThan(20_000)
      await setTimeout(100)
    }
    // A large result may have to wait until clients that read nothing are disconnected.
    honest.send(readCall(40, 'large.txt'))
    const [large]: unknown[] = await once(honest, 'message')
    expect(contentIn(large)).toHaveLength(Math.floor(fileBytes / 64) * 64)
    const { worstMs, mostBytes } = await watch.end()
    expect(worstMs).toBeLessThan(5000)
    expect(mostBytes - watch.startBytes).toBeLessThan(200 * MiB)
    for (const socket of sockets) socket.destroy()
  },
)

test('a client that reads slowly gets every answer', { timeout: 120_000 }, async () => {
  const daemon = await openDaemon()
  const socket = await openSocket(daemon)
  socket.write(
    'GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  await once(socket, 'data')
  for (let id = 0; id < 10; id += 1) socket.write(frame(readCall(id, 'large.txt')))
  let received = 0
  const { promise: all, resolve } = Promise.withResolvers<void>()
  // A listener that stays: between two that are added for one event each, events could be lost.
  socket.on('data', (bytes: Buffer) => {
    received += bytes.length
    if (received >= 10 * fileBytes) resolve()
    socket.pause()
    void setTimeout(2).then(() => socket.resume())
  })
  await all
  expect(socket.readable).toBe(true)
})

test.runIf(isThorough)('a client that reads gets all of many large answers', { timeout: 120_000 }, async () => {
  const daemon = await openDaemon()
  const socket = await openRpc(daemon)
  const answers = times(200)
  const lengths = new Map<number, number>()
  const all = Promise.withResolvers<void>()
  let asked = 0
  const ask = () => {
    if (asked < answers) socket.send(readCall(asked, 'large.txt'))
    asked += 1
  }
  socket.on('message', (data) => {
    const text = data instanceof Buffer ? data.toString() : ''
    lengths.set(Number(/"id":(\d+)/.exec(text)?.[1]), text.length)
    if (lengths.size === answers) all.resolve()
    ask()
  })
  // As many as a connection may have in progress.
  for (let first = 0; first < 100; first += 1) ask()
  await all.promise
  expect(Math.min(...lengths.values())).toBeGreaterThan(fileBytes - 100)
})
