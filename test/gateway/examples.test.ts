import { isThorough } from '../thorough.ts'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { connectMcp } from '../mcp/server/support.ts'
import { connect } from '../rpc/support.ts'
import { makeFolder } from '../tools/session.ts'

// Runs the examples of the protocol document unchanged except for the port. The page in test/fixtures is an exact copy of the
// document; requirements.test.ts compares each of its sentences.

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = join(root, 'test/fixtures/gateway/provider-interface-core-profile.md')

/** Returns the complete example in a language: the last code block that connects. */
async function exampleIn(language: string, port: number): Promise<string> {
  const text = await readFile(page, 'utf8')
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code)
  const code = blocks.find((each) => each.includes('ws://localhost:9400'))
  if (code === undefined) throw new Error(`the document has no example in ${language}`)
  return code.replaceAll('ws://localhost:9400', `ws://localhost:${port}`)
}

/** Forwards connections to the gateway. The test can close them. */
async function openWire(port: number) {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connectTcp(port, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.pipe(other)
      socket.on('error', () => {})
      socket.on('close', () => other.destroy())
    }
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const address = server.address()
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  return { port: typeof address === 'object' ? (address?.port ?? 0) : 0, cut }
}

/** Creates a folder inside the repository, so that the example can import `ws`. */
async function folder(): Promise<string> {
  const path = await mkdtemp(join(root, 'node_modules', '.provider-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

async function runExample(language: 'js' | 'python', command: readonly [string, ...string[]], file: string) {
  const proxy = await openProxy({
    file: `workspaces: [${await makeFolder()}]\ngateway: { enabled: true, port: 0, trusted-programs: [example-provider] }\nagent: { require-approval: false }`,
    proxies: { COPILOT_HOME: await makeFolder() },
  })
  const gatewayDir = join(proxy.codexHome, '..', 'gateway')
  const [record = ''] = await readdir(gatewayDir)
  const { url, token } = JSON.parse(await readFile(join(gatewayDir, record), 'utf8')) as { url: string; token: string }
  const wire = await openWire(Number(new URL(url).port))
  const path = join(await folder(), file)
  await writeFile(path, await exampleIn(language, wire.port))
  const [program, ...args] = command
  const child = spawn(program, [...args, path], {
    env: { PATH: process.env['PATH'], TAP_PROVIDER_TOKEN: token, PYTHONUNBUFFERED: '1' },
  })
  const ended = once(child, 'exit')
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let printed = ''
  child.stdout.on('data', (data: Buffer) => (printed += String(data)))
  child.stderr.on('data', (data: Buffer) => (printed += String(data)))
  const registered = (count: number) =>
    vi.waitFor(() => expect(printed.match(/Registered as p-[0-9a-f]+/g)).toHaveLength(count), {
      timeout: 20_000,
      interval: 50,
    })

  await registered(1)
  const client = await connect(`${proxy.daemon.url.replace('http', 'ws')}/rpc`)
  const { client: mcp } = await connectMcp(`${proxy.daemon.url}/mcp`)
  /** Calls the tool through /rpc, an MCP client, and the agent. */
  async function callEachWay(): Promise<void> {
    const greeted = { result: { data: 'Hello, Alice!' } }
    expect(await client.ask('greet', { name: 'Alice' })).toMatchObject(greeted)
    expect(await client.ask('mcp.tools.call', { name: 'greet', args: { name: 'Alice' } })).toMatchObject(greeted)
    expect((await mcp.listTools()).tools.map(({ name }) => name)).toContain('greet')
    expect(await mcp.callTool({ name: 'greet', arguments: { name: 'Alice' } })).toMatchObject({
      structuredContent: { data: 'Hello, Alice!' },
    })
    const text = 'agent: [demo:tool greet {"name":"Alice"}]'
    const { id } = (await proxy.send('/message', { body: JSON.stringify({ text }) })).json() as { id: string }
    await vi.waitFor(
      async () =>
        expect((await proxy.send(`/runs/${id}`)).json()).toMatchObject({
          outcome: 'completed',
          steps: expect.arrayContaining([
            expect.objectContaining({ calls: [expect.objectContaining({ tool: 'greet', outcome: 'ok' })] }),
          ]),
        }),
      { timeout: 20_000, interval: 50 },
    )
  }
  await callEachWay()
  wire.cut()
  await registered(2)
  await callEachWay()
  client.socket.close()
  const startedMs = performance.now()
  await proxy.daemon.close(10_000)
  // The example sends goodbye, so the gateway does not wait for the deadline.
  expect(performance.now() - startedMs).toBeLessThan(4000)
  await ended
  return printed
}

it.runIf(isThorough)(
  'the example in Node.js registers, answers, reconnects after a lost connection and ends',
  { timeout: 60_000 },
  async () => {
    await runExample('js', [execPath], 'provider.mjs')
  },
)

const python = '/usr/bin/python3'
const hasWebsockets = await promisify(execFile)(python, ['-c', 'import websockets']).then(
  () => true,
  () => false,
)

it.skipIf(!hasWebsockets)(
  'the example in Python registers, answers, reconnects after a lost connection and ends (needs python3-websockets)',
  { timeout: 60_000 },
  async () => {
    await runExample('python', [python], 'provider.py')
  },
)
