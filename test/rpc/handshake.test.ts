import { once } from 'node:events'
import { expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { connect, fakeWorkspaces, openRpcApp, refusedHandshake } from './support.ts'

const key = 'a-key-for-tests'
const withKey = `server: { api-keys: [${key}] }`

test('a client without a key connects and calls a tool', async () => {
  const { workspaces, calls } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces })
  const client = await connect(url)
  expect(await client.ask('echo', { path: 'a.ts' })).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: { session: 'foo', args: { path: 'a.ts' } },
  })
  expect(calls[0]?.caller).toBe('rpc:local')
  expect(client.socket.extensions).toBe('')
})

test('without a workspace the path does not exist, for any method', async () => {
  const { url, app } = await openRpcApp({ workspaces: () => undefined })
  expect(await refusedHandshake(url)).toMatchObject({ status: 404 })
  const { port } = app.address()
  for (const method of ['GET', 'POST', 'HEAD']) {
    expect((await fetch(`http://127.0.0.1:${port}/rpc`, { method })).status).toBe(404)
  }
})

test('rpc.enabled switches the path off', async () => {
  const { workspaces } = fakeWorkspaces()
  const { url, configure } = await openRpcApp({ workspaces: () => workspaces })
  await connect(url)
  configure('rpc: { enabled: false }')
  expect(await refusedHandshake(url)).toMatchObject({ status: 404 })
})

test('other paths refuse a WebSocket as before', async () => {
  const { workspaces } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces })
  expect(await refusedHandshake(url.replace('/rpc', '/v1/models'))).toMatchObject({ status: 200 })
  expect(await refusedHandshake(`${url}/x`)).toMatchObject({ status: 404 })
})

test('a plain request to the path gets an error that names WebSocket', async () => {
  const { workspaces } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces })
  const reply = await fetch(url.replace('ws:', 'http:'))
  expect(reply.status).toBe(400)
  expect(await reply.text()).toContain('connect to /rpc with a WebSocket client')
})

test.each([
  ['a foreign Host', { host: 'evil.example' }],
  ['a foreign Origin', { origin: 'https://evil.example' }],
  ['a null Origin', { origin: 'null' }],
  ['another site', { 'sec-fetch-site': 'cross-site' }],
])('%s is refused with 403, and no call is made', async (_name, headers) => {
  const { workspaces, calls } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces })
  expect(await refusedHandshake(url, { headers })).toMatchObject({ status: 403 })
  expect(calls).toEqual([])
})

test('an allowed Origin connects', async () => {
  const { workspaces } = fakeWorkspaces()
  const file = 'server: { allowed-origins: ["http://localhost:5173"] }'
  const { url } = await openRpcApp({ workspaces: () => workspaces, file })
  await connect(url, { headers: { origin: 'http://localhost:5173' } })
})

test.each([
  ['in the Authorization header', { headers: { authorization: `Bearer ${key}` } }, ''],
  ['as a subprotocol', { protocols: ['copilot-proxy', `copilot-proxy.bearer.${key}`] }, 'copilot-proxy'],
])(
  'takes a key %s, selects no subprotocol that holds it, and names it in the audit',
  async (_name, options, selected) => {
    const { workspaces, calls } = fakeWorkspaces()
    const { url, log } = await openRpcApp({ workspaces: () => workspaces, file: withKey })
    const client = await connect(url, options)
    expect(client.socket.protocol).toBe(selected)
    await client.ask('echo')
    expect(calls[0]?.caller).toBe('rpc:plain-1')
    expect(JSON.stringify(log)).not.toContain(key)
  },
)

test('takes a key with characters that a subprotocol cannot hold percent-encoded', async () => {
  const { workspaces } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces, file: 'server: { api-keys: ["a/b+c=="] }' })
  await connect(url, { protocols: ['copilot-proxy', `copilot-proxy.bearer.${encodeURIComponent('a/b+c==')}`] })
})

test.each([
  ['no key', {}],
  ['a wrong key in the header', { headers: { authorization: 'Bearer wrong' } }],
  ['a wrong key as a subprotocol', { protocols: ['copilot-proxy', 'copilot-proxy.bearer.wrong'] }],
])('refuses %s with 401', async (_name, options) => {
  const { workspaces } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces, file: withKey })
  const refusal = await refusedHandshake(url, options)
  expect(refusal.status).toBe(401)
  expect(refusal.body).not.toContain('wrong.')
})

test('a key as the only subprotocol is refused, because no answer could select it', async () => {
  const { workspaces } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces, file: withKey })
  const refusal = await refusedHandshake(url, { protocols: [`copilot-proxy.bearer.${key}`] })
  expect(refusal.status).toBe(400)
  expect(refusal.body).toContain('offer the subprotocol')
  expect(refusal.body).not.toContain(key)
})

test('wrong keys as subprotocols are delayed and counted like any others', async () => {
  const { workspaces } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces, file: withKey })
  const protocols = ['copilot-proxy', 'copilot-proxy.bearer.wrong']
  const statuses = await Promise.all(Array.from({ length: 30 }, () => refusedHandshake(url, { protocols })))
  expect(statuses.map(({ status }) => status)).toContain(429)
})

test('a key that is removed closes its connections and cancels their calls', async () => {
  const { workspaces, calls, waiting } = fakeWorkspaces()
  const { url, configure } = await openRpcApp({
    workspaces: () => workspaces,
    file: 'server: { api-keys: [stays, goes] }',
  })
  const stays = await connect(url, { headers: { authorization: 'Bearer stays' } })
  const goes = await connect(url, { headers: { authorization: 'Bearer goes' } })
  goes.sendText('{"jsonrpc":"2.0","id":1,"method":"wait"}')
  await vi.waitFor(() => expect(waiting()).toBe(1))
  configure('server: { api-keys: [stays] }')
  expect(await goes.closed).toBe(1008)
  expect(calls[0]?.signal.aborted).toBe(true)
  expect(await stays.ask('echo')).toMatchObject({ result: {} })
})

test('the first key closes the connections that have none', async () => {
  const { workspaces } = fakeWorkspaces()
  const { url, configure } = await openRpcApp({ workspaces: () => workspaces })
  const client = await connect(url)
  configure(withKey)
  expect(await client.closed).toBe(1008)
})

test('connections count in the limit of open connections', async () => {
  const { workspaces } = fakeWorkspaces()
  const { url } = await openRpcApp({ workspaces: () => workspaces, maxConnections: 1 })
  await connect(url)
  const second = new WebSocket(url)
  const [error] = await once(second, 'error')
  expect(error).toMatchObject({ message: expect.stringMatching(/hang up|ECONNRESET/) })
})

test('F11 a shutdown lets a running call finish, refuses new ones and closes with 1001', async () => {
  const { workspaces, waiting, release } = fakeWorkspaces()
  const { url, app } = await openRpcApp({ workspaces: () => workspaces })
  const [busy, idle] = [await connect(url), await connect(url)]
  busy.sendText('{"jsonrpc":"2.0","id":"w","method":"wait"}')
  await vi.waitFor(() => expect(waiting()).toBe(1))
  const closing = app.close(60_000)
  expect(await idle.closed).toBe(1001)
  expect(await busy.ask('echo')).toMatchObject({ error: { code: -32000, data: { kind: 'shutting_down' } } })
  release()
  expect(await busy.next()).toMatchObject({ id: 'w', result: { waited: true } })
  expect(await busy.closed).toBe(1001)
  await closing
})

test('F11 a shutdown cancels the calls that outlast the grace period', async () => {
  const { workspaces, waiting } = fakeWorkspaces()
  const { url, app } = await openRpcApp({ workspaces: () => workspaces })
  const client = await connect(url)
  client.sendText('{"jsonrpc":"2.0","id":"w","method":"wait"}')
  await vi.waitFor(() => expect(waiting()).toBe(1))
  await app.close(0)
  expect(await client.next()).toMatchObject({ id: 'w', error: { code: -32800 } })
  expect(await client.closed).toBe(1001)
})
