import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import { connect } from '../../rpc/support.ts'
import { makeFolder } from '../../tools/session.ts'
import { connectMcp, openMcpApp } from '../server/support.ts'

const script = fileURLToPath(new URL('server.mjs', import.meta.url))
const secret = 'secret-of-the-server-0123456789'

async function openDaemon(servers: object) {
  const workspaces = [await makeFolder({ 'a.txt': 'one\n' })]
  const fileOf = (given: object): string => JSON.stringify({ workspaces, 'mcp-servers': given })
  const proxy = await openProxy({ file: fileOf(servers), proxies: { PATH: process.env['PATH'] ?? '' } })
  const { sessions } = (await proxy.send('/sessions')).json() as { sessions: { id: string }[] }
  const path = `/sessions/${sessions[0]?.id ?? ''}/servers`
  return {
    ...proxy,
    fileOf,
    servers: async () => (await proxy.send(path)).json() as { servers: readonly object[] },
    rpc: () => connect(`${proxy.daemon.url.replace('http', 'ws')}/rpc`),
  }
}

const program = { command: [execPath, script, 'secret'], env: { SECRET: secret } }

test('/rpc and an MCP client call tools of a server, and the first call starts it', async () => {
  const { rpc, servers, daemon } = await openDaemon({ it: program })
  expect(await servers()).toMatchObject({ servers: [{ name: 'it', state: 'stopped' }] })
  const client = await rpc()
  expect(await client.ask('mcp.tools.call', { name: 'it_echo', args: { a: 1 } })).toMatchObject({
    result: { text: '{"a":1}', structuredContent: { a: 1 } },
  })
  expect(await servers()).toMatchObject({ servers: [{ state: 'running', prompts: [{ name: 'greet' }] }] })
  const { client: mcp } = await connectMcp(`${daemon.url}/mcp`)
  expect((await mcp.listTools()).tools.map(({ name }) => name)).toContain('it_echo')
  expect(await mcp.callTool({ name: 'it_echo', arguments: { b: 2 } })).toMatchObject({
    content: [{ type: 'text', text: '{"b":2}' }],
    structuredContent: { b: 2 },
  })
})

test('secrets that a server writes to stderr are not in the log', async () => {
  const { rpc, log } = await openDaemon({ it: program })
  await (await rpc()).ask('mcp.tools.list')
  await vi.waitFor(() => expect(JSON.stringify(log)).toContain('the key is [redacted]'))
  await vi.waitFor(() => expect(JSON.stringify(log)).toContain(`${'x'.repeat(980)} [redacted]`))
  expect(JSON.stringify(log)).not.toContain(secret.slice(0, 16))
})

test('the agent uses a tool of a server after an approval that shows the arguments', async () => {
  const { send: plainSend, daemon, configure, fileOf } = await openDaemon({ it: program })
  // The key that made a run decides its approvals.
  const keyed = { ...(JSON.parse(fileOf({ it: program })) as object), server: { 'api-keys': ['key-of-this-test'] } }
  daemon.reconfigure(configure(JSON.stringify(keyed)))
  const send = (path: string, ask: { readonly body?: string } = {}) =>
    plainSend(path, { ...ask, headers: { authorization: 'Bearer key-of-this-test' } })
  const text = 'agent: [demo:tool it_change {"a":1}]'
  const { id } = (await send('/message', { body: JSON.stringify({ text }) })).json() as { id: string }
  interface Run {
    readonly outcome?: string
    readonly approvals: readonly { readonly approvalId: string; readonly tool: string; readonly args: unknown }[]
  }
  const run = async () => (await send(`/runs/${id}`)).json() as Run
  const approval = await vi.waitFor(async () => {
    const [first] = (await run()).approvals
    if (first === undefined) throw new Error('no approval yet')
    return first
  }, 20_000)
  expect(approval).toMatchObject({ tool: 'it_change', args: { a: 1 } })
  await send(`/approvals/${approval.approvalId}`, { body: JSON.stringify({ decision: 'once' }) })
  await vi.waitFor(async () => expect((await run()).outcome).toBe('completed'), 20_000)
  expect(await run()).toMatchObject({
    steps: expect.arrayContaining([
      expect.objectContaining({ calls: [expect.objectContaining({ tool: 'it_change', outcome: 'ok' })] }),
    ]),
  })
})

test('the first MCP client waits for the tools of a server', async () => {
  const { daemon } = await openDaemon({ it: program })
  const { client } = await connectMcp(`${daemon.url}/mcp`)
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('it_echo')
})

test('a running daemon uses a server that is added to its configuration', async () => {
  const { rpc, servers, daemon, configure, fileOf } = await openDaemon({ it: program })
  const client = await rpc()
  await client.ask('mcp.tools.list')
  daemon.reconfigure(configure(fileOf({ more: program })))
  await vi.waitFor(
    async () => expect(await servers()).toMatchObject({ servers: [{ name: 'more', state: 'running' }] }),
    5000,
  )
  expect(await client.ask('more_echo')).toMatchObject({ result: { text: '{}' } })
})

test('a server over HTTP gets the headers, and fails with a reason when it is unreachable', async () => {
  const remote = await openMcpApp(['remote'], 'server: { api-keys: [key-of-the-remote-server] }')
  const headers = { authorization: 'Bearer key-of-the-remote-server' }
  const { rpc, servers } = await openDaemon({ far: { url: remote.url, headers, trust: true } })
  const client = await rpc()
  expect(await client.ask('mcp.tools.call', { name: 'far_echo', args: { a: 1 } })).toMatchObject({
    result: { structuredContent: { session: 'remote', args: { a: 1 } } },
  })
  expect(await servers()).toMatchObject({ servers: [{ name: 'far', state: 'running' }] })
  await remote.app.close(0)
  expect(await client.ask('far_echo')).toMatchObject({
    error: { message: expect.stringContaining('The MCP server "far" failed during the call: ') },
  })
  expect(await servers()).toMatchObject({ servers: [{ state: 'failed' }] })
})

test('an endless answer of a server over HTTP is stopped', async () => {
  const flood = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const write = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    }
    response.on('drain', write)
    write()
  }).listen(0, '127.0.0.1')
  await once(flood, 'listening')
  onTestFinished(() => {
    flood.closeAllConnections()
    flood.close()
  })
  const { port } = flood.address() as AddressInfo
  const { rpc, servers } = await openDaemon({ flood: { url: `http://127.0.0.1:${port}/mcp` } })
  await (await rpc()).ask('mcp.tools.list')
  expect(await servers()).toMatchObject({
    servers: [{ state: 'failed', error: expect.stringContaining('longer than 10 MB') }],
  })
})

test('a tool of the workspace tells nobody whether a text is the secret of a server', async () => {
  const { rpc } = await openDaemon({ it: program })
  const client = await rpc()
  const { error } = (await client.ask('mcp.fs.read', { path: secret })) as { error: { message: string } }
  expect(error.message).toContain(secret)
  // The server itself knows its secret, so nobody guesses it there.
  const echoed = JSON.stringify(await client.ask('mcp.tools.call', { name: 'it_echo', args: { secret } }))
  expect(echoed).toContain('[redacted]')
  expect(echoed).not.toContain(secret)
})
