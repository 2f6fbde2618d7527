import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import nodeProcess from 'node:process'
import type { Duplex } from 'node:stream'
import { acceptAlso } from '../http/connections.ts'
import { checkOrigin, hasOneAuthority } from '../http/access/origin-policy.ts'
import { acceptHandshake, type Connection, type ConnectionEvents } from '../websocket/connection.ts'
import { closeCodes } from './protocol.ts'

export interface ListenOptions {
  /** A loopback address or `localhost`. */
  readonly host: string
  readonly port: number
  /** `server.allowed-hosts` and `server.allowed-origins`. */
  readonly allowed: () => { readonly hosts: readonly string[]; readonly origins: readonly string[] }
  readonly onConnection: (connection: Connection) => ConnectionEvents
  /** Answers a command; returns undefined for an unknown one. `key` is the bearer token of the request. */
  readonly onCommand: (command: string, key: string) => Promise<CommandReply | undefined>
  /** Interval between two pings of a connection. Ms. */
  readonly pingMs: number
}

/** `body` is sent as JSON. */
export interface CommandReply {
  readonly status: number
  readonly body: object
}

export interface Listener {
  /** E.g. `ws://127.0.0.1:9400`. */
  readonly url: string
  /** Stops accepting connections and closes those that are open. */
  readonly close: () => Promise<void>
}

/** Maximum number of open connections, WebSockets and others. */
const maxConnections = 512

/** A larger message closes its connection. Between the limits of the document and this one, it gets an error message. Bytes. */
const maxFrameBytes = 16 * 1024 * 1024

/** Maximum of queued messages that a provider has not read. Bytes. */
const maxQueuedBytes = 8 * 1024 * 1024

/** Time for WebSockets to answer the close frame. Ms. */
const closeMs = 1500

/** Time limit for the headers of a request. Ms. */
const headersMs = 10_000

/**
 * Listens for providers. Programs resolve `localhost` to IPv4, IPv6 or both, so 127.0.0.1 also listens on ::1.
 * @throws the error of `listen`, unchanged
 */
export async function listenForProviders(options: ListenOptions): Promise<Listener> {
  const { host, port, onConnection, onCommand, pingMs } = options
  // http/connections.ts states why this does not import node:http.
  const { createServer } = nodeProcess.getBuiltinModule('node:http')
  const server = createServer({ headersTimeout: headersMs, requestTimeout: headersMs, requireHostHeader: false })
  const connections = new Set<Connection>()
  const sockets = new Set<Duplex>()
  let emptied: (() => void) | undefined
  server.on('connection', (socket) => {
    if (sockets.size >= maxConnections) {
      socket.destroy()
      return
    }
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) emptied?.()
    })
  })

  /** Returns why a web page may have sent a request, or undefined if none can have. */
  function refusalOf(request: IncomingMessage): string | undefined {
    if (!hasOneAuthority(request)) return 'the request target and the Host header name different hosts'
    const { hosts, origins } = options.allowed()
    const policy = {
      host,
      port: request.socket.localPort ?? 0,
      allowedHosts: hosts,
      allowedOrigins: origins,
      hasKeys: true,
      hasPage: false,
    }
    const verdict = checkOrigin(request.headers, request.rawHeaders, policy)
    return verdict.ok ? undefined : verdict.detail
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return reply(response, 403, { error: refusal })
    const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const answered = await onCommand(`${request.method} ${request.url}`, key)
    if (answered !== undefined) return reply(response, answered.status, answered.body)
    reply(response, 426, { error: 'tool programs connect here with WebSocket' })
  }

  server.on('request', (request, response) => {
    request.resume()
    answer(request, response).catch(() => response.destroy())
  })

  server.on('upgrade', (request, socket, head) => {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return refuseUpgrade(socket, refusal)
    const limits = { maxMessageBytes: maxFrameBytes, maxQueuedBytes, pingMs }
    acceptHandshake(request, { socket, head }, limits, (connection) => {
      connections.add(connection)
      const events = onConnection(connection)
      return {
        ...events,
        onClose(reason) {
          connections.delete(connection)
          events.onClose(reason)
        },
      }
    })
  })

  const first = host === 'localhost' ? '127.0.0.1' : host
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('listening', resolve).once('error', reject)
  server.listen({ host: first, port })
  await promise
  server.off('error', reject)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  let stopSecond: (() => void) | undefined
  try {
    if (first === '127.0.0.1') stopSecond = await acceptAlso(server, { host: '::1', port: address.port })
  } catch (error) {
    server.close()
    throw error
  }

  return {
    url: `ws://${first.includes(':') ? `[${first}]` : first}:${address.port}`,
    async close() {
      stopSecond?.()
      server.close()
      for (const connection of connections) connection.close(closeCodes.goingAway, 'shutting down')
      // `closeAllConnections` does not close WebSockets, so wait for them and destroy them after `closeMs`.
      server.closeAllConnections()
      if (sockets.size === 0) return
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, closeMs)
      await new Promise<void>((done) => {
        emptied = done
      })
      clearTimeout(cut)
    },
  }
}

function reply(response: ServerResponse, status: number, body: object): void {
  const text = `${JSON.stringify(body)}\n`
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  })
  response.end(text)
}

function refuseUpgrade(socket: Duplex, detail: string): void {
  const text = `${JSON.stringify({ error: detail })}\n`
  socket.on('error', () => {})
  socket.end(
    'HTTP/1.1 403 Forbidden\r\nContent-Type: application/json; charset=utf-8\r\n' +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  )
}

/** Compares in constant time. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'))
}
