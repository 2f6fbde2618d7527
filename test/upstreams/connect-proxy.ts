import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Certificate } from '../tls-certificate.ts'
import { listenForTest } from '../listen-for-test.ts'

export interface ConnectProxy {
  /** `host:port`. */
  readonly address: string
  readonly port: number
  /** What CONNECT was asked for, in order. */
  readonly tunnels: readonly string[]
  /** `proxy-authorization` of each, decoded; '' without one. */
  readonly logins: readonly string[]
  /** Destroys every tunnel. */
  readonly drop: () => void
}

interface ProxyOptions {
  /** `user:password` that it asks for. */
  readonly login?: string
  /** Takes CONNECT and says nothing. */
  readonly isSilent?: boolean
  /** What it says to each CONNECT, before it closes the connection. */
  readonly head?: string
  /** It speaks TLS, with this certificate. */
  readonly certificate?: Certificate
}

function refuse(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(501).end()
}

/**
 * Opens a proxy on loopback that closes with the test. Programs never use a proxy for loopback addresses, so the names that it
 * knows are others.
 * @param names the local port of each `host:port`; a number: the port for every name
 */
export async function openConnectProxy(
  names: Readonly<Record<string, number>> | number,
  { login, isSilent = false, head, certificate }: ProxyOptions = {},
): Promise<ConnectProxy> {
  const tunnels: string[] = []
  const logins: string[] = []
  const sockets = new Set<Socket>()
  const server = certificate === undefined ? createServer(refuse) : createSecureServer(certificate, refuse)
  server.on('tlsClientError', () => {})
  server.on('connection', (socket) => sockets.add(socket))
  server.on('connect', (request, socket: Socket) => {
    tunnels.push(request.url ?? '')
    const said = /^Basic (.*)$/.exec(request.headers['proxy-authorization'] ?? '')?.[1] ?? ''
    logins.push(Buffer.from(said, 'base64').toString())
    socket.on('error', () => {})
    if (isSilent) return
    if (head !== undefined) {
      socket.end(head)
      return
    }
    const port = typeof names === 'number' ? names : names[request.url ?? '']
    if (login !== undefined && logins.at(-1) !== login) {
      socket.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="proxy"\r\ncontent-length: 0\r\n\r\n',
      )
    } else if (port === undefined) {
      socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
    } else {
      const inner = connect(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        socket.pipe(inner).pipe(socket)
      })
      sockets.add(inner)
      inner.on('error', () => socket.destroy()).on('close', () => socket.destroy())
      socket.on('close', () => inner.destroy())
    }
  })
  const port = await listenForTest(server)
  const drop = (): void => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  onTestFinished(drop)
  return { address: `127.0.0.1:${port}`, port, tunnels, logins, drop }
}
