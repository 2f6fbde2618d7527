import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { connect as connectRpc } from '../rpc/support.ts'
import { makeFolder } from '../tools/session.ts'
import { openApp } from './open-app.ts'
import { isThorough } from '../thorough.ts'

const large = Buffer.alloc(16 * 1024 * 1024, 'x')
const unreadMs = 400
/** The daemon closes a connection after this time without progress. */
const limitMs = 6 * unreadMs

async function open(): Promise<{ readonly ask: (...paths: readonly string[]) => Socket }> {
  const url = await openApp({
    deadlines: { unreadMs },
    routes(fastify) {
      fastify.get('/large', () => large)
      fastify.get('/late', async () => {
        await pause(2 * limitMs)
        return 'late'
      })
    },
  })
  return {
    ask(...paths) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      return socket
    },
  }
}

test.runIf(isThorough)('an answer that nobody reads ends after a time', async () => {
  const { ask } = await open()
  const socket = ask('/large')
  await once(socket, 'readable')
  // A client learns of the end only when it reads again.
  await pause(3 * limitMs)
  let bytes = 0
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length))
  await once(socket, 'close')
  expect(bytes).toBeLessThan(large.length)
})

test('a client that reads slowly gets the whole answer', async () => {
  const { ask } = await open()
  const socket = ask('/large')
  let bytes = 0
  const startedMs = performance.now()
  for await (const chunk of socket) {
    bytes += (chunk as Buffer).length
    if (bytes > large.length) break
    if (performance.now() - startedMs < 2 * limitMs) await pause(unreadMs / 4)
  }
  expect(bytes).toBeGreaterThan(large.length)
})

test.runIf(isThorough)(
  'the next request of a client that does not wait for answers has all the time it needs',
  async () => {
    const { ask } = await open()
    const socket = ask('/large', '/late')
    let text = ''
    socket.setEncoding('latin1').on('data', (part: string) => (text = (text + part).slice(-1000)))
    await expect.poll(() => text).toMatch(/late$/)
  },
)

const longName = 'n'.repeat(4 * 1024 * 1024)
const turn = { messages: [{ role: 'user', content: 'x' }] }

test('no error repeats a long name that a caller has sent', async () => {
  const { daemon, send } = await openProxy({ file: JSON.stringify({ workspaces: [await makeFolder()] }) })
  const bodies: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', { model: longName, ...turn }],
    ['/v1/chat/completions', { model: 'gpt-5-mini', messages: [{ role: longName, content: 'x' }] }],
    ['/v1/messages', { model: longName, max_tokens: 1, ...turn }],
    ['/v1/messages/count_tokens', { model: longName, ...turn }],
    ['/v1/responses', { model: longName, input: 'x' }],
    ['/v1/embeddings', { model: longName, input: 'x' }],
    ['/message', { text: 'x', [longName]: 1 }],
    ['/message', { text: 'x', model: longName }],
  ]
  for (const [path, body] of bodies) {
    const { status, text } = await send(path, { body: JSON.stringify(body) })
    expect([path, status, text.length]).toEqual([path, expect.toBeOneOf([400, 404]), expect.any(Number)])
    expect(text.length, path).toBeLessThan(20_000)
  }
  const rpc = await connectRpc(`${daemon.url.replace('http', 'ws')}/rpc`)
  const calls: readonly (readonly [string, object])[] = [
    [longName, {}],
    ['mcp.tools.call', { name: longName }],
    ['mcp.fs.read', { path: 'a', session: longName }],
    ['mcp.fs.read', { path: longName }],
    ['mcp.fs.read', { path: 'a', [longName]: 1 }],
    ['mcp.edit.undo', { id: longName }],
  ]
  for (const [method, params] of calls) {
    const answer = JSON.stringify(await rpc.ask(method, params))
    expect(answer).toContain('"error"')
    expect(answer.length, method.slice(0, 20)).toBeLessThan(20_000)
  }
  rpc.sendText(JSON.stringify({ jsonrpc: '2.0', id: longName, method: 'mcp.session.list' }))
  expect(await rpc.next()).toMatchObject({ id: null, error: { code: -32600 } })
})
