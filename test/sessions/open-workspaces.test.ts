import { mkdir, readFile, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { OwnPaths } from '../../src/config/paths.ts'
import type { Config } from '../../src/config/schema.ts'
import type { ReadOnlyMode } from '../../src/config/setting-types.ts'
import { openWorkspaces } from '../../src/sessions/open-workspaces.ts'
import { loaded } from '../config/loading.ts'
import { recordingLog } from '../recording-log.ts'
import { makeFolder } from '../tools/session.ts'
import { failureOf } from '../workspace/tree.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

type Entry =
  | string
  | {
      readonly path: string
      readonly name?: string
      readonly 'allow-home'?: boolean
      readonly 'read-only'?: ReadOnlyMode
    }

interface OpenOptions {
  readonly isReadOnly?: boolean
  readonly home?: string
  readonly ownPaths?: OwnPaths
}

async function open(entries: readonly Entry[], options: OpenOptions = {}) {
  const configOf = (workspaces: readonly Entry[]): Config =>
    loaded({
      file: JSON.stringify({ workspaces, workspace: { 'read-only': options.isReadOnly ?? false } }),
    }).config
  let config = configOf(entries)
  const log = recordingLog()
  const dataDir = await makeFolder()
  const workspaces = await openWorkspaces({
    config: () => config,
    dataDir,
    redact: (text) => text,
    ownPaths: options.ownPaths ?? { folders: [], files: [] },
    homeDir: () => options.home ?? '/nowhere',
    log,
  })
  onTestFinished(workspaces.close)
  for (const { folder } of workspaces.sessions()) await confirmPolicies(dataDir, folder.root)
  const call = (name: string, args: unknown = {}, id?: string) => {
    const session = workspaces.find(id)
    if (session === undefined) throw new Error('no such session')
    return workspaces.tools.call({ session, name, args, caller: 'test', signal: new AbortController().signal })
  }
  return {
    ...workspaces,
    log,
    dataDir,
    call,
    change: (changed: readonly Entry[]) => {
      config = configOf(changed)
      return workspaces.reconfigure()
    },
  }
}

const policy = { '.agent-policy.yaml': 'writes: { allow: ["*.txt"] }\n' }
const diff = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n'

it('gives each folder a short id that stays the same and does not show the path', async () => {
  const dir = await makeFolder()
  const [first] = (await open([dir])).sessions()
  const [second] = (await open([{ path: dir, name: 'other' }])).sessions()
  expect(first?.id).toMatch(/^[a-z2-7]{10}$/)
  expect(second?.id).toBe(first?.id)
})

it('makes the name of the folder unique', async () => {
  const [one, two] = [await makeFolder(), await makeFolder()]
  await mkdir(join(one, 'app'))
  await mkdir(join(two, 'app'))
  const { sessions } = await open([join(one, 'app'), join(two, 'app'), { path: one, name: 'one' }])
  expect(sessions().map(({ name }) => name)).toEqual(['app', 'app-2', 'one'])
})

it('opens a folder once, whatever path names it', async () => {
  const dir = await makeFolder()
  const link = join(await makeFolder(), 'link')
  await symlink(dir, link)
  const { sessions, log } = await open([dir, link])
  expect(sessions()).toHaveLength(1)
  expect(log.lines.some(({ level }) => level === 'warn')).toBe(true)
})

it('skips a missing folder and logs it', async () => {
  const dir = await makeFolder()
  const { sessions, log } = await open([join(dir, 'missing'), '~/missing', dir])
  expect(sessions().map(({ folder }) => folder.root)).toEqual([dir])
  expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['path'])).toEqual([
    join(dir, 'missing'),
    '~/missing',
  ])
})

it('finds a session by id or name, and the only one without either', async () => {
  const [one, two] = [await makeFolder(), await makeFolder()]
  const { find, sessions, change } = await open([one])
  const [session] = sessions()
  expect(find(undefined)).toBe(session)
  expect(find(session?.id)).toBe(session)
  expect(find(basename(one))).toBe(session)
  expect(find('other')).toBeUndefined()
  await change([one, two])
  expect(find(undefined)).toBeUndefined()
})

it('adds and removes workspaces while it runs, and stops the calls of a removed one', async () => {
  const [one, two] = [await makeFolder({ ...policy, 'a.txt': 'one\n' }), await makeFolder()]
  const { change, sessions, onChange, tools } = await open([one])
  const [first] = sessions()
  const listener = vi.fn<() => void>()
  onChange(listener)
  await change([one, two])
  expect(sessions()).toHaveLength(2)
  expect(sessions()[0]).toBe(first)
  expect(listener).toHaveBeenCalledTimes(1)
  await change([one, two])
  expect(listener).toHaveBeenCalledTimes(1)
  if (first === undefined) throw new Error('no session')
  const running = failureOf(
    tools.call({
      session: first,
      name: 'mcp.edit.applyPatch',
      args: { unifiedDiff: diff },
      caller: 'test',
      signal: new AbortController().signal,
      approve: () => change([two]).then(() => true),
    }),
  )
  expect(await running).toEqual({ kind: 'cancelled' })
  expect(first.signal.aborted).toBe(true)
  expect(sessions().map(({ folder }) => folder.root)).toEqual([two])
  expect(await readFile(join(one, 'a.txt'), 'utf8')).toBe('one\n')
})

it('lists its tools', async () => {
  const { listing, call } = await open([await makeFolder()])
  const [reported] = await listing()
  expect(reported?.sandbox).toMatchObject({ setting: 'auto', description: expect.stringMatching(/^Commands /) })
  expect(reported?.tools).toEqual(
    expect.arrayContaining(['mcp.fs.read', 'mcp.edit.applyPatch', 'mcp.tools.list', 'mcp.tools.call']),
  )
  const { tools } = await call('mcp.tools.list')
  expect(tools).toContainEqual(
    expect.objectContaining({
      name: 'mcp.fs.read',
      effect: 'read',
      parameters: expect.objectContaining({ type: 'object' }),
    }),
  )
  const { sandbox: _sandbox, readOnly: _readOnly, ...session } = reported ?? {}
  expect(await call('mcp.session.list')).toEqual({ sessions: [session] })
})

it('reads, lists and searches files', async () => {
  const { call } = await open([await makeFolder({ 'src/a.ts': 'one\ntwo\n' })])
  expect(await call('mcp.fs.read', { path: 'src/a.ts', range: { start: 2, end: 2 } })).toMatchObject({
    content: 'two\n',
    size: 8,
    truncated: false,
  })
  expect(await call('mcp.fs.list', { glob: '**/*.ts', limit: 5 })).toEqual({ files: ['src/a.ts'], truncated: false })
  expect(await call('mcp.search.code', { query: 'two', glob: '**', maxResults: 5 })).toMatchObject({
    hits: [{ file: 'src/a.ts', line: 2, column: 1 }],
  })
})

it('runs any tool through mcp.tools.call, with one audit line that names it', async () => {
  const { call, log } = await open([await makeFolder({ 'a.txt': 'one\n' })])
  expect(await call('mcp.tools.call', { name: 'mcp.fs.read', args: { path: 'a.txt' } })).toMatchObject({
    content: 'one\n',
  })
  const audit = log.lines.filter(({ message }) => message === 'tool call')
  expect(audit.map(({ fields }) => fields['tool'])).toEqual(['mcp.fs.read'])
  expect(await failureOf(call('mcp.tools.call', { name: 'mcp.tools.call' }))).toMatchObject({
    kind: 'invalid_arguments',
  })
  expect(await failureOf(call('mcp.tools.call', { name: 'mcp.fs.read' }))).toMatchObject({ path: 'path' })
})

it('applies a patch and undoes it, with the journal in the data folder', async () => {
  const dir = await makeFolder({ ...policy, 'a.txt': 'one\n' })
  const { call, sessions, dataDir } = await open([dir])
  expect(await call('mcp.edit.applyPatch', { unifiedDiff: diff })).toMatchObject({
    ok: true,
    files: [{ path: 'a.txt' }],
  })
  expect(await readFile(join(dir, 'a.txt'), 'utf8')).toBe('two\n')
  const id = sessions()[0]?.id ?? ''
  expect(await readFile(join(dataDir, id, 'journal', 'x')).catch((error: { code: string }) => error.code)).toBe(
    'ENOENT',
  )
  expect(await call('mcp.edit.undo')).toMatchObject({ ok: true })
  expect(await readFile(join(dir, 'a.txt'), 'utf8')).toBe('one\n')
})

it('G01: writes nothing without a policy that allows it, or while read-only', async () => {
  for (const { files, isReadOnly } of [
    { files: {}, isReadOnly: false },
    { files: policy, isReadOnly: true },
  ]) {
    const dir = await makeFolder({ ...files, 'a.txt': 'one\n' })
    const { call } = await open([dir], { isReadOnly })
    expect(await failureOf(call('mcp.edit.applyPatch', { unifiedDiff: diff }))).toMatchObject({ kind: 'denied' })
    expect(await readFile(join(dir, 'a.txt'), 'utf8')).toBe('one\n')
  }
})

describe('read-only of a workspace', () => {
  const write = { unifiedDiff: diff }

  it.each<[boolean, ReadOnlyMode, boolean]>([
    [true, false, true],
    [false, true, false],
    [false, 'locked', false],
  ])('with %o for all and %o for itself decides whether it is written: %o', async (isReadOnly, own, isWritten) => {
    const dirs = [await makeFolder({ ...policy, 'a.txt': 'one\n' }), await makeFolder({ ...policy, 'a.txt': 'one\n' })]
    const [first = '', second = ''] = dirs
    const { call, listing } = await open(
      [
        { path: first, name: 'own', 'read-only': own },
        { path: second, name: 'all' },
      ],
      {
        isReadOnly,
      },
    )
    const texts = async () => Promise.all(dirs.map((dir) => readFile(join(dir, 'a.txt'), 'utf8')))
    const outcome = async (name: string) =>
      call('mcp.edit.applyPatch', write, name).then(
        () => 'written',
        ({ failure }) => failure.kind,
      )
    expect([await outcome('own'), await outcome('all')]).toEqual(
      isWritten ? ['written', 'denied'] : ['denied', 'written'],
    )
    expect(await texts()).toEqual(isWritten ? ['two\n', 'one\n'] : ['one\n', 'two\n'])
    expect(await listing()).toMatchObject([{ readOnly: own }, { readOnly: isReadOnly }])
    expect(await call('mcp.policy.get', {}, 'own')).toMatchObject({ readOnly: own !== false })
  })

  it('holds as soon as the configuration changes, in both directions, and the session stays', async () => {
    const dir = await makeFolder({ ...policy, 'a.txt': 'one\n' })
    const { call, change, sessions } = await open([{ path: dir, 'read-only': true }])
    const [session] = sessions()
    expect(await failureOf(call('mcp.edit.applyPatch', write))).toMatchObject({ kind: 'denied' })
    const opening = change([{ path: dir, 'read-only': false }])
    expect(await call('mcp.edit.applyPatch', write)).toMatchObject({ ok: true })
    await opening
    const closing = change([{ path: dir, 'read-only': 'locked' }])
    expect(await failureOf(call('mcp.edit.undo'))).toMatchObject({ kind: 'denied' })
    await closing
    expect(sessions()).toEqual([session])
    // Written in another way, the path is that of the same workspace.
    await change([{ path: `${dir}/`, 'read-only': false }])
    expect(sessions()).toEqual([session])
    expect(await call('mcp.edit.undo')).toMatchObject({ ok: true })
  })
})

it('requires each tool with the effect write or run to be authorised before it returns a result', async () => {
  const files = {
    'a.txt': 'one\n',
    'code.json': '{ "a":1}',
    'code.ts': "import { b } from './b.ts'\nimport { a } from './a.ts'\na(b)\n",
    Makefile: 'hello:\n\t@echo hello\n',
  }
  const { call, sessions, tools } = await open([await makeFolder(files)])
  const [session] = sessions()
  if (session === undefined) throw new Error('no session')
  // With these arguments, each tool would have an effect if it were allowed.
  const effective: Readonly<Record<string, unknown>> = {
    'mcp.edit.applyPatch': { unifiedDiff: diff },
    'mcp.edit.replace': { path: 'a.txt', oldText: 'one', newText: 'two' },
    'mcp.edit.undo': undefined,
    'mcp.tools.call': undefined,
    'mcp.shell.run': { argv: ['node', '--version'] },
    'mcp.task.run': { name: 'hello' },
    // Only what was started can be stopped.
    'mcp.shell.stop': undefined,
    'mcp.format.apply': { path: 'code.json' },
    'mcp.imports.organize': { path: 'code.ts' },
  }
  const acting = tools.list(session).filter(({ effect }) => effect !== 'read')
  expect(acting.map(({ name }) => name).toSorted()).toEqual(Object.keys(effective).toSorted())
  for (const [name, args] of Object.entries(effective)) {
    if (args !== undefined) expect(await failureOf(call(name, args)), name).toMatchObject({ kind: 'denied' })
  }
})

it('describes the policy', async () => {
  const { call } = await open([await makeFolder(policy)], { isReadOnly: true })
  expect(await call('mcp.policy.get')).toMatchObject({
    readOnly: true,
    files: ['.agent-policy.yaml'],
    writes: { allow: ['*.txt'] },
    shell: { allow: [] },
    problem: null,
  })
})

it('runs a task if the policy allows its command', async () => {
  const dir = await makeFolder({
    Makefile: 'hello:\n\t@echo hello\nother:\n\t@echo other\n',
    '.agent-policy.yaml': 'shell: { allow: ["make hello"] }\n',
  })
  const { call } = await open([dir])
  expect(await call('mcp.task.run', { name: 'hello' })).toMatchObject({ exitCode: 0, stdout: 'hello\n' })
  expect(await failureOf(call('mcp.task.run', { name: 'other' }))).toMatchObject({ kind: 'denied' })
  expect(await failureOf(call('mcp.task.run', { name: 'none' }))).toMatchObject({
    kind: 'failed',
    detail: 'There is no task "none". Tasks: "hello", "other".',
  })
})

it('does not run the script of npm test as a task if the policy allows only "npm test"', async () => {
  const dir = await makeFolder({
    'package.json': '{ "scripts": { "test": "echo tested" } }',
    '.agent-policy.yaml': 'shell: { allow: ["npm test"] }\n',
  })
  const { call } = await open([dir])
  expect(await failureOf(call('mcp.task.run', { name: 'test' }))).toMatchObject({
    kind: 'denied',
    detail: expect.stringContaining('npm run test'),
  })
})

it('runs a command that the policy allows, as argv or as a text without a shell', async () => {
  const dir = await makeFolder({ '.agent-policy.yaml': 'shell: { allow: ["echo hello", "sleep 60"] }\n' })
  const { call } = await open([dir])
  const sandbox: unknown = expect.stringMatching(/^(?:bubblewrap|none)$/)
  const end = { exitCode: 0, stdout: 'hello\n', stderr: '', truncated: false, timedOut: false, sandbox }
  expect(await call('mcp.shell.run', { argv: ['echo', 'hello'] })).toEqual(end)
  expect(await call('mcp.shell.run', { cmd: 'echo "hello"' })).toEqual(end)
  expect(await failureOf(call('mcp.shell.run', { argv: ['echo', 'hello', 'you'] }))).toMatchObject({ kind: 'denied' })
  expect(await failureOf(call('mcp.shell.run', {}))).toMatchObject({ kind: 'invalid_arguments' })
})

async function makeHome() {
  const around = await makeFolder({ 'home/code/a.txt': 'one\n', 'home/own/config.yaml': '' })
  const home = join(around, 'home')
  return {
    around,
    home,
    own: join(home, 'own'),
    options: { home, ownPaths: { folders: [join(home, 'own')], files: [] } },
  }
}

describe('a folder that is too wide for a workspace', () => {
  it.each([
    ['the home folder', ({ home }: { home: string }) => home, 'is your home folder'],
    ['a folder around it', ({ around }: { around: string }) => around, 'contains your home folder'],
    ['the root', () => '/', 'is the root of the file system'],
    ['the home folder by ~', () => '~', 'is your home folder'],
  ])('is not opened, but a folder in it is: %s', async (_what, choose, reason) => {
    const place = await makeHome()
    const { sessions, log } = await open([choose(place), join(place.home, 'code')], place.options)
    expect(sessions().map(({ name }) => name)).toEqual(['code'])
    const line = log.lines.find(({ level }) => level === 'error')
    expect(line?.fields?.['reason']).toContain(`${reason}, so it is not opened as a workspace.`)
    expect(line?.fields?.['reason']).toContain('allow-home: true } to workspaces in the configuration.')
  })

  it('is opened with allow-home, but not one of the own folders', async () => {
    const { home, own, options } = await makeHome()
    const { sessions, log, call } = await open(
      [
        { path: home, 'allow-home': true },
        { path: own, 'allow-home': true },
      ],
      options,
    )
    expect(sessions().map(({ name }) => name)).toEqual(['home'])
    expect(log.lines.some(({ fields }) => String(fields?.['reason']).includes('it belongs to copilot-proxy'))).toBe(
      true,
    )
    expect(await call('mcp.fs.read', { path: 'code/a.txt' })).toMatchObject({ content: 'one\n' })
    expect(await failureOf(call('mcp.fs.read', { path: 'own/config.yaml' }))).toMatchObject({ kind: 'denied' })
  })

  it('is one around an own folder, also if that does not exist yet', async () => {
    const dir = await makeFolder({ 'app/a.txt': 'one\n' })
    const ownPaths = { folders: [join(dir, 'later/copilot-proxy')], files: [] }
    const { sessions } = await open([dir, join(dir, 'app')], { ownPaths })
    expect(sessions().map(({ name }) => name)).toEqual(['app'])
  })
})

function createPatch(path: string): object {
  return { unifiedDiff: `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n` }
}

it('does not let a tool create a folder or a file of this program, or change its configuration through a link', async () => {
  const dir = await makeFolder({
    '.agent-policy.yaml': 'writes: { allow: ["**", proxy.yaml] }\n',
    'proxy.yaml': 'one\n',
    'a.txt': 'one\n',
  })
  const elsewhere = await makeFolder()
  await symlink(join(dir, 'proxy.yaml'), join(elsewhere, 'config.yaml'))
  const ownPaths = { folders: [join(dir, '.config/Copilot-Proxy')], files: [join(elsewhere, 'config.yaml')] }
  const { call } = await open([{ path: dir, 'allow-home': true }], { ownPaths })
  for (const path of [
    '.config/Copilot-Proxy/config.yaml',
    '.config/copilot-proxy/config.yaml',
    '.CONFIG/copilot-proxy/x',
  ]) {
    expect(await failureOf(call('mcp.edit.applyPatch', createPatch(path))), path).toMatchObject({ kind: 'denied' })
  }
  const change = { unifiedDiff: diff.replaceAll('a.txt', 'proxy.yaml') }
  expect(await failureOf(call('mcp.edit.applyPatch', change))).toMatchObject({ kind: 'denied' })
  expect(await failureOf(call('mcp.fs.read', { path: 'proxy.yaml' }))).toMatchObject({ kind: 'denied' })
  expect(await call('mcp.edit.applyPatch', { unifiedDiff: diff })).toMatchObject({ ok: true })
  expect(await call('mcp.edit.applyPatch', createPatch('.config/other/config.yaml'))).toMatchObject({ ok: true })
})
