import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { createServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { Certificate } from '../tls-certificate.ts'
import { listenForTest } from '../listen-for-test.ts'

export interface TlsFront {
  /** https, by address. */
  readonly url: string
  readonly port: number
  /** Bytes that clients have sent inside TLS. */
  readonly received: () => number
  /** Destroys every connection. */
  readonly drop: () => void
}

/** Speaks TLS in front of a plain server on 127.0.0.1; closed when the test ends. */
export async function openTlsFront(target: number, certificate: Certificate, host = '127.0.0.1'): Promise<TlsFront> {
  const sockets = new Set<Socket>()
  let received = 0
  const server = createServer(certificate, (socket) => {
    const inner = connect(target, '127.0.0.1')
    for (const each of [socket, inner]) sockets.add(each)
    socket.on('data', (chunk: Buffer) => (received += chunk.length))
    socket.pipe(inner).pipe(socket)
    for (const [each, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      each.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
  })
  // A client that does not trust the certificate leaves in the middle of the handshake.
  server.on('tlsClientError', () => {})
  const port = await listenForTest(server, host)
  const drop = (): void => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  onTestFinished(drop)
  return { url: `https://${host}:${port}`, port, received: () => received, drop }
}
