import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/**
 * A small MCP server over streamable HTTP with sessions. Follows MCP 2025-11-25: the answer to `initialize` names the session,
 * other requests must name it, and an unknown session gets 404.
 */
export async function openHttpServer() {
  const tools = ['echo']
  const sessions = new Set<string>()
  const streams = new Set<ServerResponse>()
  let begun = 0
  let calls = 0
  let losesCalls = false
  let result: unknown
  let isStreaming = false
  let lostStatus = 404
  let port = 0
  let server = createServer()

  function answer(method: string, params: object): unknown {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: '2025-11-25',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'small', version: '1' },
        }
      case 'tools/list':
        return { tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }
      case 'tools/call':
        calls += 1
        return result ?? { content: [{ type: 'text', text: JSON.stringify(params) }] }
      default:
        return undefined
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = String(request.headers['mcp-session-id'])
    if (request.method === 'GET') {
      if (!sessions.has(session)) return void response.writeHead(404).end()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      streams.add(response)
      return
    }
    const { id, method, params } = JSON.parse(await text(request)) as { id?: number; method: string; params: object }
    const isLost = !sessions.has(session) || (losesCalls && method === 'tools/call')
    if (method !== 'initialize' && isLost) return void response.writeHead(lostStatus).end('no such session')
    if (id === undefined) return void response.writeHead(202).end()
    const named = method === 'initialize' ? `session-${(begun += 1)}` : session
    sessions.add(named)
    const type = isStreaming ? 'text/event-stream' : 'application/json'
    response.writeHead(200, { 'content-type': type, 'mcp-session-id': named })
    const message = JSON.stringify({ jsonrpc: '2.0', id, result: answer(method, params) })
    response.end(isStreaming ? `event: message\r\ndata: ${message}\r\n\r\n` : message)
  }

  async function open(): Promise<void> {
    server = createServer((request, response) => void serve(request, response))
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    ;({ port } = server.address() as AddressInfo)
  }

  async function close(): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    streams.clear()
    await closed
  }

  await open()
  onTestFinished(() => server.close().closeAllConnections())
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    /** Opens the server again at the same port. */
    open,
    close,
    forgetSessions(status = 404) {
      lostStatus = status
      sessions.clear()
    },
    /** Answers calls as if their session were unknown. */
    loseCalls() {
      losesCalls = true
    },
    /** Answers calls with this result, as JSON or as a stream of events. */
    answerWith(given: unknown, asStream: boolean) {
      result = given
      isStreaming = asStream
    },
    begun: () => begun,
    calls: () => calls,
    streams: () => streams.size,
    /** Adds a tool and announces it. */
    add(name: string) {
      tools.push(name)
      const message = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
      for (const stream of streams) stream.write(`data: ${JSON.stringify(message)}\n\n`)
    },
  }
}
