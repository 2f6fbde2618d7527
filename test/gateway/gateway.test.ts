import { existsSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { failureOf } from '../workspace/tree.ts'
import { authenticate, bind, connectRaw, openTestGateway, setTimer, toolOf } from './support.ts'

describe('a provider', () => {
  it('gets the sessions after the correct token', async () => {
    const of = await openTestGateway({ names: ['foo', 'bar'] })
    const provider = await connectRaw(of.url)
    provider.send({ type: 'auth', token: of.token() })
    expect(await provider.next()).toEqual({
      type: 'sessions',
      active: of.workspaces.sessions().map(({ id, name, folder }) => ({ id, label: name, cwd: folder.root })),
    })
  })

  it('with a wrong token is closed', async () => {
    const of = await openTestGateway()
    const provider = await connectRaw(of.url)
    provider.send({ type: 'auth', token: `${of.token()}x` })
    expect(await provider.next()).toMatchObject({ type: 'error', code: 'AUTH_FAILED', replyTo: 'auth' })
    expect(await provider.closed).toBe(1008)
  })

  it('offers its tools, and answers calls by name and through mcp.tools.call', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    expect(of.toolNames()).toEqual(['greet'])
    for (const call of [
      () => of.call('greet', { name: 'Alice' }),
      () => of.call('mcp.tools.call', { name: 'greet', args: { name: 'Alice' } }),
    ]) {
      const result = call()
      const asked = await provider.next()
      expect(asked).toEqual({
        type: 'tool.call',
        id: asked['id'],
        sessionId: of.session.id,
        tool: 'greet',
        args: { name: 'Alice' },
      })
      provider.send({ type: 'tool.result', id: asked['id'], data: 'Hello, Alice!' })
      expect(await result).toEqual({ data: 'Hello, Alice!' })
    }
  })

  it('never sees arguments that its schema refuses', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    expect(await failureOf(of.call('greet', { name: 7 }))).toMatchObject({ kind: 'invalid_arguments', path: 'name' })
    expect(await failureOf(of.call('greet', {}))).toMatchObject({ kind: 'invalid_arguments', path: 'name' })
    expect(provider.waiting()).toEqual([])
  })

  it('reports the reason of a failed call with its error code', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    const failed = failureOf(of.call('greet', { name: 'x' }))
    const { id } = await provider.next()
    provider.send({ type: 'tool.result', id, error: 'No such page', errorCode: 'NOT_FOUND' })
    expect(await failed).toEqual({ kind: 'failed', detail: 'my-provider: No such page', errorCode: 'NOT_FOUND' })
  })

  it('gets no call of another session', async () => {
    const of = await openTestGateway({ names: ['foo', 'bar'] })
    const [, other] = of.workspaces.sessions()
    await bind(of, { session: other?.id ?? '' })
    expect(of.toolNames()).toEqual([])
  })

  it('delivers results in the order in which it sends them', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    const order: number[] = []
    const calls = Array.from({ length: 50 }, (_, index) =>
      of.call('greet', { name: String(index) }).then(() => order.push(index)),
    )
    for (let count = 0; count < 50; count += 1) {
      const { id } = await provider.next()
      provider.send({ type: 'tool.result', id, data: count })
    }
    await Promise.all(calls)
    expect(order).toEqual(Array.from({ length: 50 }, (_, index) => index))
  })

  it('gets lifecycle messages for runs of its session', async () => {
    const of = await openTestGateway({ names: ['foo', 'bar'] })
    const provider = await authenticate(of)
    provider.send({ type: 'hello', name: 'x', protocolVersion: 2, session: of.session.id })
    const sessionId = of.session.id
    expect(await provider.next()).toMatchObject({ type: 'hello.ack', protocolVersion: 2, sessionId })
    expect(await provider.next()).toEqual({ type: 'session.lifecycle', sessionId, state: 'started' })
    of.lifecycle('started', of.workspaces.sessions()[1]?.id)
    of.lifecycle('started')
    expect(await provider.next()).toEqual({ type: 'session.lifecycle', sessionId, state: 'started' })
    of.lifecycle('idle')
    expect(await provider.next()).toEqual({ type: 'session.lifecycle', sessionId, state: 'idle' })
    expect(provider.waiting()).toEqual([])
  })

  it('can use the WebSocket of Node.js', async () => {
    const of = await openTestGateway()
    const socket = new globalThis.WebSocket(of.url)
    const first = Promise.withResolvers<unknown>()
    socket.addEventListener('message', ({ data }) => first.resolve(JSON.parse(String(data))))
    socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', token: of.token() })))
    expect(await first.promise).toMatchObject({ type: 'sessions' })
    socket.close()
  })

  it('reaches the gateway at 127.0.0.1, ::1 and localhost', async () => {
    const of = await openTestGateway()
    const { port } = new URL(of.url)
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      const provider = await connectRaw(`ws://${host}:${port}`)
      provider.send({ type: 'auth', token: of.token() })
      expect(await provider.next()).toMatchObject({ type: 'sessions' })
    }
  })
})

describe('push', () => {
  it('reaches the session, in the stream of its name by default', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    provider.send({ type: 'push', level: 'keep', event: 'one' })
    provider.send({ type: 'push', level: 'surface', event: 'two', stream: 'detour', metadata: { a: [1] } })
    provider.send({ type: 'push', level: 'inject', event: 'three', sessionId: of.session.id })
    await vi.waitFor(() => expect(of.pushes).toHaveLength(3))
    const common = { sessionId: of.session.id, provider: 'my-provider' }
    expect(of.pushes).toEqual([
      { ...common, level: 'keep', text: 'one', stream: 'my-provider' },
      { ...common, level: 'surface', text: 'two', stream: 'detour', metadata: { a: [1] } },
      { ...common, level: 'inject', text: 'three', stream: 'my-provider' },
    ])
  })

  it('that cannot be stored is logged, and the connection stays', async () => {
    const of = await openTestGateway({
      deps: {
        push: () => {
          throw new Error('the disk is full')
        },
      },
    })
    const provider = await bind(of)
    provider.send({ type: 'push', level: 'keep', event: 'one' })
    await vi.waitFor(() => expect(of.log.lines).toContainEqual(expect.objectContaining({ level: 'error' })))
    expect(of.toolNames()).toEqual(['greet'])
  })
})

describe('approval', () => {
  it('shows the arguments and needs no entry in the policy, also in a read-only workspace', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    const asked: unknown[] = []
    const result = of.call(
      'greet',
      { name: 'Alice' },
      {
        approve: async (intent, tool) => {
          asked.push([tool.name, tool.provider, intent])
          return true
        },
      },
    )
    const { id } = await provider.next()
    provider.send({ type: 'tool.result', id, data: 1 })
    expect(await result).toEqual({ data: 1 })
    expect(asked).toEqual([['greet', 'my-provider', { args: { name: 'Alice' } }]])
  })

  it('that is refused prevents the call', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    const failure = await failureOf(of.call('greet', { name: 'Alice' }, { approve: async () => false }))
    expect(failure.kind).toBe('approval_refused')
    expect(provider.waiting()).toEqual([])
  })

  it.each([
    ['reads and does not say what it reaches', { readOnlyHint: true }],
    ['reads and reaches the outside', { readOnlyHint: true, openWorldHint: true }],
    ['reads and destroys', { readOnlyHint: true, openWorldHint: false, destructiveHint: true }],
    ['has a hint that is no boolean', { readOnlyHint: true, openWorldHint: 'false' }],
  ])('is needed for a tool that %s, unless the provider is trusted', async (_kind, annotations) => {
    const of = await openTestGateway()
    const provider = await bind(of, { tools: [toolOf('look', { annotations })] })
    expect((await failureOf(of.call('look', {}, { approve: async () => false }))).kind).toBe('approval_refused')
    expect(provider.waiting()).toEqual([])
    const gateway = { enabled: true, port: 0, 'trusted-programs': ['my-provider'] }
    const trusting = await openTestGateway({ settings: { gateway } })
    const trusted = await bind(trusting, { tools: [toolOf('look', { annotations })] })
    const result = trusting.call('look', {}, { approve: async () => false })
    const { id } = await trusted.next()
    trusted.send({ type: 'tool.result', id, data: 1 })
    expect(await result).toEqual({ data: 1 })
  })

  it('is not needed for a tool that only reads inside its own world', async () => {
    const of = await openTestGateway()
    const provider = await bind(of, {
      tools: [toolOf('look', { annotations: { readOnlyHint: true, openWorldHint: false } })],
    })
    const result = of.call('look', {}, { approve: () => Promise.reject(new Error('nobody is to be asked')) })
    const { id } = await provider.next()
    provider.send({ type: 'tool.result', id, data: 1 })
    expect(await result).toEqual({ data: 1 })
  })
})

describe('tools of a session', () => {
  it('change in one announcement for many providers', async () => {
    const of = await openTestGateway()
    const announced: string[] = []
    of.workspaces.tools.onListChanged((id) => announced.push(id))
    const providers = await Promise.all(
      Array.from({ length: 5 }, (_, index) => bind(of, { name: `p${index}`, tools: [toolOf(`tool${index}`)] })),
    )
    expect(of.toolNames()).toHaveLength(5)
    await vi.waitFor(() => expect(announced).toEqual([of.session.id]))
    providers[0]?.send({ type: 'tools.update', tools: [toolOf('changed')] })
    await vi.waitFor(() => expect(announced).toHaveLength(2))
    expect(of.toolNames()).toContain('changed')
    expect(of.toolNames()).not.toContain('tool0')
    for (const provider of providers) provider.send({ type: 'goodbye' })
    await vi.waitFor(() => expect(of.toolNames()).toEqual([]))
    await vi.waitFor(() => expect(announced).toHaveLength(3))
  })

  it('stay when an update is refused, and calls of removed tools continue', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    const result = of.call('greet', { name: 'x' })
    const { id } = await provider.next()
    provider.send({ type: 'tools.update', tools: [{ name: 'broken' }] })
    expect(await provider.next()).toMatchObject({ code: 'INVALID_JSON', replyTo: 'tools.update' })
    expect(of.toolNames()).toEqual(['greet'])
    provider.send({ type: 'tools.update', tools: [] })
    await vi.waitFor(() => expect(of.toolNames()).toEqual([]))
    provider.send({ type: 'tool.result', id, data: 'done' })
    expect(await result).toEqual({ data: 'done' })
    expect((await failureOf(of.call('greet', { name: 'x' }))).kind).toBe('failed')
  })

  it('are removed after goodbye and after a lost connection, and return with a new one', async () => {
    const of = await openTestGateway()
    const first = await bind(of)
    first.send({ type: 'goodbye', reason: 'shutting down' })
    expect(await first.closed).toBe(1000)
    await vi.waitFor(() => expect(of.toolNames()).toEqual([]))
    const second = await bind(of)
    second.socket.terminate()
    await vi.waitFor(() => expect(of.toolNames()).toEqual([]))
    await bind(of)
    expect(of.toolNames()).toEqual(['greet'])
  })
})

describe('names', () => {
  it('H04 that shadow a tool of copilot-proxy or of another provider are refused', async () => {
    const of = await openTestGateway()
    await bind(of, { name: 'other', tools: [toolOf('open_page')] })
    const provider = await authenticate(of)
    const hello = (name: string) => ({
      type: 'hello',
      name: 'mine',
      protocolVersion: 2,
      session: of.session.id,
      tools: [toolOf('fine'), toolOf(name)],
    })
    const ofAgent = ['createFile', 'editFile', 'readFiles', 'listFiles']
    const ofOthers = ['mcp.fs.read', 'fs_read', 'fs.read', 'mcp.anything', 'open_page', 'open.page', 'fine']
    for (const name of [...ofAgent, ...ofOthers]) {
      provider.send(hello(name))
      expect(await provider.next()).toMatchObject({ code: 'TOOL_CONFLICT', replyTo: 'hello' })
    }
    for (const name of ['__proto__', 'constructor', 'a\nb', '\u001b[31m', 'x'.repeat(10_240), '', 'a b', 'ä']) {
      provider.send(hello(name))
      expect(await provider.next()).toMatchObject({ code: 'INVALID_JSON', replyTo: 'hello' })
    }
    expect(of.toolNames()).toEqual(['open_page'])
    provider.send(hello('another'))
    expect(await provider.next()).toMatchObject({ type: 'hello.ack' })
  })

  it('H13 of a provider that connects twice: the new connection wins, calls of the old one fail', async () => {
    const of = await openTestGateway()
    const first = await bind(of)
    const lost = failureOf(of.call('greet', { name: 'x' }))
    await first.next()
    const second = await bind(of)
    expect(await first.closed).toBe(4001)
    expect(await lost).toMatchObject({ kind: 'failed', errorCode: 'DISCONNECTED' })
    const result = of.call('greet', { name: 'x' })
    const { id } = await second.next()
    second.send({ type: 'tool.result', id, data: 'second' })
    expect(await result).toEqual({ data: 'second' })
    expect(of.toolNames()).toEqual(['greet'])
  })

  it('of one provider in two sessions do not conflict', async () => {
    const of = await openTestGateway({ names: ['foo', 'bar'] })
    const [, other] = of.workspaces.sessions()
    const first = await bind(of)
    await bind(of, { session: other?.id ?? '' })
    expect(of.toolNames()).toEqual(['greet'])
    expect(first.socket.readyState).toBe(WebSocket.OPEN)
  })

  it('H13 a refused hello does not replace the connection of the same name', async () => {
    const of = await openTestGateway()
    await bind(of)
    const second = await authenticate(of)
    second.send({ type: 'hello', name: 'my-provider', protocolVersion: 2, session: of.session.id, tools: [{}] })
    expect(await second.next()).toMatchObject({ code: 'INVALID_JSON' })
    expect(of.toolNames()).toEqual(['greet'])
  })
})

describe('the end', () => {
  it('of the gateway gives providers time to send goodbye', async () => {
    const of = await openTestGateway()
    const polite = await bind(of, { name: 'polite', tools: [] })
    const closing = of.gateway.close(60_000)
    const received = await polite.next()
    expect(received).toEqual({
      type: 'session.lifecycle',
      sessionId: of.session.id,
      state: 'shutdown.pending',
      deadline: 60_000,
    })
    polite.send({ type: 'goodbye', reason: 'session ending' })
    expect(await polite.closed).toBe(1000)
    await closing
    await expect(connectRaw(of.url)).rejects.toThrow('ECONNREFUSED')
  })

  it('of the gateway closes the connection of a provider that stays', async () => {
    const of = await openTestGateway()
    const stubborn = await bind(of)
    const lost = failureOf(of.call('greet', { name: 'x' }))
    await stubborn.next()
    const closing = of.gateway.close(100)
    expect(await stubborn.next()).toMatchObject({ state: 'shutdown.pending', deadline: 100 })
    expect(await stubborn.closed).toBe(1001)
    expect(await lost).toMatchObject({ errorCode: 'DISCONNECTED' })
    await closing
  })

  it('of a session is announced to its providers', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    await of.removeWorkspaces()
    expect(await provider.next()).toMatchObject({ type: 'session.lifecycle', state: 'shutdown.pending' })
    provider.send({ type: 'goodbye' })
    expect(await provider.closed).toBe(1000)
    expect(of.providers.bound()).toEqual([])
  })

  it('of a call by its caller is sent to the provider with the reason', async () => {
    const of = await openTestGateway()
    const provider = await bind(of, { tools: [toolOf('slow', { timeout: 50 }), toolOf('long')] })
    const timedOut = failureOf(of.call('slow'))
    const first = await provider.next()
    expect(await timedOut).toEqual({ kind: 'timed_out', afterMs: 50 })
    const { id } = first
    expect(await provider.next()).toEqual({ type: 'tool.cancel', id, sessionId: of.session.id, reason: 'timeout' })
    const controller = new AbortController()
    const cancelled = failureOf(of.call('long', {}, { signal: controller.signal }))
    const second = await provider.next()
    controller.abort()
    expect(await cancelled).toEqual({ kind: 'cancelled' })
    expect(await provider.next()).toMatchObject({ type: 'tool.cancel', id: second['id'], reason: 'cancelled' })
  })
})

describe('a web page', () => {
  it.each([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { host: 'evil.example:9400' },
    { host: '127.0.0.1.evil.example' },
    { 'sec-fetch-site': 'cross-site' },
  ])('with %j is refused before the handshake', async (headers) => {
    const of = await openTestGateway()
    const socket = new WebSocket(of.url, { headers })
    const status = await new Promise((resolve, reject) => {
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode))
      socket.on('open', () => reject(new Error('accepted')))
      socket.on('error', () => {})
    })
    expect(status).toBe(403)
    const plain = await fetch(of.url.replace('ws:', 'http:'), { headers: { 'sec-fetch-site': 'cross-site' } })
    expect(plain.status).toBe(403)
  })
})

it('a plain request gets an error that names WebSocket, and no token', async () => {
  const of = await openTestGateway()
  for (const path of ['/', '/providers', '/token', '/token/rotate', '/.provider-token']) {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(of.url.replace('ws:', 'http:') + path, {
        method,
        headers: { authorization: `Bearer ${of.token()}` },
      })
      expect([401, 426]).toContain(response.status)
      expect(await response.text()).not.toContain(of.token())
    }
  }
})

it('H12 the result of a tool is data, and is not logged', async () => {
  const of = await openTestGateway()
  const provider = await bind(of)
  const hostile = 'data: {"x":1}\n\nevent: done\n\n\u001b[31mred\u001b[0m {"jsonrpc":"2.0","id":1,"result":{}}'
  const result = of.call('greet', { name: 'x' })
  const { id } = await provider.next()
  provider.send({ type: 'tool.result', id, data: hostile })
  expect(await result).toEqual({ data: hostile })
  const failed = failureOf(of.call('greet', { name: 'x' }))
  const second = await provider.next()
  provider.send({ type: 'tool.result', id: second['id'], error: hostile })
  await failed
  const text = JSON.stringify(of.log.lines)
  expect(text).not.toContain('red')
  expect(text).not.toContain('\u001b')
})

it('the token is not logged', async () => {
  const of = await openTestGateway()
  const provider = await connectRaw(of.url)
  provider.send({ type: 'auth', token: 'ptk-wrong-one' })
  await provider.closed
  await bind(of)
  const text = JSON.stringify(of.log.lines)
  expect(text).not.toContain(of.token())
  expect(text).not.toContain('ptk-')
  expect(of.secrets).toContain(of.token())
})

it('a port in use is logged once with the program that uses it, and the gateway opens when the port is free', async () => {
  const first = await openTestGateway()
  const { port } = new URL(first.url)
  const retries: { readonly run: () => void; readonly delayMs: number }[] = []
  const second = await openTestGateway({
    settings: { gateway: { enabled: true, port: Number(port) } },
    deps: {
      setTimer(run, delayMs) {
        if (delayMs < 2000 || delayMs === 5000) return setTimer(run, delayMs)
        retries.push({ run, delayMs })
        return () => {}
      },
    },
  })
  expect(second.gateway.url()).toBeUndefined()
  const errors = () => second.log.lines.filter(({ level }) => level === 'error')
  const logged = {
    level: 'error',
    message: `Tool programs cannot connect. Port ${port} is in use by another program. The gateway opens when the port is free, or set gateway.port to another one.`,
    fields: {},
  }
  expect(errors()).toEqual([logged])
  retries[0]?.run()
  await vi.waitFor(() => expect(retries.map(({ delayMs }) => delayMs)).toEqual([2000, 4000]))
  await first.gateway.close(0)
  expect(existsSync(second.discoveryFile)).toBe(false)
  retries[1]?.run()
  await vi.waitFor(() => expect(existsSync(second.discoveryFile)).toBe(true))
  expect(second.gateway.url()).toBe(`ws://127.0.0.1:${port}`)
  expect(errors()).toEqual([logged])
  await bind({ ...second, url: second.gateway.url() ?? '' })
})

it('a gateway that waits for its port closes at once', async () => {
  const first = await openTestGateway()
  const { port } = new URL(first.url)
  const second = await openTestGateway({ settings: { gateway: { enabled: true, port: Number(port) } } })
  await second.gateway.close(0)
  expect(second.gateway.url()).toBeUndefined()
})

it('A11 connections with wrong tokens are closed, later ones after a growing delay, and a correct token is never delayed', async () => {
  const delays: number[] = []
  const of = await openTestGateway({
    deps: {
      now: () => 0,
      setTimer(run, delayMs) {
        if (delayMs < 5000) delays.push(delayMs)
        return setTimer(run, delayMs)
      },
    },
  })
  for (let count = 0; count < 12; count += 1) {
    const provider = await connectRaw(of.url)
    provider.send({ type: 'auth', token: `ptk-wrong-${count}` })
    // The connection ignores further messages meanwhile, also a second guess.
    provider.send({ type: 'auth', token: of.token() })
    expect(await provider.next()).toMatchObject({ type: 'error', code: 'AUTH_FAILED' })
    expect(await provider.closed).toBe(1008)
    expect(provider.waiting()).toEqual([])
  }
  expect(delays).toEqual([100, 200])
  const provider = await connectRaw(of.url)
  provider.send({ type: 'auth', token: of.token() })
  expect(await provider.next()).toMatchObject({ type: 'sessions' })
})
