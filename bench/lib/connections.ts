import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { cpuMicros, median, stop } from './process.ts'
import type { Running } from './process.ts'

interface Target extends Running {
  readonly url: string
}

export interface NewConnections {
  readonly start: (checkPeer: boolean) => Promise<Target>
}

/** Sockets that the machine has besides those of the daemon and its caller. */
const crowds = [10, 2000, 8000]
const calls = 60

/** The time and the CPU that the first answer of a connection takes, without and with the check of the caller's user. */
export async function newConnectionRows({ start }: NewConnections): Promise<string[][]> {
  const [without, checked] = [await start(false), await start(true)]
  const crowd = await openCrowd()
  const rows: string[][] = []
  for (const sockets of crowds) {
    await crowd.fill(sockets)
    const before = await measure(without)
    const after = await measure(checked)
    rows.push([
      `first answer of a new connection, ${sockets} other sockets, without and with the check of its user`,
      `${before.ms.toFixed(1)} ms`,
      `${after.ms.toFixed(1)} ms`,
      `${(after.ms - before.ms).toFixed(1)} ms and ${(after.cpuMs - before.cpuMs).toFixed(1)} ms of CPU more`,
      '',
    ])
  }
  crowd.close()
  await Promise.all([stop(without), stop(checked)])
  return rows
}

async function measure({ pid, url }: Target): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  for (let i = 0; i < 10; i++) await askOnce(url)
  const times: number[] = []
  const cpu = cpuMicros(pid)
  for (let i = 0; i < calls; i++) times.push(await askOnce(url))
  return { ms: median(times), cpuMs: (cpuMicros(pid) - cpu) / calls / 1000 }
}

/** From opening a connection to the answer. Ms. */
function askOnce(url: string): Promise<number> {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const call = request(`${url}/cache`, { agent: false }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`answered ${answer.statusCode}`))
      answer.resume().once('end', () => resolve(performance.now() - startedAt))
    })
    call.once('error', reject).end()
  })
}

async function openCrowd() {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  const { port } = address
  const open = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', resolve)
      socket.once('error', reject)
      sockets.push(socket)
    })
  return {
    /** Each connection has two sockets. */
    async fill(count: number): Promise<void> {
      while (sockets.length < count) {
        const missing = Math.min(100, Math.ceil((count - sockets.length) / 2))
        await Promise.all(Array.from({ length: missing }, open))
        await new Promise(setImmediate)
      }
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
