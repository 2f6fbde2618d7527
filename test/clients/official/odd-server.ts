import { createInterface } from 'node:readline'

// An MCP server with one tool, whose schema has what the families of models refuse.

const inputSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    list: { type: 'array', description: 'rows' },
    pair: { type: 'array', items: [{ type: 'string' }, { type: 'integer' }] },
    value: { type: ['string', 'array', 'null'] },
    rows: {
      type: 'array',
      items: {
        type: ['object', 'null'],
        properties: { when: { type: 'string', format: 'date-time', minLength: 1 } },
      },
    },
    picks: { type: ['array', 'null'], items: { type: 'string' }, enum: ['a', 'b'] },
    where: {
      type: 'object',
      properties: { p: { type: 'string' }, q: { type: 'string' } },
      anyOf: [{ required: ['p'] }, { required: ['q'] }],
    },
    minutes: { type: 'integer', enum: [60, 1440] },
    anything: true,
    flag: { type: 'string', required: true },
    $top: { type: 'string' },
  },
  required: ['list', 'gone'],
  anyOf: [{ required: ['list'] }, { required: ['pair'] }],
}

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='

function resultOf(method: string): unknown {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'odd', version: '1.0.0' },
      }
    case 'tools/list':
      return { tools: [{ name: 'awkward', description: 'An awkward tool', inputSchema }] }
    case 'tools/call':
      return {
        content: [
          { type: 'text', text: 'the odd result' },
          { type: 'image', mimeType: 'image/png', data: pixel },
        ],
      }
    default:
      return {}
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue
  const { id, method }: { readonly id?: unknown; readonly method: string } = JSON.parse(line)
  if (id === undefined) continue
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method) })}\n`)
}
