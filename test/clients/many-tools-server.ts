import { createInterface } from 'node:readline'

// An MCP server with 150 tools, over stdio. `node many-tools-server.ts`

const tools = Array.from({ length: 150 }, (_, at) => ({
  name: `zebra_${at}`,
  description: `Tells about zebra ${at}`,
  inputSchema: { type: 'object', properties: {} },
}))

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly name?: string; readonly protocolVersion?: string }
}

function resultOf({ method, params }: Message): unknown {
  switch (method) {
    case 'initialize': {
      const serverInfo = { name: 'zoo', version: '1.0.0' }
      return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
    }
    case 'tools/list':
      return { tools }
    case 'tools/call':
      return { content: [{ type: 'text', text: `${params?.name} is striped` }] }
    default:
      return {}
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message: Message = JSON.parse(line)
  if (message.id === undefined) continue
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) })}\n`)
}
