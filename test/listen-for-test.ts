import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Opens a server on a free port until the test ends, which ends its connections too. Returns the port. */
export async function listenForTest(server: Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not a TCP server')
  return address.port
}
