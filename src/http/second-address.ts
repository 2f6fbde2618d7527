import { createServer } from 'node:net'
import type { Server as HttpServer } from 'node:http'

/** Codes of a machine without that address. */
const absent = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/**
 * Accepts connections for an HTTP server on a second address too, if the machine has it. They are the server's own in
 * every respect: its limits, deadlines and shutdown hold for them. Returns what stops accepting there.
 * @throws what `listen` threw, untouched
 */
export async function acceptAlso(
  server: HttpServer,
  address: { host: string; port: number; backlog?: number },
): Promise<() => void> {
  // As an HTTP server opens its own sockets.
  const second = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.emit('connection', socket)
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  second.once('listening', resolve).once('error', reject)
  second.listen(address)
  try {
    await promise
  } catch (error) {
    if (error instanceof Error && 'code' in error && absent.has(String(error.code))) return () => {}
    throw error
  }
  return () => {
    second.close()
  }
}
