import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ForgetfulRouter {
  readonly port: number
  /** Connections that it was asked for so far. */
  readonly opened: () => number
  /** Pieces that clients have said. */
  readonly heard: () => number
  /** Forgets the connections there are: each is reset by the next thing that is said on it. */
  readonly forget: () => void
  /** Loses every byte on the connections there are, and tells nobody. */
  readonly fallSilent: () => void
  /** Forgets every connection from now on as soon as something is said on it. */
  readonly breakAll: () => void
}

/** Leads to a local port as a router with a table of connections does; closed with the test. */
export async function openForgetfulRouter(target: number): Promise<ForgetfulRouter> {
  const known = new Map<Socket, Socket>()
  const silent = new Set<Socket>()
  let opened = 0
  let heard = 0
  let breaksAll = false
  const server = createServer((outside) => {
    opened += 1
    const inside = connect(target, '127.0.0.1')
    known.set(outside, inside)
    outside.on('data', (chunk) => {
      heard += 1
      if (silent.has(outside)) return
      if (known.has(outside) && !breaksAll) inside.write(chunk)
      else outside.resetAndDestroy()
    })
    inside.on('data', (chunk) => {
      if (!silent.has(outside)) outside.write(chunk)
    })
    for (const [each, other] of [
      [outside, inside],
      [inside, outside],
    ] as const) {
      each
        .on('error', () => {})
        .on('close', () => {
          if (!silent.has(outside)) other.destroy()
        })
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const everyone = new Set<Socket>()
  server.on('connection', (socket) => everyone.add(socket))
  onTestFinished(() => {
    for (const socket of [...everyone, ...known.values()]) socket.destroy()
    server.close()
  })
  // A TCP server that listens has an address with a port.
  const { port } = server.address() as AddressInfo
  return {
    port,
    opened: () => opened,
    heard: () => heard,
    forget: () => known.clear(),
    fallSilent() {
      for (const outside of known.keys()) silent.add(outside)
    },
    breakAll() {
      breaksAll = true
    },
  }
}
