import type { IncomingMessage as Incoming, Server, ServerResponse as Response } from 'node:http'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { removeFrom } from '../cache/remove-from.ts'
import type { Logger } from '../logging/logger.ts'

/** Deadlines of callers and their connections. Ms. */
export interface Deadlines {
  /** From the first byte to the last header of a request. */
  readonly headersMs: number
  /** To receive a complete request with its body. */
  readonly requestMs: number
  /** Between two pieces of a body. A stalled upload would otherwise keep counting as a running request. */
  readonly uploadIdleMs: number
  /** Between two requests. Longer than in usual client pools: they close first and never write to a closed connection. */
  readonly keepAliveMs: number
  /** How often Node checks `headersMs` and `requestMs`. */
  readonly checkEveryMs: number
  /** Between two pings of a WebSocket. A client that answers none is found within twice this time: within a minute. */
  readonly pingMs: number
  /**
   * How long a client of /rpc or /mcp may read nothing of its answers while others need the memory. Six times this
   * otherwise. Ms.
   */
  readonly unreadMs: number
}

export const defaultDeadlines: Deadlines = {
  headersMs: 60_000,
  requestMs: 300_000,
  uploadIdleMs: 30_000,
  keepAliveMs: 75_000,
  checkEveryMs: 5000,
  pingMs: 25_000,
  unreadMs: 5000,
}

/** A request that is incomplete or has an incomplete answer. */
export interface Exchange {
  readonly request: Incoming
  readonly response: Response
}

/**
 * A connection with this many requests that have no answer yet is not read on. Node reads up to 2 MB in one turn of the event loop
 * otherwise, which may be 40,000 requests.
 */
const maxUnanswered = 32

/** Returns a function that gives the exchanges of a connection, oldest first. A client may send several requests at once. */
export function watchExchanges(server: Server): (socket: Socket) => readonly Exchange[] {
  const open = new WeakMap<Socket, Exchange[]>()

  function beginOn(socket: Socket): Exchange[] {
    const exchanges: Exchange[] = []
    open.set(socket, exchanges)
    // Node reads on at the end of each request and of each answer.
    socket.on('resume', () => {
      if (exchanges.length >= maxUnanswered) socket.pause()
    })
    return exchanges
  }

  server.on('request', (request: Incoming, response: Response) => {
    const exchange = { request, response }
    const { socket } = request
    const exchanges = open.get(socket) ?? beginOn(socket)
    exchanges.push(exchange)
    if (exchanges.length === maxUnanswered) socket.pause()
    const leaveIfOver = (): void => {
      if (!request.complete || !response.closed) return
      removeFrom(exchanges, exchange)
      if (exchanges.length === maxUnanswered - 1) socket.resume()
    }
    request.once('close', leaveIfOver)
    response.once('close', leaveIfOver)
  })
  return (socket) => [...(open.get(socket) ?? [])]
}

/** Whether the system still has the connection. It may be gone before Node.js reports that. */
export function isConnected(socket: Socket): boolean {
  // An undocumented field of Node's: `socket.remoteAddress` remembers its first result.
  const handle: unknown = Reflect.get(socket, '_handle')
  if (!(handle instanceof Object)) return false
  const getPeerName: unknown = Reflect.get(handle, 'getpeername')
  return typeof getPeerName === 'function' && Reflect.apply(getPeerName, handle, [{}]) === 0
}

/** The shortest time between two log lines about refused connections. Ms. */
const limitLogIntervalMs = 60_000

/**
 * Closes each new connection while `limit` connections are open. Node's own
 * `maxConnections` counts the connections of one address only.
 * @param now ms, monotonic
 */
export function limitConnections(server: Server, limit: number, log: Logger, now: () => number): void {
  let open = 0
  let loggedAt = -Infinity
  let closed = 0

  function refuse(socket: Socket): void {
    socket.destroy()
    closed += 1
    if (now() - loggedAt < limitLogIntervalMs) return
    log.warn({ closed, limit }, 'too many open connections; closing new ones')
    loggedAt = now()
    closed = 0
  }

  server.on('connection', (socket: Socket) => {
    if (open >= limit) return refuse(socket)
    open += 1
    socket.once('close', () => {
      open -= 1
    })
  })
}

/**
 * Closes a connection whose client reads nothing of a complete answer for `limitMs`. Until then, the whole answer takes memory.
 * An event stream waits for its reader instead and takes little.
 */
export function endUnreadAnswers(server: Server, limitMs: number): void {
  server.on('request', (_request, response: Response) => {
    const { socket } = response
    if (socket === null) return
    // Node.js destroys a connection after this time without progress.
    response.once('prefinish', () => socket.setTimeout(limitMs))
    response.once('finish', () => {
      // Otherwise, the limit holds for the next request of a client that does not wait for answers.
      if (socket.timeout === limitMs) socket.setTimeout(0)
    })
  })
}

/** Connections without a request yet: opened in advance by a client's pool, or with a head on its way. */
export interface UnusedConnections {
  readonly markUsed: (socket: Socket) => void
  readonly closeAll: () => void
}

/** Node counts unused connections as busy: a server that closes would wait for them. */
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

/** The first and the longest pause between two probes of a half-closed connection. Ms. */
const firstProbeMs = 50
const longestProbeMs = 1000

/** A comment of server-sent events, which readers ignore. */
const comment = ':\n\n'

/**
 * Answers callers that close their sending side after the request. They look like callers that have left: both have sent
 * a FIN. A probe outside the answer distinguishes them: the system of a caller that has left rejects it, the
 * next write fails, and the connection closes as for any caller that leaves.
 */
export function answerHalfClosed(server: Server, exchangesOf: (socket: Socket) => readonly Exchange[]): void {
  // An undocumented switch of Node's. Without it, Node closes its side when the caller closes its own.
  Reflect.set(server, 'httpAllowHalfOpen', true)
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => probe(socket, firstProbeMs))
  })

  function probe(socket: Socket, pauseMs: number): void {
    // The oldest response uses the connection. Those to pipelined requests wait until it ends.
    const response = exchangesOf(socket).find(({ response: each }) => !each.closed)?.response
    // Nothing is left to write.
    if (socket.destroyed || response === undefined || response.writableEnded) return
    // Unsent bytes already probe the connection.
    if (!socket.writableNeedDrain && !writeProbe(response)) {
      socket.end()
      return
    }
    setTimeout(() => probe(socket, Math.min(2 * pauseMs, longestProbeMs)), pauseMs).unref()
  }
}

/** False if HTTP allows no probe here: the caller then counts as gone. */
function writeProbe(response: Response): boolean {
  // RFC 9110, section 15.2: no interim response to HTTP/1.0.
  if (response.req.httpVersion !== '1.1') return false
  // A client discards a 100 that it did not ask for (RFC 9110, section 15.2.1), however many come. Some clients (Python's
  // http.client) take other interim responses for the final one.
  if (!response.headersSent) response.writeContinue()
  // Only event streams are chunked; every other answer has a content-length.
  else if (response.chunkedEncoding) response.write(comment)
  return true
}

/** Error codes on a machine that lacks the address. */
const absentAddress = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/**
 * Accepts connections for an HTTP server on a second address too, if the machine has it. The server's limits, deadlines
 * and shutdown hold for them. Returns a function that stops accepting there.
 * @throws the error of `listen`, unchanged
 */
export async function acceptAlso(
  server: Server,
  address: { host: string; port: number; backlog?: number },
): Promise<() => void> {
  // The options with which an HTTP server opens its own sockets.
  const second = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.emit('connection', socket)
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  second.once('listening', resolve).once('error', reject)
  second.listen(address)
  try {
    await promise
  } catch (error) {
    if (error instanceof Error && 'code' in error && absentAddress.has(String(error.code))) return () => {}
    throw error
  }
  return () => {
    second.close()
  }
}
