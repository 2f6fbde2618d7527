import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import nodeProcess from 'node:process'
import type { Duplex } from 'node:stream'

/** What a WebSocket handshake leaves to whoever accepts it. */
export interface Handshake {
  readonly socket: Duplex
  /** Bytes that the client has sent after the handshake. */
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
  canChoose = 'shouldUpgradeCallback' in server,
): Handshakes {
  const waiting = new WeakMap<IncomingMessage, Handshake>()
  const isWanted = (request: IncomingMessage): boolean => isWebSocket(request) && wants(request)
  if (canChoose) Object.assign(server, { shouldUpgradeCallback: isWanted })
  const [acceptConnection] = server.listeners('connection')
  server.on('upgrade', (request, socket, head) => {
    // Node 22.19 and 22.20 call this listener for every upgrade that a request offers.
    if (!isWanted(request)) {
      socket.unshift(Buffer.concat([withoutUpgrade(request), head]))
      // The listener of node:http, and not those that count connections.
      acceptConnection?.call(server, socket)
      return
    }
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

/** The head of the request, in which no upgrade is asked for. The header `upgrade` stays, for those who read it. */
function withoutUpgrade({ method = '', url = '', httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (const [index, name] of rawHeaders.entries()) {
    if (index % 2 === 1) continue
    const value = rawHeaders[index + 1] ?? ''
    const options = value.split(',').filter((option) => option.trim().toLowerCase() !== 'upgrade')
    const isConnection = name.toLowerCase() === 'connection'
    if (!isConnection || options.length > 0) lines.push(`${name}: ${isConnection ? options.join(',') : value}`)
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}
