import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import { openRpcApp } from '../../rpc/support.ts'
import { begin, connectMcp, initialize, listen, openMcpApp, post, protocols, toMcp } from './support.ts'

const call = (name: string, id: unknown = 1) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
const keyed = (...keys: readonly string[]) => `server: { api-keys: [${keys.join(', ')}] }`
const key = (text: string) => ({ authorization: `Bearer ${text}` })
const first = 'key-of-the-first-caller'
const second = 'key-of-the-second-caller'

test('without a workspace the route answers as GET /sessions does', async () => {
  const { url } = await openRpcApp({ workspaces: () => undefined })
  const [mcp, sessions] = await Promise.all([
    post(toMcp(url), initialize),
    fetch(toMcp(url).replace('/mcp', '/sessions')),
  ])
  expect(mcp.status).toBe(404)
  expect(await mcp.json()).toEqual(await sessions.json())
})

const batchOf = (length: number): readonly object[] =>
  Array.from({ length }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }))

describe('the workspace', () => {
  test.each(protocols)('is named on the URL by name or id (%s)', async (protocol) => {
    const { url } = await openMcpApp(['foo', 'bar'])
    for (const name of ['bar', 'id-of-bar']) {
      const { client } = await connectMcp(`${url}?session=${name}`, { protocol })
      expect((await client.callTool({ name: 'echo' })).structuredContent).toMatchObject({ session: 'bar' })
    }
  })

  test.each(['', '?session=baz'])('must be a known one of several: "%s"', async (query) => {
    const { url } = await openMcpApp(['foo', 'bar'])
    const response = await post(url + query, initialize)
    expect(response.status).toBe(400)
    expect(await response.text()).toMatch(/foo, bar.*\/mcp\?session=foo/)
  })

  test('an error does not list workspaces if none could be opened', async () => {
    const { url, remove } = await openMcpApp(['foo'])
    remove('foo')
    const response = await post(url, initialize)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('no workspace is open')
  })

  test('a client of a closed workspace has to begin again, and its stream ends', async () => {
    const { url, remove } = await openMcpApp(['foo', 'bar'])
    const [foo, bar] = [await begin(`${url}?session=foo`), await begin(`${url}?session=bar`)]
    const stream = await listen(url, foo)
    remove('foo')
    expect(await stream.text()).toBe('')
    expect((await post(url, call('echo'), { 'mcp-session-id': foo })).status).toBe(404)
    expect((await post(url, call('echo'), { 'mcp-session-id': bar })).status).toBe(200)
  })

  test('is opened by a change of the configuration', async () => {
    const proxy = await openProxy()
    const url = `${proxy.daemon.url}/mcp`
    expect((await post(url, initialize)).status).toBe(404)
    proxy.daemon.reconfigure(proxy.configure(`workspaces: ['${import.meta.dirname}']`))
    await vi.waitFor(async () => expect((await post(url, initialize)).status).toBe(200), {
      timeout: 15_000,
    })
    const { client } = await connectMcp(url)
    const { structuredContent } = await client.callTool({ name: 'fs_read', arguments: { path: 'support.ts' } })
    expect(structuredContent).toMatchObject({ content: expect.stringContaining('connectMcp') })
    proxy.daemon.reconfigure(proxy.configure(''))
    await vi.waitFor(async () => expect((await post(url, initialize)).status).toBe(404))
  })
})

describe('A and B: who may send requests', () => {
  const methods = ['GET', 'POST', 'DELETE'] as const

  test.each(methods)('A05: %s with a foreign Origin is refused before anything is read', async (method) => {
    const { url, calls } = await openMcpApp()
    const body = method === 'POST' ? { body: JSON.stringify(call('echo')) } : {}
    const response = await fetch(url, {
      method,
      headers: { origin: 'https://evil.example', 'content-type': 'application/json' },
      ...body,
    })
    expect(response.status).toBe(403)
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    expect(calls).toEqual([])
  })

  test.each(methods)('A03: %s with another Host is refused', async (method) => {
    const { url } = await openMcpApp()
    const { port } = new URL(url)
    const socket = connectSocket(Number(port), '127.0.0.1')
    socket.end(`${method} /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    await once(socket, 'close')
    expect(text).toMatch(/^HTTP\/1\.1 403 /)
  })

  test('A08: a page of a listed origin may send what MCP needs', async () => {
    const origin = 'https://inspector.example'
    const { url } = await openMcpApp(['foo'], `server: { allowed-origins: ['${origin}'] }`)
    const asked = 'mcp-session-id, mcp-protocol-version, last-event-id, content-type'
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': asked },
    })
    expect(preflight.headers.get('access-control-allow-headers')).toBe(asked)
    const response = await post(url, initialize, { origin })
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('access-control-expose-headers')).toContain('mcp-session-id')
  })

  test.each(methods)('B01: %s needs a key if keys are configured', async (method) => {
    const { url } = await openMcpApp(['foo'], keyed(first))
    for (const headers of [{}, key('wrong')]) {
      const response = await fetch(url, { method, headers })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } })
    }
  })

  test('B: the MCP session of one key is not found with another', async () => {
    const { url } = await openMcpApp(['foo'], keyed(first, second))
    const session = { 'mcp-session-id': await begin(url, key(first)) }
    for (const headers of [session, { 'mcp-session-id': 'made-up' }]) {
      const response = await post(url, call('echo'), { ...headers, ...key(second) })
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({
        jsonrpc: '2.0',
        error: { code: -32001, message: 'Session not found.' },
        id: null,
      })
    }
    expect((await post(url, call('echo'), { ...session, ...key(first) })).status).toBe(200)
  })

  test('B04: a removed key ends its streams and calls, and no others', async () => {
    const { url, configure, calls, waiting } = await openMcpApp(['foo'], keyed(first, second))
    const mine = { 'mcp-session-id': await begin(url, key(first)), ...key(first) }
    const theirs = { 'mcp-session-id': await begin(url, key(second)), ...key(second) }
    const streams = [
      await listen(url, mine['mcp-session-id'], mine),
      await listen(url, theirs['mcp-session-id'], theirs),
    ]
    void post(url, call('wait'), mine).catch(() => {})
    const other = post(url, call('wait'), theirs)
    await vi.waitFor(() => expect(waiting()).toBe(2))
    configure(keyed(second))
    expect(await streams[0]?.text()).toBe('')
    await vi.waitFor(() => expect(waiting()).toBe(1))
    expect(calls.map(({ signal, caller }) => [caller, signal.aborted])).toContainEqual(['mcp:plain-2', false])
    expect((await post(url, call('echo'), mine)).status).toBe(401)
    expect((await other).status).toBe(200)
    expect((await post(url, call('echo'), theirs)).status).toBe(200)
  })

  test('a call counts as a request for the rate limit', async () => {
    const { url } = await openMcpApp(['foo'], 'server: { max-requests-per-minute: 2, rate-limit: refuse }')
    const { client } = await connectMcp(url)
    await client.callTool({ name: 'echo' })
    await client.callTool({ name: 'echo' })
    const refused = await client.callTool({ name: 'echo' })
    expect(refused).toMatchObject({ isError: true, structuredContent: { error: { kind: 'rate_limited' } } })
  })
})

describe('bad requests', () => {
  test.each([
    ['bad JSON', '{"jsonrpc":', 400, -32700],
    ['an empty body', '', 400, -32700],
    ['deep nesting', '['.repeat(100_000), 400, -32700],
    ['no JSON-RPC', { hello: 1 }, 400, -32600],
    ['a call before initialize', call('echo'), 400, -32000],
    ['another JSON-RPC', { ...call('echo'), jsonrpc: '1.0' }, 400, -32600],
  ])('%s', async (_name, body, status, code) => {
    const { url, calls } = await openMcpApp()
    const response = await post(url, body)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code } })
    expect(calls).toEqual([])
    expect(await begin(url)).toBeTruthy()
  })

  test('A09: text/plain is refused', async () => {
    const { url } = await openMcpApp()
    expect((await post(url, initialize, { 'content-type': 'text/plain' })).status).toBe(415)
  })

  test('a body over server.body-limit-mb is refused', async () => {
    const { url } = await openMcpApp(['foo'], 'server: { body-limit-mb: 1 }')
    const response = await post(url, { ...initialize, padding: 'x'.repeat(2 * 1024 * 1024) })
    expect(response.status).toBe(413)
  })

  test('a batch of more than 100 messages is refused, and a smaller one is answered', async () => {
    const { url } = await openMcpApp()
    const session = { 'mcp-session-id': await begin(url) }
    const refused = await post(url, batchOf(101), session)
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain('the batch has more than 100 messages')
    const answered = await post(url, batchOf(3), session)
    expect(answered.status).toBe(200)
    expect((await answered.text()).match(/"result"/g)).toHaveLength(3)
  })

  test('refuses a client that accepts no event stream', async () => {
    const { url } = await openMcpApp()
    const response = await post(url, initialize, { accept: 'application/json' })
    expect(response.status).toBe(406)
  })

  test('answers an unknown protocol version with one that the server supports', async () => {
    const { url } = await openMcpApp()
    const params = { ...initialize.params, protocolVersion: '1999-01-01' }
    const text = await (await post(url, { ...initialize, params })).text()
    expect(text).toContain('"protocolVersion":"2025-11-25"')
  })

  test('refuses HEAD and PUT', async () => {
    const { url } = await openMcpApp()
    for (const method of ['HEAD', 'PUT']) expect((await fetch(url, { method })).status).toBe(405)
  })

  test('each answer has a request id and forbids content sniffing', async () => {
    const { url } = await openMcpApp()
    for (const response of [await post(url, initialize), await post(url, '{')]) {
      expect(response.headers.get('x-request-id')).toBe('request-1')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })
})

describe('many clients', () => {
  test('serves two hundred clients at once', async () => {
    const { url } = await openMcpApp()
    const ids = await Promise.all(Array.from({ length: 200 }, () => begin(url)))
    expect(new Set(ids).size).toBe(200)
    const answers = await Promise.all(ids.map((id) => post(url, call('echo'), { 'mcp-session-id': id })))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
  })

  test('beyond 256 the session that was idle for the longest time ends, and never one with a stream', async () => {
    const { url } = await openMcpApp()
    const held = await begin(url)
    const stream = await listen(url, held)
    const oldest = await begin(url)
    const more: string[] = []
    for (let count = 0; count < 255; count += 1) more.push(await begin(url))
    expect((await post(url, call('echo'), { 'mcp-session-id': oldest })).status).toBe(404)
    for (const id of [held, ...more.slice(-3)]) {
      expect((await post(url, call('echo'), { 'mcp-session-id': id })).status).toBe(200)
    }
    await stream.body?.cancel()
  })

  test('a client ends its session with DELETE', async () => {
    const { url } = await openMcpApp()
    const { client, transport } = await connectMcp(url)
    const { sessionId = '' } = transport
    await transport.terminateSession()
    expect((await post(url, call('echo'), { 'mcp-session-id': sessionId })).status).toBe(404)
    await client.close()
  })

  test('a session may have one notification stream', async () => {
    const { url } = await openMcpApp()
    const id = await begin(url)
    const stream = await listen(url, id)
    expect((await listen(url, id)).status).toBe(409)
    await stream.body?.cancel()
    await vi.waitFor(async () => {
      const again = await listen(url, id)
      expect(again.status).toBe(200)
      await again.body?.cancel()
    })
  })
})

describe('the end', () => {
  test.each(protocols)('a client that disconnects cancels its call (%s)', async (protocol) => {
    const { url, calls, waiting } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    void client.callTool({ name: 'wait' }).catch(() => {})
    await vi.waitFor(() => expect(waiting()).toBe(1))
    await client.close()
    await vi.waitFor(() => expect(waiting()).toBe(0))
    expect(calls[0]?.signal.aborted).toBe(true)
  })

  test.each(protocols)('a shutdown ends streams at once and lets a call finish (%s)', async (protocol) => {
    const { app, url, waiting, release } = await openMcpApp()
    const { client } = await connectMcp(url, { protocol })
    if (protocol === '2026-07-28') await client.listen({ toolsListChanged: true })
    const result = client.callTool({ name: 'wait' })
    await vi.waitFor(() => expect(waiting()).toBe(1))
    const closed = app.close(30_000)
    release()
    expect((await result).structuredContent).toEqual({ waited: true })
    await closed
  })

  test('a shutdown cancels a call that outlasts the grace period', async () => {
    const { app, url, waiting, calls } = await openMcpApp()
    const { client } = await connectMcp(url)
    const result = client.callTool({ name: 'wait' })
    await vi.waitFor(() => expect(waiting()).toBe(1))
    await Promise.all([app.close(10), expect(result).resolves.toMatchObject({ isError: true })])
    expect(calls[0]?.signal.aborted).toBe(true)
  })
})
