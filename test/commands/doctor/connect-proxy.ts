import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ConnectProxy {
  readonly port: number
  /** What it was asked to connect to, refused ones included. */
  readonly asked: readonly string[]
}

/**
 * A proxy on this machine that opens tunnels to one port of it, whatever name is asked for: what is addressed to loopback
 * itself is never sent through a proxy.
 * @param authorization what callers must send, as the header has it; undefined: nothing
 */
export async function startConnectProxy(target: number, authorization?: string): Promise<ConnectProxy> {
  const asked: string[] = []
  const proxy = createServer((_request, response) => response.writeHead(405).end())
  proxy.on('connect', (request, socket) => {
    asked.push(request.url ?? '')
    socket.on('error', () => {})
    if (authorization !== undefined && request.headers['proxy-authorization'] !== authorization) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n')
      return
    }
    const upstream = connect(target, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(socket).pipe(upstream)
    })
    upstream.on('error', () => socket.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('not a TCP server')
  return { port: address.port, asked }
}
