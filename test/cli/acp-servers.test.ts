import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { methods } from '@agentclientprotocol/sdk'
import type { McpServer } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { scriptOf } from '../agent/support.ts'
import { createUser, openGithub, upstreamVariables } from '../commands/harness.ts'
import { openHttpServer } from '../mcp/servers/http-server.ts'
import { makeFolder } from '../tools/session.ts'
import { openEditor } from './acp-editor.ts'
import type { Editor, EditorOptions } from './acp-editor.ts'
import { startCli } from './cli.ts'

const { session } = methods.agent
const script = fileURLToPath(new URL('../mcp/servers/server.mjs', import.meta.url))

function stdio(name: string, mode = 'plain', env: Readonly<Record<string, string>> = {}): McpServer {
  const variables = Object.entries(env).map(([key, value]) => ({ name: key, value }))
  return { name, command: execPath, args: [script, mode, '${workspace}'], env: variables }
}

/** A folder, a simulated upstream, and a daemon that serves the folder. */
async function openDaemon(config = '') {
  const upstream = await openGithub({ record: 50 })
  const root = await makeFolder({ 'a.txt': 'one\n' })
  const { home } = await createUser()
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    COPILOT_PROXY_HOME: join(home, 'proxy'),
    COPILOT_PROXY_AGENT_MODEL: 'gpt-5-mini',
    ...upstreamVariables(upstream),
  }
  const start = async (port: string) => {
    const cli = startCli(['serve', '--workspace', root, ...(config === '' ? [] : ['--config', config])], {
      ...env,
      COPILOT_PROXY_SERVER_PORT: port,
    })
    const [, at = ''] = await cli.seen('stdout', /listening on http:\/\/127\.0\.0\.1:(\d+)/)
    return { ...cli, port: at }
  }
  let daemon = await start('0')
  const here = { ...env, COPILOT_PROXY_SERVER_PORT: daemon.port }
  const url = `http://127.0.0.1:${daemon.port}`
  const token = async () => (await readFile(join(home, 'proxy', 'owner-token'), 'utf8')).trim()
  return {
    root,
    home,
    url,
    token,
    daemon: () => daemon,
    async restart() {
      daemon.child.kill('SIGTERM')
      await daemon.ended
      daemon = await start(daemon.port)
    },
    editor: (options: Partial<EditorOptions> = {}) =>
      openEditor({ env: here, args: ['acp'], choose: () => 'once', ...options }),
    get: async (path: string) =>
      (await fetch(url + path, { headers: { authorization: `Bearer ${await token()}` } })).text(),
    /** The requests for models so far. */
    asked: () => upstream.log.filter(({ route }) => route === '/responses').map(({ body }) => JSON.stringify(body)),
  }
}

type Daemon = Awaited<ReturnType<typeof openDaemon>>

async function newSession({ agent }: Editor, cwd: string, mcpServers: McpServer[]): Promise<string> {
  return (await agent.request(session.new, { cwd, mcpServers })).sessionId
}

function say({ agent }: Editor, sessionId: string, text: string) {
  return agent.request(session.prompt, { sessionId, prompt: [{ type: 'text', text }] })
}

const calling = (tool: string, args: object = {}) => scriptOf({ calls: [{ tool, args }] }, { text: 'Done.' })

/** The id of the process of a server, which its tool `env` tells. */
async function pidOf(it: Editor, id: string, { asked }: Daemon, server: string): Promise<number> {
  const before = asked().length
  await say(it, id, calling(`editor_${server}_env`))
  const found = /\\*"pid\\*":(\d+)/.exec(asked().slice(before).at(-1) ?? '')
  return Number(found?.[1])
}

/** A process that has ended and that nobody has waited for is no longer alive. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const told = (it: Editor, id: string) => JSON.stringify(it.updates(id))

test('tools of a program and of an address are offered to the session, asked for by name, and called', async () => {
  const http = await openHttpServer()
  const on = await openDaemon()
  const it = await on.editor()
  const { agentCapabilities } = await it.agent.request(methods.agent.initialize, { protocolVersion: 1 })
  expect(agentCapabilities?.mcpCapabilities).toMatchObject({ http: true, sse: false })
  const headers = [{ name: 'authorization', value: 'Bearer of-the-editor' }]
  const id = await newSession(it, on.root, [stdio('local'), { type: 'http', name: 'far', url: http.url, headers }])
  const other = await newSession(it, on.root, [])

  await say(it, id, calling('editor_local_change'))
  await say(it, id, calling('editor_far_echo', { word: 'heron' }))
  expect(it.asked.map(({ toolCall }) => toolCall.title)).toEqual(['Call editor_local_change?', 'Call editor_far_echo?'])
  expect(JSON.stringify(it.asked)).toContain('editor:far')
  expect(on.asked().at(-1)).toContain('heron')
  expect(http.calls()).toBe(1)
  // What says that it only reads runs unasked, as that of a configured server does.
  await say(it, id, calling('editor_local_roots'))
  expect(it.asked).toHaveLength(2)
  expect(on.asked().at(-1)).toContain(on.root)

  await say(it, other, 'Hello')
  expect(on.asked().at(-1)).not.toContain('editor_')
  const sessions = JSON.parse(await on.get('/sessions')).sessions
  expect(JSON.stringify(sessions)).not.toContain('editor')
  for (const part of ['servers', 'prompts']) {
    expect(await on.get(`/sessions/${sessions[0].id}/${part}`)).not.toContain('editor')
  }
  expect(it.strays).toEqual([])
})
