import { createServer } from 'node:net'
import { expect, it, vi } from 'vitest'
import { failureOf } from '../workspace/tree.ts'
import { charge, fullAllowance } from '../../src/gateway/allowance.ts'
import { readTools } from '../../src/gateway/tool-definitions.ts'
import { authenticate, bind, connectRaw, openTestGateway, readMessage, setTimer, toolOf } from './support.ts'
import { listenForTest } from '../listen-for-test.ts'

const megabyte = 1024 * 1024

/** Returns a message of exactly this size. */
function sized(message: object, field: string, sizeBytes: number): string {
  const empty = JSON.stringify({ ...message, [field]: '' })
  return JSON.stringify({ ...message, [field]: 'x'.repeat(sizeBytes - empty.length) })
}

it('H01 a connection without auth is closed after 5 seconds', async () => {
  const delays: number[] = []
  const of = await openTestGateway({
    deps: {
      setTimer: (run, delayMs) => {
        delays.push(delayMs)
        return setTimer(run, delayMs === 5000 ? 50 : delayMs)
      },
    },
  })
  const silent = await connectRaw(of.url)
  expect(await silent.next()).toMatchObject({ type: 'error', code: 'AUTH_FAILED' })
  expect(await silent.closed).toBe(1008)
  expect(delays).toContain(5000)
})

it('H02 a message of 2 MB is accepted, one byte more gets PAYLOAD_TOO_LARGE, and the connection stays', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  const push = { type: 'push', level: 'keep' }
  provider.sendText(sized(push, 'event', 2 * megabyte))
  await vi.waitFor(() => expect(of.pushes).toHaveLength(1))
  provider.sendText(sized(push, 'event', 2 * megabyte + 1))
  expect(await provider.next()).toMatchObject({ type: 'error', code: 'PAYLOAD_TOO_LARGE', replyTo: 'push' })
  provider.send({ ...push, event: 'small' })
  await vi.waitFor(() => expect(of.pushes).toHaveLength(2))
})

it('H02 a result of 5 MB is accepted, one byte more fails its call at once', async () => {
  const of = await openTestGateway({ settings: { workspace: { 'max-file-mb': 8 } } })
  const provider = await bind(of)
  const first = of.call('greet', { name: 'x' })
  const { id } = await provider.next()
  provider.sendText(sized({ type: 'tool.result', id }, 'data', 5 * megabyte))
  expect(String((await first)['data']).length).toBeGreaterThan(5 * megabyte - 200)
  const second = failureOf(of.call('greet', { name: 'x' }))
  const asked = await provider.next()
  provider.sendText(sized({ type: 'tool.result', id: asked['id'] }, 'data', 5 * megabyte + 1))
  expect((await second).kind).toBe('too_large')
  expect(await provider.next()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  expect(of.toolNames()).toEqual(['greet'])
})

it('H02 sizes count bytes of UTF-8, not characters', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  provider.send({ type: 'push', level: 'keep', event: 'ä'.repeat(megabyte) })
  expect(await provider.next()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
})

it('a result is cut to the limit for callers and marked as truncated', async () => {
  const of = await openTestGateway({ settings: { workspace: { 'max-file-mb': 1 } } })
  const provider = await bind(of)
  const result = of.call('greet', { name: 'x' })
  const { id } = await provider.next()
  provider.send({ type: 'tool.result', id, data: 'x'.repeat(4 * megabyte) })
  const { data, truncated } = await result
  expect(truncated).toBe(true)
  expect(String(data)).toHaveLength(2 * megabyte - 12)
})

it('H02 a message above 16 MB gets an error before its connection closes with 1009', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  const lost = failureOf(of.call('greet', { name: 'x' }))
  await provider.next()
  provider.sendText('x'.repeat(16 * megabyte + 1))
  expect(await provider.next()).toMatchObject({ type: 'error', code: 'PAYLOAD_TOO_LARGE' })
  expect((await lost).kind).toBe('too_large')
  expect(await provider.closed).toBe(1009)
})

it('arguments above 2 MB are not sent', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  expect((await failureOf(of.call('greet', { name: 'x'.repeat(2 * megabyte) }))).kind).toBe('too_large')
  expect(provider.waiting()).toEqual([])
})

it('H03 101 tools are all refused, and the earlier tools stay', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  const tools = Array.from({ length: 101 }, (_, index) => toolOf(`t${index}`))
  provider.send({ type: 'tools.update', tools })
  expect(await provider.next()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', replyTo: 'tools.update' })
  expect(of.toolNames()).toEqual(['greet'])
  provider.send({ type: 'tools.update', tools: tools.slice(1) })
  await vi.waitFor(() => expect(of.toolNames()).toHaveLength(100))
})

it('H05 malicious schemas are refused or limited when they are used, and nothing is fetched', async () => {
  let connections = 0
  const trap = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  const port = await listenForTest(trap)
  let deep: object = { type: 'string' }
  for (let level = 0; level < 400; level += 1) deep = { type: 'object', properties: { a: deep } }
  const wide = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`p${index}`, { type: 'string' }]))
  const refused: readonly object[] = [
    { type: 'object', properties: { a: { $ref: `http://127.0.0.1:${port}/schema.json` } } },
    { $ref: `http://127.0.0.1:${port}/schema.json` },
    { type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } },
    { type: 'object', properties: { a: { $dynamicRef: 'other.json#x' } } },
    { type: 'array' },
    { type: 'object', properties: { a: { type: 'nonsense' } } },
    { type: 'object', required: 'a' },
    { type: 'object', description: 'x'.repeat(70_000) },
    { type: 'object', properties: wide },
    deep,
  ]
  for (const parameters of refused) {
    expect(readTools([{ name: 't', description: '', parameters }], () => undefined)).toMatchObject({
      ok: false,
      code: 'INVALID_JSON',
    })
  }
  const of = await openTestGateway()
  const provider = await authenticate(of)
  const hello = { type: 'hello', name: 'x', protocolVersion: 2, session: of.session.id }
  // A message with 10,000 levels is malformed.
  const levels = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`
  provider.sendText(`{"type":"hello","tools":[{"name":"t","description":"","parameters":${levels}}]}`)
  expect(await provider.next()).toMatchObject({ code: 'INVALID_JSON' })
  const catastrophic = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
  provider.send({ ...hello, tools: [{ name: 'slow', description: '', parameters: catastrophic }] })
  expect(await provider.next()).toMatchObject({ type: 'hello.ack' })
  const failure = await failureOf(of.call('slow', { a: `${'a'.repeat(40)}b` }))
  expect(failure).toMatchObject({ kind: 'invalid_arguments', detail: 'Checking the arguments took too long.' })
  expect(connections).toBe(0)
})

it('H05 100 tools whose schemas are at their limits are refused together', () => {
  const properties = Object.fromEntries(Array.from({ length: 240 }, (_, index) => [`p${index}`, { type: 'string' }]))
  const tools = Array.from({ length: 100 }, (_, index) => toolOf(`t${index}`, { parameters: { properties } }))
  expect(readTools(tools, () => undefined)).toMatchObject({
    ok: false,
    detail: expect.stringContaining('all schemas together have more than 5000 objects'),
  })
  expect(readTools(tools.slice(0, 10), () => undefined)).toMatchObject({ ok: true })
})

it('a schema may name an older version of JSON Schema', () => {
  const parameters = { $schema: 'http://json-schema.org/draft-07/schema#', properties: { a: { type: 'string' } } }
  expect(readTools([{ name: 't', description: '', parameters }], () => undefined)).toMatchObject({
    ok: true,
    tools: [{ parameters: { type: 'object', properties: { a: { type: 'string' } } } }],
  })
})

it.each([
  {},
  { name: 't' },
  { name: 't', description: 'x' },
  { name: 7, description: 'x', parameters: {} },
  { name: 't', description: 7, parameters: {} },
  { name: 't', description: 'x', parameters: [] },
  { name: 't', description: 'x', parameters: true },
  { name: 't', description: 'x', parameters: {}, timeout: 0 },
  { name: 't', description: 'x', parameters: {}, timeout: '5' },
  'greet',
  null,
])('the tool %j is refused', (tool) => {
  expect(readTools([tool], () => undefined)).toMatchObject({ ok: false, code: 'INVALID_JSON' })
})

it('H07 a result for the call of another provider is ignored, and its sender gets an error', async () => {
  const of = await openTestGateway()
  const honest = await bind(of, { name: 'honest', tools: [toolOf('honest')] })
  const liar = await bind(of, { name: 'liar', tools: [toolOf('liar')] })
  const result = of.call('honest')
  const { id } = await honest.next()
  liar.send({ type: 'tool.result', id, data: 'a lie' })
  expect(await liar.next()).toMatchObject({ type: 'error', code: 'INVALID_JSON', replyTo: 'tool.result' })
  honest.send({ type: 'tool.result', id, data: 'the truth' })
  expect(await result).toEqual({ data: 'the truth' })
})

it('H08 a call fails at once when its provider disconnects, and is not sent again', async () => {
  const of = await openTestGateway()
  const first = await bind(of)
  const lost = failureOf(of.call('greet', { name: 'x' }))
  await first.next()
  first.socket.terminate()
  const failure = await lost
  expect(failure).toEqual({
    kind: 'failed',
    detail: 'my-provider: The tool program "my-provider" disconnected before it answered.',
    errorCode: 'DISCONNECTED',
  })
  const second = await bind(of)
  const result = of.call('greet', { name: 'only this' })
  const asked = await second.next()
  expect(asked['args']).toEqual({ name: 'only this' })
  second.send({ type: 'tool.result', id: asked['id'], data: 1 })
  await result
  expect(second.waiting()).toEqual([])
})

it('H09 a provider that never answers fails the call at the time limit of the tool, or of the workspace', async () => {
  const of = await openTestGateway({ settings: { workspace: { 'tool-timeout-seconds': 0.2 } } })
  await bind(of, { tools: [toolOf('own', { timeout: 30 }), toolOf('default'), toolOf('endless', { timeout: 1e12 })] })
  expect(await failureOf(of.call('own'))).toEqual({ kind: 'timed_out', afterMs: 30 })
  expect(await failureOf(of.call('default'))).toEqual({ kind: 'timed_out', afterMs: 200 })
  expect(of.workspaces.tools.list(of.session).find(({ name }) => name === 'endless')?.timeoutMs).toBe(3_600_000)
})

it('H11 a provider that floods is limited, then closed, while another one answers', async () => {
  const of = await openTestGateway()
  const honest = await bind(of, { name: 'honest', tools: [toolOf('honest')] })
  const flood = await bind(of, { name: 'flood', tools: [toolOf('flood')] })
  const text = JSON.stringify({ type: 'tool.progress', id: 'x', text: 'y' })
  for (let count = 0; count < 10_000; count += 1) flood.sendText(text)
  const result = of.call('honest')
  const { id } = await honest.next()
  honest.send({ type: 'tool.result', id, data: 1 })
  expect(await result).toEqual({ data: 1 })
  expect(await flood.closed).toBe(1008)
  const codes = new Set(flood.waiting().map((message) => message['code']))
  expect(codes).toEqual(new Set(['UNKNOWN_TYPE', 'RATE_LIMITED']))
  expect(of.toolNames()).toEqual(['honest'])
})

it('RATE_LIMITED ends after a second, and expected results are never limited', () => {
  let allowance = fullAllowance(0)
  const send = (atMs: number, sizeBytes = 10) => {
    const charged = charge(allowance, sizeBytes, atMs)
    ;({ allowance } = charged)
    return charged.verdict
  }
  for (let count = 0; count < 400; count += 1) expect(send(0)).toBe('ok')
  expect(send(0)).toBe('limited')
  expect(send(1000)).toBe('ok')
  // A large message costs more of the allowance.
  expect(send(1000, 2 * megabyte)).toBe('limited')
  expect(send(5000, 2 * megabyte)).toBe('ok')
  for (let count = 0; count < 2000; count += 1) send(5001)
  expect(send(5001)).toBe('flood')
})

it('1000 results in a row are not limited', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  provider.socket.on('message', (data) => {
    const { type, id } = readMessage(data)
    if (type === 'tool.call') provider.send({ type: 'tool.result', id, data: id })
  })
  const results = await Promise.all(Array.from({ length: 1000 }, () => of.call('greet', { name: 'x' })))
  expect(new Set(results.map(({ data }) => data)).size).toBe(1000)
})

it('a call above 1000 in progress is refused', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  const calls = Array.from({ length: 1000 }, () => failureOf(of.call('greet', { name: 'x' })))
  await vi.waitFor(() => expect(provider.waiting()).toHaveLength(1000), { timeout: 20_000 })
  expect(await failureOf(of.call('greet', { name: 'x' }))).toMatchObject({
    kind: 'failed',
    detail: expect.stringContaining('1000 calls'),
  })
  provider.socket.terminate()
  expect(new Set((await Promise.all(calls)).map(({ kind }) => kind))).toEqual(new Set(['failed']))
})

it('H14 a provider that stops reading is disconnected when its queue is too large', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  provider.socket.pause()
  const failures: Promise<unknown>[] = []
  for (let count = 0; count < 12; count += 1) {
    failures.push(failureOf(of.call('greet', { name: 'x'.repeat(1.9 * megabyte) })))
  }
  await Promise.all(failures)
  expect(of.toolNames()).toEqual([])
  await vi.waitFor(() => expect(of.providers.bound()).toEqual([]))
})

it('a provider that answers no ping is disconnected', async () => {
  const of = await openTestGateway({ pingMs: 50 })
  const provider = await bind(of)
  provider.socket.pause()
  await vi.waitFor(() => expect(of.toolNames()).toEqual([]))
})

it('a provider that reconnects in a loop leaks nothing', async () => {
  const of = await openTestGateway()
  for (let count = 0; count < 50; count += 1) {
    const provider = await bind(of)
    if (count % 2 === 0) provider.socket.terminate()
  }
  await vi.waitFor(() => expect(of.providers.bound().length).toBeLessThanOrEqual(1))
})
