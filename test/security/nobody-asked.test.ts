import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectRaw, readMessage, toolOf } from '../gateway/support.ts'
import { openProxy } from '../http/harness.ts'
import { connectMcp } from '../mcp/server/support.ts'
import { connect } from '../rpc/support.ts'
import { makeFolder } from '../tools/session.ts'
import { call, openAgentDaemon } from './agent-daemon.ts'
import { createPatch, openStdio } from './tool-ways.ts'

// Callers without a person call tools of other programs. A tool that an agent would have to ask about must not run for them.

const script = fileURLToPath(new URL('../mcp/servers/server.mjs', import.meta.url))
const serverOf = (more: object = {}) => ({ command: [execPath, script, 'world'], ...more })

/** Tools that an agent asks about. */
const asked = ['fetch', 'ask', 'shred', 'maybe', 'act']

const closed = { readOnlyHint: true, openWorldHint: false }
const ofProvider = [
  toolOf('peek', { annotations: closed }),
  toolOf('poke'),
  toolOf('dig', { annotations: { readOnlyHint: true } }),
]

interface Answer {
  readonly isError: boolean
  readonly text: string
}

/** Starts a daemon with an MCP server and a provider, and returns the ways to call their tools without a person. */
async function openWays(settings: { readonly trust?: boolean; readonly trusted?: readonly string[] } = {}) {
  const file = JSON.stringify({
    workspaces: [await makeFolder({ 'a.txt': 'one\n' })],
    'mcp-servers': { it: serverOf(settings.trust === undefined ? {} : { trust: settings.trust }) },
    gateway: { enabled: true, port: 0, 'trusted-programs': settings.trusted ?? [] },
  })
  const copilotHome = await makeFolder()
  const proxy = await openProxy({ file, proxies: { PATH: process.env['PATH'] ?? '', COPILOT_HOME: copilotHome } })
  const gatewayDir = join(proxy.codexHome, '..', 'gateway')
  const [record = ''] = await readdir(gatewayDir)
  const { url, token } = JSON.parse(await readFile(join(gatewayDir, record), 'utf8')) as { url: string; token: string }
  const { sessions } = (await proxy.send('/sessions')).json() as { sessions: { id: string }[] }
  const provider = await connectRaw(url)
  const called: unknown[] = []
  provider.send({ type: 'auth', token })
  await provider.next()
  provider.send({ type: 'hello', name: 'mine', protocolVersion: 2, session: sessions[0]?.id, tools: ofProvider })
  expect(await provider.next()).toMatchObject({ type: 'hello.ack' })
  provider.socket.on('message', (data) => {
    const { type, id, tool } = readMessage(data)
    if (type !== 'tool.call') return
    called.push(tool)
    provider.send({ type: 'tool.result', id, data: 'done' })
  })
  const rpc = await connect(`${proxy.daemon.url.replace('http', 'ws')}/rpc`)
  const { client } = await connectMcp(`${proxy.daemon.url}/mcp`)
  await client.listTools()
  const overRpc = async (method: string, params: object): Promise<Answer> => {
    const text = JSON.stringify(await rpc.ask(method, params))
    return { isError: text.includes('"error"'), text }
  }
  const ways: Readonly<Record<string, (name: string) => Promise<Answer>>> = {
    '/rpc': (name) => overRpc(name, {}),
    '/rpc by mcp.tools.call': (name) => overRpc('mcp.tools.call', { name, args: {} }),
    async '/mcp'(name) {
      const answer = await client.callTool({ name, arguments: {} })
      return { isError: answer.isError === true, text: JSON.stringify(answer) }
    },
  }
  return { ways, called }
}

describe('over /rpc and /mcp', () => {
  test('a tool of an MCP server that an agent would ask about is refused, with the setting that allows it', async () => {
    const { ways } = await openWays()
    for (const [way, ask] of Object.entries(ways)) {
      for (const tool of asked) {
        const { isError, text } = await ask(`it_${tool}`)
        expect(isError, `${tool} over ${way}`).toBe(true)
        expect(text, `${tool} over ${way}`).toMatch(/nobody can be asked.*set mcp-servers\.it\.trust to true/)
      }
      expect(await ask('it_look'), way).toMatchObject({ isError: false })
    }
  })

  test('a tool of a provider that an agent would ask about is refused, and the provider is not called', async () => {
    const { ways, called } = await openWays()
    for (const [way, ask] of Object.entries(ways)) {
      for (const tool of ['poke', 'dig']) {
        const { isError, text } = await ask(tool)
        expect(isError, `${tool} over ${way}`).toBe(true)
        expect(text).toMatch(/add \W*mine\W* to gateway\.trusted-programs/)
      }
      expect(await ask('peek'), way).toMatchObject({ isError: false })
    }
    expect(called).toEqual(['peek', 'peek', 'peek'])
  })

  test('tools of a server and a provider that the person trusts run', async () => {
    const { ways, called } = await openWays({ trust: true, trusted: ['mine'] })
    for (const [way, ask] of Object.entries(ways)) {
      for (const tool of [...asked.map((name) => `it_${name}`), 'poke', 'dig']) {
        expect(await ask(tool), `${tool} over ${way}`).toMatchObject({ isError: false })
      }
    }
    expect(called).toHaveLength(6)
  })

  test('trust in one program does not extend to the other', async () => {
    const { ways, called } = await openWays({ trusted: ['it', 'others'] })
    expect(await ways['/rpc']?.('it_act')).toMatchObject({ isError: true })
    expect(await ways['/rpc']?.('poke')).toMatchObject({ isError: true })
    expect(called).toEqual([])
  })
})

test('over standard input and output, there are only the tools of the workspace', async () => {
  const [root, home] = [await makeFolder({ 'a.txt': 'one\n' }), await makeFolder()]
  const config = join(home, '.config', 'copilot-proxy')
  await mkdir(config, { recursive: true })
  await writeFile(
    join(config, 'config.yaml'),
    JSON.stringify({ workspaces: [root], 'mcp-servers': { it: serverOf() } }),
  )
  const stdio = await openStdio({ root, env: { HOME: home, PATH: process.env['PATH'] ?? '' } })
  onTestFinished(stdio.close)
  await expect(stdio.call('it_act', {})).rejects.toThrow('There is no tool')
  await expect(stdio.call('it_look', {})).rejects.toThrow('There is no tool')
  expect(await stdio.call('fs.list', {})).toMatchObject({ isRefused: false })
})

test('in a locked workspace, nobody calls a tool of another program, trusted or not, and files are read', async () => {
  const workspace = { 'read-only': 'locked' }
  const { start, root, configure, url, key } = await openAgentDaemon({ 'a.txt': 'one\n' }, { workspace })
  const servers = { 'mcp-servers': { it: serverOf({ trust: true }) } }
  configure({ workspace, ...servers })
  const steps = [call('it_look', {}), call('it_act', {}), call('fs_read', { path: 'a.txt' }), { text: 'Done' }]
  expect(await (await start(steps)).outcomes()).toEqual(['denied', 'denied', 'ok'])
  const rpc = await connect(`${url.replace('http', 'ws')}/rpc`, { headers: { authorization: `Bearer ${key}` } })
  expect(await rpc.ask('it_look', {})).toMatchObject({ error: { message: expect.stringContaining('is locked') } })
  expect(await rpc.ask('mcp.policy.get', {})).toMatchObject({ result: { readOnly: true } })
  const patch = createPatch('b.txt')
  expect(await rpc.ask('mcp.edit.applyPatch', { unifiedDiff: patch })).toMatchObject({
    error: { data: { kind: 'denied' } },
  })
  expect(await readdir(root)).toEqual(['a.txt'])
  configure({ workspace: { 'read-only': true }, ...servers })
  expect(await (await start(steps)).outcomes()).toEqual(['ok', 'ok', 'ok'])
})

describe('without agent.require-approval', () => {
  const settings = { agent: { 'require-approval': false } }
  const steps = [...asked.map((tool) => call(`it_${tool}`, {})), call('it_look', {}), { text: 'Done' }]

  test('the agent calls no tool that it would ask about', async () => {
    const { start } = await openAgentDaemon({}, { ...settings, 'mcp-servers': { it: serverOf() } })
    const run = await start(steps)
    expect(await run.outcomes()).toEqual([...asked.map(() => 'denied'), 'ok'])
    expect(JSON.stringify(await run.report())).toContain('set mcp-servers.it.trust to true')
  })

  test('the agent calls the tools of a trusted server', async () => {
    const { start } = await openAgentDaemon({}, { ...settings, 'mcp-servers': { it: serverOf({ trust: true }) } })
    expect(await (await start(steps)).outcomes()).toEqual([...asked, 'look'].map(() => 'ok'))
  })
})
