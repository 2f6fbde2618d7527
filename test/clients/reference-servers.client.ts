import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpath } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { connectMcp } from '../mcp/server/support.ts'
import { connect } from '../rpc/support.ts'
import { makeFolder } from '../tools/session.ts'

// The reference servers of MCP as `mcp-servers`.

async function serverProgram(name: string): Promise<string> {
  return await realpath(join(import.meta.dirname, 'mcp-servers/node_modules/.bin', name))
}

async function openDaemon(servers: Readonly<Record<string, object>>) {
  const root = await makeFolder({ 'heron.txt': 'The note is about a heron.\n' })
  const file = JSON.stringify({
    workspaces: [root],
    // Their tools do not say that they reach nothing outside, and nobody is asked here.
    'mcp-servers': Object.fromEntries(Object.entries(servers).map(([name, each]) => [name, { ...each, trust: true }])),
    agent: { 'require-approval': false },
  })
  const proxy = await openProxy({ file, proxies: { PATH: process.env['PATH'] ?? '' } })
  const { sessions } = (await proxy.send('/sessions')).json() as { sessions: { id: string }[] }
  const rpc = await connect(`${proxy.daemon.url.replace('http', 'ws')}/rpc`)
  const call = (name: string, args: object = {}) => rpc.ask('mcp.tools.call', { name, args })
  // The servers start, and the list waits for them.
  await rpc.ask('mcp.tools.list')
  return {
    ...proxy,
    root,
    call,
    servers: async () => (await proxy.send(`/sessions/${sessions[0]?.id}/servers`)).json(),
  }
}

async function everything() {
  return { command: [execPath, await serverProgram('mcp-server-everything')] }
}

test('server-everything: text, structured content, pictures, progress, roots, resources and prompts', async () => {
  const { call, servers, root, daemon } = await openDaemon({ every: await everything() })
  expect(await servers()).toMatchObject({
    servers: [
      {
        state: 'running',
        tools: expect.arrayContaining(['every_echo', 'every_get-sum']),
        resources: expect.arrayContaining([expect.objectContaining({ uri: expect.any(String) })]),
        prompts: expect.arrayContaining([expect.objectContaining({ name: 'simple-prompt' })]),
      },
    ],
  })
  expect(await call('every_echo', { message: 'hello' })).toMatchObject({ result: { text: 'Echo: hello' } })
  expect(await call('every_get-sum', { a: 2, b: 3 })).toMatchObject({
    result: { text: 'The sum of 2 and 3 is 5.' },
  })
  expect(await call('every_get-sum', { a: 'two' })).toMatchObject({ error: { data: { kind: 'invalid_arguments' } } })
  expect(await call('every_get-structured-content', { location: 'New York' })).toMatchObject({
    result: { structuredContent: { temperature: expect.any(Number) } },
  })
  expect(await call('every_get-tiny-image')).toMatchObject({
    result: { parts: [{ type: 'image', mediaType: 'image/png' }] },
  })
  expect(await call('every_get-roots-list')).toMatchObject({ result: { text: expect.stringContaining(root) } })
  expect(await call('every_get-env')).toMatchObject({ result: { text: expect.not.stringContaining('COPILOT_PROXY') } })
  const reports: unknown[] = []
  const { client } = await connectMcp(`${daemon.url}/mcp`)
  await client.callTool(
    { name: 'every_trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } },
    { onprogress: (report) => reports.push(report) },
  )
  // The SDK drops a report that arrives together with the result.
  expect(reports[0]).toEqual({ progress: 1, message: '1 of 2' })
})

test('server-filesystem: the agent reads a file of the workspace and is kept inside it', async () => {
  const program = await serverProgram('mcp-server-filesystem')
  const { call, root, send } = await openDaemon({ files: { command: [execPath, program, '${workspace}'] } })
  expect(await call('files_read_text_file', { path: join(root, 'heron.txt') })).toMatchObject({
    result: { text: expect.stringContaining('about a heron') },
  })
  expect(await call('files_read_text_file', { path: '/etc/passwd' })).toMatchObject({
    error: { message: expect.stringContaining('Access denied') },
  })
  const text = `agent: [demo:tool files_read_text_file ${JSON.stringify({ path: join(root, 'heron.txt') })}]`
  const { id } = (await send('/message', { body: JSON.stringify({ text }) })).json() as { id: string }
  await vi.waitFor(
    async () =>
      expect((await send(`/runs/${id}`)).json()).toMatchObject({
        outcome: 'completed',
        steps: expect.arrayContaining([
          expect.objectContaining({
            calls: [expect.objectContaining({ tool: 'files_read_text_file', outcome: 'ok' })],
          }),
        ]),
      }),
    20_000,
  )
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

test('server-everything over HTTP restarts between two calls, and the second call begins a new session', async () => {
  const port = await freePort()
  const program = await serverProgram('mcp-server-everything')
  async function start() {
    const child = spawn(execPath, [program, 'streamableHttp'], { env: { PORT: String(port) } })
    onTestFinished(() => void child.kill('SIGKILL'))
    const { promise: listening, resolve } = Promise.withResolvers<void>()
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => {
        if (String(data).includes('listening on port')) resolve()
      })
    }
    await listening
    return child
  }
  const first = await start()
  const { call } = await openDaemon({ every: { url: `http://127.0.0.1:${port}/mcp` } })
  expect(await call('every_echo', { message: 'one' })).toMatchObject({ result: { text: 'Echo: one' } })
  first.kill('SIGKILL')
  await once(first, 'exit')
  await start()
  expect(await call('every_echo', { message: 'two' })).toMatchObject({ result: { text: 'Echo: two' } })
})
