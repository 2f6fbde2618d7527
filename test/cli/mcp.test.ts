import { isThorough } from '../thorough.ts'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { initialize, protocols } from '../mcp/server/support.ts'
import type { ProtocolVersion } from '../mcp/server/support.ts'
import { makeFolder } from '../tools/session.ts'
import { startCli } from './cli.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

const program = fileURLToPath(new URL('../../bin/copilot-proxy.cjs', import.meta.url))

interface Place {
  /** Holds the configuration, the logins and the journals. */
  readonly home: string
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly configure: (text: string) => Promise<void>
}

async function makePlace(config = ''): Promise<Place> {
  const home = await makeFolder({ 'config.yaml': config })
  const policy = "writes: { allow: ['*.txt'] }\nshell: { allow: ['node wait.mjs'] }\n"
  const wait =
    "import { writeFileSync } from 'node:fs'; writeFileSync('pid', `${process.pid}`); console.log('waiting'); setInterval(() => {}, 1e6)"
  const root = await makeFolder({ 'a.txt': 'one\ntwo\n', '.agent-policy.yaml': policy, 'wait.mjs': wait })
  await confirmPolicies(join(home, 'workspaces'), root)
  const env = { COPILOT_PROXY_HOME: home, PATH: process.env['PATH'] ?? '', HOME: home }
  return { home, root, env, configure: (text) => writeFile(join(home, 'config.yaml'), text) }
}

interface Options {
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly protocol?: ProtocolVersion
}

/** The official client, which starts the program. */
async function connect(place: Place, { args = [], cwd = place.root, protocol = '2025-11-25' }: Options = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp', ...args],
    env: place.env,
    cwd,
    stderr: 'pipe',
  })
  let log = ''
  transport.stderr?.on('data', (text: Buffer) => {
    log += text.toString()
  })
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: protocol === '2025-11-25' ? 'legacy' : { pin: protocol } } },
  )
  await client.connect(transport)
  onTestFinished(() => client.close())
  const call = (name: string, args_: Record<string, unknown> = {}) => client.callTool({ name, arguments: args_ })
  return { client, transport, call, log: () => log }
}

const diff = '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n'
const denied = { isError: true, structuredContent: { error: { kind: 'denied' } } }

test.each(protocols)('offers the tools of this folder (%s)', async (protocol) => {
  const place = await makePlace()
  const { client, call, log } = await connect(place, { protocol })
  expect(client.getNegotiatedProtocolVersion()).toBe(protocol)
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('fs_read')
  expect(await call('fs_read', { path: 'a.txt' })).toMatchObject({ structuredContent: { content: 'one\ntwo\n' } })
  expect(await call('search_code', { query: 'two' })).toMatchObject({ structuredContent: { truncated: false } })
  expect(await call('edit_applyPatch', { unifiedDiff: diff })).toMatchObject(denied)
  await vi.waitFor(() => expect(log()).toMatch(/"caller":"mcp:stdio","paths":\["a.txt"\],"outcome":"ok"/))
  await vi.waitFor(() => expect(log()).toMatch(/"tool":"mcp.edit.applyPatch",.*"paths":\["a.txt"\],"outcome":"denied"/))
  // Warnings of Node.js about the program itself are of no use to whoever reads the log.
  expect(log()).not.toContain('Warning')
})

test.each([[[]], [['--workspace', '.']]])(
  'in a subfolder of a configured workspace (%j), it uses the workspace and its policy',
  async (args) => {
    const place = await makePlace()
    await place.configure(`workspaces: ['${place.root}']\nworkspace: { read-only: false }\n`)
    const folder = join(place.root, 'sub')
    await mkdir(folder)
    await writeFile(join(folder, 'b.md'), 'one\ntwo\n')
    // A policy of the subfolder alone would allow the second patch.
    await writeFile(join(folder, '.agent-policy.yaml'), "writes: { allow: ['**'] }\n")
    const { call } = await connect(place, { args, cwd: folder })
    expect(await call('edit_applyPatch', { unifiedDiff: diff })).toMatchObject({ structuredContent: { ok: true } })
    expect(await readFile(join(place.root, 'a.txt'), 'utf8')).toBe('one\nthree\n')
    expect(await call('edit_applyPatch', { unifiedDiff: diff.replaceAll('a.txt', 'sub/b.md') })).toMatchObject(denied)
    expect(await readFile(join(folder, 'b.md'), 'utf8')).toBe('one\ntwo\n')
  },
)

test('progress and cancellation reach a command', async () => {
  const place = await makePlace('workspace: { read-only: false }')
  const { client, call } = await connect(place)
  const parts: string[] = []
  const controller = new AbortController()
  const onprogress = ({ message = '' }): void => {
    parts.push(message)
    controller.abort()
  }
  const sleeping = client
    .callTool({ name: 'shell_run', arguments: { cmd: 'node wait.mjs' } }, { signal: controller.signal, onprogress })
    .catch((error: unknown) => error)
  expect(await sleeping).toBeInstanceOf(Error)
  expect(parts).toEqual(['waiting\n'])
  expect(await call('fs_list')).toMatchObject({ structuredContent: { files: expect.arrayContaining(['a.txt']) } })
})

test('a change of the configuration applies to the next call', async () => {
  const place = await makePlace()
  const { call } = await connect(place)
  expect(await call('edit_applyPatch', { unifiedDiff: diff })).toMatchObject(denied)
  await place.configure('workspace: { read-only: false }')
  await vi.waitFor(
    async () => expect(await call('policy_get')).toMatchObject({ structuredContent: { readOnly: false } }),
    {
      timeout: 10_000,
    },
  )
  expect(await call('edit_applyPatch', { unifiedDiff: diff })).toMatchObject({ structuredContent: { ok: true } })
  expect(await readFile(join(place.root, 'a.txt'), 'utf8')).toBe('one\nthree\n')
})

test('removes the stored login and configured credentials from results', { timeout: 60_000 }, async () => {
  const token = 'canary.stored.Gh7Qm2Xr9Lp4'
  const record = {
    id: 'copilot-demo',
    provider: 'copilot',
    label: 'demo',
    attributes: {},
    metadata: { github_access_token: token },
  }
  const place = await makePlace('codex: { api-key: canary-key-1234567 }')
  await mkdir(join(place.home, 'auth'), { mode: 0o700 })
  await writeFile(join(place.home, 'auth/copilot-demo.json'), JSON.stringify(record), { mode: 0o600 })
  await writeFile(join(place.root, 'notes.txt'), `${token} and canary-key-1234567 and more`)
  const { call } = await connect(place)
  expect(await call('fs_read', { path: 'notes.txt' })).toMatchObject({
    structuredContent: { content: '[redacted] and [redacted] and more' },
  })
})

test('shares the journal with a daemon that has the same workspace', async () => {
  const place = await makePlace('workspace: { read-only: false }')
  const daemon = startCli(['serve', '--demo', '--port', '0', '--workspace', place.root], place.env)
  await daemon.seen('stdout', /listening/)
  const [{ call: one }, { call: other }] = await Promise.all([connect(place), connect(place)])
  const patches = Array.from({ length: 5 }, (_, at) => `--- /dev/null\n+++ b/new-${at}.txt\n@@ -0,0 +1 @@\n+text\n`)
  const results = await Promise.all(
    patches.map((unifiedDiff, at) => (at % 2 === 0 ? one : other)('edit_applyPatch', { unifiedDiff })),
  )
  for (const { structuredContent } of results) expect(structuredContent).toMatchObject({ ok: true })
  const id = Reflect.get(Object(results[0]?.structuredContent), 'id')
  expect(await other('edit_undo', { id })).toMatchObject({ structuredContent: { ok: true } })
  expect(await other('fs_read', { path: 'new-0.txt' })).toMatchObject({ isError: true })
  daemon.child.kill()
})

describe('the workspace', () => {
  test('is named by --workspace, relative to this folder', async () => {
    const place = await makePlace()
    const { call } = await connect(place, {
      cwd: dirname(place.root),
      args: ['--workspace', place.root.split('/').at(-1) ?? ''],
    })
    expect(await call('session_list')).toMatchObject({ structuredContent: { sessions: [{ path: place.root }] } })
  })

  test('is the configured one that holds this folder, or else the only one', async () => {
    const place = await makePlace()
    const other = await makeFolder({ 'b.txt': 'b' })
    await mkdir(join(place.root, 'inner'))
    await place.configure(`workspaces: ['${other}', { path: '${place.root}', name: mine }]`)
    const inside = await connect(place, { cwd: join(place.root, 'inner') })
    expect(await inside.call('session_list')).toMatchObject({
      structuredContent: { sessions: [{ path: place.root, name: 'mine' }] },
    })
    const named = await connect(place, { cwd: dirname(place.root), args: ['--workspace', join(place.root, 'inner')] })
    expect(await named.call('session_list')).toMatchObject({ structuredContent: { sessions: [{ path: place.root }] } })
    await place.configure(`workspaces: ['${other}']`)
    const outside = await connect(place)
    expect(await outside.call('session_list')).toMatchObject({ structuredContent: { sessions: [{ path: other }] } })
  })

  test('has to be named if several are configured and this folder is in none', async () => {
    const place = await makePlace()
    const others = [await makeFolder(), await makeFolder()]
    await place.configure(`workspaces: ['${others.join("', '")}']`)
    const { ended } = startCli(['mcp'], place.env, { cwd: place.root })
    const { code, stdout, stderr } = await ended
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`Name one with --workspace: ${others.join(', ')}`)
  })

  test.runIf(isThorough)(
    'is not the home folder, unless the configuration allows it',
    { timeout: 120_000 },
    async () => {
      const place = await makePlace()
      const home = await makeFolder({ 'app/a.txt': 'one\n' })
      const env = { ...place.env, HOME: home }
      const { code, stdout, stderr } = await startCli(['mcp'], env, { cwd: home }).ended
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toBe(
        `${home} is your home folder, so it is not opened as a workspace. Use the folder of a project, e.g. with ` +
          `--workspace ~/code/app. To open it nevertheless, add { path: "${home}", allow-home: true } to workspaces in the configuration.\n`,
      )
      const inside = await connect({ ...place, env }, { cwd: join(home, 'app') })
      expect(await inside.call('fs_read', { path: 'a.txt' })).toMatchObject({ structuredContent: { content: 'one\n' } })
      await place.configure(`workspaces: [{ path: "${home}", allow-home: true }]`)
      for (const args of [[], ['--workspace', home]]) {
        const { call } = await connect({ ...place, env }, { cwd: home, args })
        expect(await call('fs_read', { path: 'app/a.txt' })).toMatchObject({ structuredContent: { content: 'one\n' } })
      }
    },
  )

  test('has to be a folder', async () => {
    const place = await makePlace()
    const { code, stdout, stderr } = await startCli(['mcp', '--workspace', '/no/such/folder'], place.env).ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^.*\/no\/such\/folder.*\.\n$/)
  })
})

const line = (message: object): string => `${JSON.stringify(message)}\n`

describe('the process', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' }

  test('writes nothing but the protocol on stdout, and survives text that is none', async () => {
    const place = await makePlace('log: { level: trace }')
    const { child, seen, ended } = startCli(['mcp'], place.env, { cwd: place.root })
    child.stdin?.write(`hello\n{"jsonrpc":\n\n${line(initialize)}`)
    await seen('stdout', /serverInfo/)
    child.stdin?.write(line({ ...call, params: { name: 'fs_read', arguments: { path: 'a.txt' } } }))
    await seen('stdout', /structuredContent/)
    child.stdin?.end()
    const { code, stdout, stderr } = await ended
    expect(code).toBe(0)
    for (const text of stdout.trimEnd().split('\n')) expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0' })
    expect(stderr).toMatch(/INFO.*tool call/)
  })

  test.each([
    ['stdin closes', 0, (child: ReturnType<typeof startCli>['child']) => child.stdin?.end()],
    ['SIGTERM comes', 0, (child: ReturnType<typeof startCli>['child']) => child.kill('SIGTERM')],
    ['SIGINT comes', 130, (child: ReturnType<typeof startCli>['child']) => child.kill('SIGINT')],
  ] as const)('ends when %s, and so does a running command', async (_name, expected, stop) => {
    // In a sandbox, the process id would be another one.
    const place = await makePlace('workspace: { read-only: false, sandbox: off }')
    const { child, seen, ended } = startCli(['mcp'], place.env, { cwd: place.root })
    child.stdin?.write(line(initialize))
    await seen('stdout', /serverInfo/)
    child.stdin?.write(line({ ...call, params: { name: 'shell_run', arguments: { cmd: 'node wait.mjs' } } }))
    const waiting = await vi.waitFor(async () => Number(await readFile(join(place.root, 'pid'), 'utf8')), {
      timeout: 10_000,
    })
    stop(child)
    const { code } = await ended
    expect(code).toBe(expected)
    expect(() => process.kill(waiting, 0)).toThrow('ESRCH')
  })
})
