import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { receiveHandshakes } from '../../src/websocket/handshakes.ts'

/** A server that answers with the body of each request, and takes WebSockets at /rpc. */
async function open(canChoose: boolean) {
  const connections: unknown[] = []
  const sockets = new WebSocketServer({ noServer: true })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const handshake = handshakes.take(request, response)
    if (handshake !== undefined) {
      sockets.handleUpgrade(request, handshake.socket, handshake.head, (socket) => socket.send('open'))
      return
    }
    const body = await text(request)
    response.end(`${request.method} ${request.url} ${request.headers.upgrade ?? 'no upgrade'} ${body}`)
  }
  const server = createServer((request, response) => void answer(request, response))
  const handshakes = receiveHandshakes(
    server,
    ({ url }) => url === '/rpc',
    (request, response) => server.emit('request', request, response),
    canChoose,
  )
  server.on('connection', (socket) => connections.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate()
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const ask = async (path: string, headers: Record<string, string>, body: string): Promise<string> => {
    const request = send({ port, path, method: body === '' ? 'GET' : 'POST', headers, agent: false })
    request.end(body)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return text(response)
  }
  return { port, connections, ask }
}

// `false` is the way of Node.js 22.19 and 22.20. Newer ones without a callback do the same.
describe.each([true, false])('receiveHandshakes where the server can choose: %s', (canChoose) => {
  it('accepts a wanted WebSocket', async () => {
    const { port } = await open(canChoose)
    const socket = new WebSocket(`ws://127.0.0.1:${port}/rpc`)
    const [message] = (await once(socket, 'message')) as [Buffer]
    expect(message.toString()).toBe('open')
  })

  it.each([
    ['an upgrade to HTTP/2', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' }],
    ['a WebSocket elsewhere', { connection: 'upgrade', upgrade: 'websocket' }],
  ])('keeps the request that offers %s, with its body', async (_, headers) => {
    const { ask, connections } = await open(canChoose)
    const body = 'x'.repeat(300_000)
    expect(await ask('/other', headers, body)).toBe(`POST /other ${headers.upgrade} ${body}`)
    expect(await ask('/other', headers, '')).toBe(`GET /other ${headers.upgrade} `)
    expect(connections).toHaveLength(2)
  })
})
