import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import nodeProcess from 'node:process'
import type { Duplex } from 'node:stream'

/** What a WebSocket handshake leaves to whoever accepts it. */
export interface Handshake {
  readonly socket: Duplex
  /** What the client has sent behind the handshake. */
  readonly head: Buffer
}

export interface Handshakes {
  /** The handshake that a request is, once; undefined for any other request. */
  readonly take: (request: IncomingMessage, response: ServerResponse) => Handshake | undefined
}

/**
 * Passes WebSocket handshakes to a handler of HTTP requests, so that HTTP's checks, error answers and counters apply to
 * them. Requests that `wants` refuses stay ordinary requests, whatever upgrade they offer.
 */
export function receiveHandshakes(
  server: Server,
  wants: (request: IncomingMessage) => boolean,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Handshakes {
  const waiting = new WeakMap<IncomingMessage, Handshake>()
  // Node 22.19 and 22.20 lack the callback. There, a listener would take every request that offers any upgrade.
  if (!('shouldUpgradeCallback' in server)) return { take: () => undefined }
  server.shouldUpgradeCallback = (request: IncomingMessage) => isWebSocket(request) && wants(request)
  server.on('upgrade', (request, socket, head) => {
    // `import` of node:http is avoided for the reason that connections.ts states.
    const { ServerResponse: Response } = nodeProcess.getBuiltinModule('node:http')
    const response = new Response(request)
    // A refusal is the last answer: Node no longer reads requests from this connection.
    response.shouldKeepAlive = false
    response.once('finish', () => socket.end())
    response.assignSocket(request.socket)
    socket.on('error', ignore)
    waiting.set(request, { socket, head })
    handle(request, response)
  })
  return {
    take(request, response) {
      const handshake = waiting.get(request)
      if (handshake === undefined) return undefined
      waiting.delete(request)
      response.detachSocket(request.socket)
      handshake.socket.off('error', ignore)
      return handshake
    },
  }
}

/** A connection that fails while its handshake is checked closes, which is all that anybody needs to know. */
function ignore(): void {}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}
