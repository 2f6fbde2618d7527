// A small MCP server without an SDK. Its first argument selects its behaviour. Each line is one JSON message.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [mode = 'plain'] = process.argv.slice(2)
let isChanged = false
let nextId = 100
const waiting = new Map()

/** Answers that leave out what is optional by null, or that are no MCP. */
const oddAnswers = {
  null: (id) => ({
    jsonrpc: '2.0',
    id,
    error: null,
    result: { content: [{ type: 'text', text: 'hi', annotations: null }], _meta: null },
  }),
  own_null: (id) => ({ jsonrpc: '2.0', id, result: { content: null, structuredContent: { a: null }, isError: null } }),
  no_result: (id) => ({ jsonrpc: '2.0', id }),
  text_result: (id) => ({ jsonrpc: '2.0', id, result: 'hi' }),
  odd_result: (id) => ({ jsonrpc: '2.0', id, result: { content: 'hi' } }),
  no_version: (id) => ({ id, result: { content: [] } }),
}

const deep = (levels) => '['.repeat(levels) + ']'.repeat(levels)
const wide = (values) => `[${'0,'.repeat(values - 1)}0]`
const note = (params) => `{"jsonrpc":"2.0","method":"notifications/odd","params":{"a":${params}}}`

/** Lines that a server writes before the answer of a call. */
const lines = {
  batch: `[${note(0)},${note(1)}]`,
  lists: '[]\n[1]\n[[]]\n[null]',
  deep: note(deep(2_000_000)),
  wide: note(wide(4_000_000)),
  ordinary: note(`[${deep(400)},${wide(100_000)}]`),
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

function tool(name, more = {}) {
  return { name, description: name, inputSchema: { type: 'object' }, ...more }
}

const hints = (annotations) => ({ annotations })

function tools() {
  if (mode === 'hostile') {
    return [
      tool('fs.read'),
      tool('same.name'),
      tool('same name'),
      tool('remote', { inputSchema: { type: 'object', $ref: 'https://example.invalid/schema' } }),
      { name: 'shapeless' },
      tool('slow', { inputSchema: { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } } }),
    ]
  }
  if (mode === 'shapeless')
    return [{ name: 'shapeless' }, tool('change', hints({ readOnlyHint: true, openWorldHint: false }))]
  if (mode === 'dot first') return [tool('q.x'), tool('q/x')]
  if (mode === 'slash first') return [tool('q/x'), tool('q.x')]
  if (mode === 'many') return Array.from({ length: 1000 }, (_, index) => tool(`t${index}`))
  if (mode === 'world') {
    return [
      tool('fetch', hints({ readOnlyHint: true, openWorldHint: true })),
      tool('ask', hints({ readOnlyHint: true })),
      tool('shred', hints({ readOnlyHint: true, openWorldHint: false, destructiveHint: true })),
      tool('maybe', hints({ readOnlyHint: true, openWorldHint: 'false' })),
      tool('look', hints({ readOnlyHint: true, openWorldHint: false })),
      ...(isChanged ? [tool('added')] : []),
      tool('act', isChanged ? { description: 'acts otherwise' } : {}),
      tool('change', hints({ readOnlyHint: true, openWorldHint: false })),
      ...['a', 'b', 'c'].map((last) => tool(`${'long_'.repeat(30)}${last}`)),
    ]
  }
  const readOnly = { annotations: { readOnlyHint: true, openWorldHint: false } }
  const names = [
    'echo',
    'env',
    'roots',
    'sampling',
    'report',
    'hang',
    'image',
    'fail',
    'refuse',
    'crash',
    'change',
    'huge',
    'pings',
    ...Object.keys(lines),
    ...Object.keys(oddAnswers),
  ]
  return [
    ...names.map((name) => tool(name, name === 'change' ? {} : readOnly)),
    ...(isChanged ? [tool('added', readOnly)] : []),
  ]
}

function ask(method, params) {
  const id = nextId++
  send({ id, method, params })
  return new Promise((resolve) => waiting.set(id, resolve))
}

const text = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
})

async function call({ name, arguments: args, _meta }) {
  switch (name) {
    case 'echo':
      return { ...text(args), structuredContent: args }
    case 'env':
      return text({ env: process.env, cwd: process.cwd(), argv: process.argv.slice(3), pid: process.pid })
    case 'roots':
      return text((await ask('roots/list', {})).result)
    case 'sampling':
      return text((await ask('sampling/createMessage', { messages: [], maxTokens: 1 })).error)
    case 'report':
      for (let progress = 1; progress <= 1000; progress += 1) {
        send({
          method: 'notifications/progress',
          params: { progressToken: _meta.progressToken, progress, message: `step ${progress}` },
        })
      }
      return text('reported')
    case 'image':
      return {
        content: [
          { type: 'text', text: 'a picture' },
          { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        ],
      }
    case 'fail':
      return { ...text('there is no such thing'), isError: true }
    case 'crash':
      return process.exit(3)
    case 'huge':
      return text('x'.repeat(11 * 1024 * 1024))
    case 'batch':
    case 'lists':
    case 'deep':
    case 'wide':
    case 'ordinary':
      process.stdout.write(`${lines[name]}\n`)
      return text('written')
    case 'pings':
      process.stdin.pause()
      setTimeout(() => process.exit(), 60_000)
      for (let count = 0; count < 100_000; count += 1) send({ id: `p${count}`, method: 'ping' })
      return new Promise(() => {})
    case 'q.x':
    case 'q/x':
      return text(name)
    case 'change':
      isChanged = true
      for (let count = 0; count < 100; count += 1) send({ method: 'notifications/tools/list_changed' })
      return text('changed')
    default:
      return text('slow')
  }
}

if (mode === 'noise')
  for (let line = 0; line < 5000; line += 1) process.stderr.write(`line ${line} ${'x'.repeat(2000)}\n`)
if (mode === 'secret') {
  process.stderr.write(`the key is ${process.env.SECRET}\n`)
  // The length limit of log lines cuts this line in the middle of the key.
  process.stderr.write(`${'x'.repeat(980)} ${process.env.SECRET}\n`)
}
if (mode === 'exit') process.exit(7)
if (mode === 'exit with words') {
  process.stderr.write(`Starting\nThe key ${process.env.SECRET} is wrong`)
  process.exit(8)
}
if (mode === 'future') process.stderr.write('This is version 9\n')
// Ignores SIGTERM and the end of stdin, and starts a child that outlives it. Both end by themselves later, in case the test run
// is killed.
if (mode === 'stubborn') {
  process.on('SIGTERM', () => {})
  setTimeout(() => process.exit(), 60_000)
  const child = spawn(
    process.execPath,
    ['-e', 'process.on("SIGTERM", () => {}); setTimeout(() => process.exit(), 60_000)'],
    {
      stdio: 'ignore',
    },
  )
  process.stderr.write(`child ${child.pid}\n`)
}
if (mode === 'garbage') process.stdout.write('this is no JSON\n{"jsonrpc": "2.0"}\n[1, 2\n\n')

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, ...answer } = JSON.parse(line)
  if (method === undefined) {
    waiting.get(id)?.(answer)
    continue
  }
  if (method === 'notifications/cancelled') process.stderr.write(`cancelled ${params.reason ?? ''}\n`)
  if (id === undefined) continue
  if (mode === 'silent') continue
  if (method === 'initialize') {
    const capabilities = { tools: { listChanged: true }, resources: {}, prompts: {} }
    send({
      id,
      result: {
        protocolVersion: mode === 'future' ? '2099-01-01' : params.protocolVersion,
        capabilities,
        serverInfo: { name: mode, version: '1' },
      },
    })
  } else if (method === 'tools/list') send({ id, result: { tools: tools() } })
  else if (method === 'resources/list')
    send({ id, result: { resources: [{ uri: 'note://1', name: 'one', description: 'A note' }] } })
  else if (method === 'prompts/list') send({ id, result: { prompts: [{ name: 'greet', description: 'Says hello' }] } })
  else if (method === 'tools/call' && params.name === 'refuse')
    send({ id, error: { code: -32602, message: 'not like this' } })
  else if (method === 'tools/call' && params.name in oddAnswers)
    process.stdout.write(`${JSON.stringify(oddAnswers[params.name](id))}\n`)
  else if (method === 'tools/call' && params.name === 'hang') process.stderr.write('hanging\n')
  else if (method === 'tools/call') void call(params).then((result) => send({ id, result }))
  else send({ id, error: { code: -32601, message: 'no such method' } })
}
