import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../log.ts'

/** Between two lines about connections that were closed. Ms. */
const quietMs = 60_000

/**
 * Lets no more connections be open than `most` says, and closes further ones as they come. Those that are open stay when
 * the limit sinks. Node's own `maxConnections` counts those of one address alone.
 * @param now ms, of a clock that is never set
 */
export function limitConnections(server: Server, most: () => number, log: Logger, now: () => number): void {
  let open = 0
  let saidAt = -Infinity
  let unsaid = 0

  function tell(limit: number): void {
    unsaid += 1
    if (now() - saidAt < quietMs) return
    log.warn(
      { closed: unsaid, limit },
      'as many connections are open as server.max-connections allows; others are closed as they come',
    )
    saidAt = now()
    unsaid = 0
  }

  server.on('connection', (socket: Socket) => {
    const limit = most()
    if (open >= limit) {
      socket.destroy()
      tell(limit)
      return
    }
    open += 1
    socket.once('close', () => {
      open -= 1
    })
  })
}
