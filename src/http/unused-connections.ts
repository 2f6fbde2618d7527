import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Connections on which no request has come yet: a client pool opened them in advance, or a head is on its way. */
export interface UnusedConnections {
  readonly markUsed: (socket: Socket) => void
  readonly closeAll: () => void
}

/** Node counts these connections as busy, so a server that closes would wait for them. */
export function watchUnusedConnections(server: Server): UnusedConnections {
  const unused = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  return {
    markUsed: (socket) => {
      unused.delete(socket)
    },
    closeAll: () => {
      for (const socket of unused) socket.destroy()
    },
  }
}
