import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { judgeNetwork } from '../../../src/commands/doctor/machine-checks.ts'
import { probe } from '../../../src/commands/doctor/probe.ts'
import type { Probe } from '../../../src/commands/doctor/probe.ts'
import { createPool } from '../../../src/executors/connection-pool.ts'
import { listenForTest } from '../../listen-for-test.ts'

/** A host that does this with every connection. */
async function openHost(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onConnection(socket)
  })
  return `127.0.0.1:${await listenForTest(server)}`
}

/** More than any of these takes; where it is over before, that is what is tested. Ms. */
const ample = 30_000

async function ask(origin: string, { connectMs = ample, timeoutMs = ample } = {}): Promise<Probe> {
  const pool = createPool({ connectMs, env: {} })
  try {
    const deps = { pool, env: {}, now: Date.now, timeoutMs }
    return await probe(deps, origin, new AbortController().signal)
  } finally {
    await pool.destroy()
  }
}

/** Writes on and on until it is hung up on. */
function pour(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20)
  socket.on('close', () => clearInterval(timer))
}

test.each<readonly [string, (socket: Socket) => void]>([
  ['never answers', () => {}],
  ['speaks something else than HTTP', (socket) => socket.write('hello\r\n\r\n')],
  [
    'sends headers without end',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      pour(socket, 'x: y\r\n')
    },
  ],
])('a host that %s was reached: it is the answer that is missing', async (_what, onConnection) => {
  const host = await openHost(onConnection)
  const found = await ask(`http://${host}`, { timeoutMs: 200 })
  expect(found).toMatchObject({ kind: 'failed', stage: 'answer' })
  expect(judgeNetwork([found], 'linux')).toEqual([
    {
      status: 'failed',
      detail: expect.stringMatching(new RegExp(`^Unexpected answer from ${host}: `)),
      fix: expect.stringContaining(`: curl -vI http://${host}/`),
      host,
    },
  ])
})

test('a host with which no connection comes about in time cannot be reached', async () => {
  // Its TLS handshake never ends, which is as far as one comes on loopback.
  const host = await openHost(() => {})
  const found = await ask(`https://${host}`, { connectMs: 200 })
  expect(found).toMatchObject({ kind: 'failed', stage: 'connect', reason: 'the connection timed out' })
})

test('a body without end, which nobody has asked for, is an answer', async () => {
  const host = await openHost((socket) => {
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\ndate: ${new Date().toUTCString()}\r\ncontent-length: 99999\r\n\r\n`)
      pour(socket, 'x'.repeat(100))
    })
  })
  expect(await ask(`http://${host}`)).toMatchObject({ kind: 'reached' })
})
