import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

export interface HeldListener {
  readonly port: number
  /** Resolves when a client tries to connect. */
  readonly tried: () => Promise<void>
  /** Accepts connections again. A client's system repeats its attempt after a second, then after two more. */
  readonly release: () => void
}

const server = `
  const server = require('node:http').createServer((_request, response) => response.end('reached'))
  server.on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\\r\\n\\r\\n'))
  server.listen({ host: process.argv[1], port: Number(process.argv[2]), backlog: 1 }, () =>
    console.log(server.address().port))`

/**
 * An HTTP server, and a proxy that refuses everything, on a loopback address. It is stopped, with a full queue: attempts to
 * connect get no answer, as from an address whose packets are lost (Linux). It ends with the test.
 * @param port 0: a free one
 */
export async function openHeldListener(host: string, port = 0): Promise<HeldListener> {
  const child = spawn(process.execPath, ['--eval', server, host, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const queued: Socket[] = []
  onTestFinished(() => {
    child.kill('SIGKILL')
    for (const socket of queued) socket.destroy()
  })
  const [line] = await once(child.stdout, 'data')
  const bound = Number(String(line))
  child.kill('SIGSTOP')
  for (;;) {
    const socket = connect(bound, host)
    queued.push(socket.on('error', () => {}))
    const connected = once(socket, 'connect').then(() => true)
    const silent = setTimeout(500, false)
    if (await Promise.race([connected, silent])) continue
    socket.destroy()
    break
  }
  const isTried = async (): Promise<boolean> => {
    const table = await readFile(host.includes(':') ? '/proc/net/tcp6' : '/proc/net/tcp', 'utf8')
    // The address of the other side, and the state SYN_SENT (proc_pid_net(5)).
    return new RegExp(`:${bound.toString(16).padStart(4, '0')} 02 `, 'i').test(table)
  }
  return {
    port: bound,
    async tried() {
      while (!(await isTried())) await setTimeout(10)
    },
    release: () => void child.kill('SIGCONT'),
  }
}
