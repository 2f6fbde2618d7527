import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

// The yardstick: the least that a Node program between a caller and Copilot can do. It forwards bytes both ways and adds
// the headers that upstream requires.

const upstream = new URL(process.argv[2] ?? '')
const agent = new Agent({ keepAlive: true })
const headers = {
  authorization: `Bearer ${process.env['BENCH_COPILOT_TOKEN']}`,
  'content-type': 'application/json',
  'editor-version': 'vscode/1.126.0',
  'editor-plugin-version': 'copilot-chat/0.54.0',
  'copilot-integration-id': 'vscode-chat',
  'user-agent': 'GitHubCopilotChat/0.54.0',
  'anthropic-version': '2023-06-01',
}

const server = createServer((incoming, reply) => {
  const outgoing = httpRequest(
    {
      agent,
      host: upstream.hostname,
      port: upstream.port,
      method: incoming.method,
      // Upstream has `/v1` on the Messages path only.
      path: incoming.url?.replace(/^\/v1(?!\/messages)/, ''),
      headers: { ...headers, 'content-length': incoming.headers['content-length'] },
    },
    (answer) => {
      reply.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] })
      answer.pipe(reply)
    },
  )
  outgoing.on('error', () => reply.destroy())
  reply.on('close', () => outgoing.destroy())
  incoming.pipe(outgoing)
})

server.listen(0, '127.0.0.1', () => {
  // A TCP server that listens has an address with a port.
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
