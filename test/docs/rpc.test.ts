import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import nodeProcess from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { connect, type Methods } from '../../docs/rpc-client.ts'
import { checkArguments } from '../../src/tools/check-arguments.ts'
import type { GitDiff, GitLog, GitStatus } from '../../src/workspace/git/read-git.ts'
import type { BackgroundReport } from '../../src/workspace/background-commands.ts'
import type { FileList } from '../../src/workspace/list-files.ts'
import type { PatchResult } from '../../src/workspace/patch/apply-patch.ts'
import type { Text } from '../../src/workspace/read-text.ts'
import type { CommandEnd } from '../../src/workspace/run-command.ts'
import type { RewriteResult } from '../../src/workspace/run-filter.ts'
import type { SearchResult } from '../../src/workspace/search-code.ts'
import type { SymbolList } from '../../src/workspace/symbols/find-symbols.ts'
import { openProxy } from '../http/harness.ts'
import { fakeWorkspaces, openRpcApp } from '../rpc/support.ts'
import { makeFolder } from '../tools/session.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

async function codeIn(page: string, language: string): Promise<string> {
  const text = await readFile(join(root, page), 'utf8')
  const code = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(text)?.[1]
  if (code === undefined) throw new Error(`${page} has no code in ${language}`)
  return code
}

/** A folder below the repository's own, so that programs find its packages. */
async function folder(): Promise<string> {
  const path = await mkdtemp(join(root, 'node_modules', '.rpc-client-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

async function open(): Promise<string> {
  const { workspaces } = fakeWorkspaces()
  return (await openRpcApp({ workspaces: () => workspaces })).url
}

/** The address of a daemon with this workspace. */
async function openRealTools(path: string): Promise<string> {
  const file = JSON.stringify({ workspaces: [path], workspace: { 'read-only': false } })
  const { daemon } = await openProxy({ file })
  return `${daemon.url.replace('http:', 'ws:')}/rpc`
}

test('the client in Node.js calls a tool', async () => {
  const file = join(await folder(), 'client.mjs')
  await writeFile(file, await codeIn('docs/rpc.md', 'js'))
  const { stdout } = await run(nodeProcess.execPath, [file, await open()])
  expect(stdout).toContain("session: 'foo'")
  expect(stdout).toContain("path: 'README.md'")
})

/** Debian's own Python has its packages even where another one is the first on PATH. */
const pythons = ['python3', '/usr/bin/python3']
const found = await Promise.all(
  pythons.map((python) =>
    run(python, ['-c', 'import websockets']).then(
      () => python,
      () => undefined,
    ),
  ),
)
const python = found.find((each) => each !== undefined)

test.skipIf(python === undefined)('the client in Python calls a tool (needs python3-websockets)', async () => {
  const file = join(await folder(), 'client.py')
  await writeFile(file, await codeIn('docs/rpc.md', 'python'))
  const { stdout } = await run(python ?? '', [file, await open()])
  expect(JSON.parse(stdout)).toEqual({ session: 'foo', args: { path: 'README.md' } })
})

/** Node.js strips no types below node_modules. */
async function typedExample(change: (code: string) => string = (code) => code) {
  const dir = await mkdtemp(join(root, 'test/docs/.typed-client-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  await copyFile(join(root, 'docs/rpc-client.ts'), join(dir, 'rpc-client.ts'))
  await writeFile(join(dir, 'example.ts'), change(await codeIn('docs/rpc.md', 'ts')))
  await writeFile(join(dir, 'package.json'), '{ "type": "module" }')
  const compilerOptions = { incremental: false, tsBuildInfoFile: null, types: ['node'] }
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }
  await writeFile(join(dir, 'tsconfig.json'), JSON.stringify(config))
  const check = () =>
    run(nodeProcess.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', dir]).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    )
  return { dir, check }
}

test('the typed client has the types that its example uses, and refuses other parameters', async () => {
  expect(await (await typedExample()).check()).toBe('')
  const wrong = await typedExample((code) => code.replace('maxResults: 5', "maxResults: '5'"))
  expect(await wrong.check()).toContain("Type 'string' is not assignable to type 'number'")
})

test('the typed client finds, reads, cancels and reports errors of a daemon with a workspace', async () => {
  const files = await makeFolder({
    'README.md': 'copilot\ntwo\nthree\nfour\n',
    '.agent-policy.yaml': 'shell: { allow: [sleep 60] }',
  })
  const url = await openRealTools(files)
  const { dir } = await typedExample()
  const { stdout } = await run(nodeProcess.execPath, [join(dir, 'example.ts'), url])
  expect(stdout).toBe('README.md:1\ncopilot\ntwo\nthree\n\n')
  const client = await connect(url)
  onTestFinished(client.close)
  await expect(client.call('mcp.fs.read', { path: '../x' })).rejects.toMatchObject({ code: -32001 })
  const controller = new AbortController()
  const sleeping = client.call('mcp.shell.run', { cmd: 'sleep 60' }, { signal: controller.signal })
  controller.abort()
  await expect(sleeping).rejects.toMatchObject({ code: -32800 })
})

test('the typed client knows each tool with its parameters', async () => {
  const samples: { readonly [M in keyof Methods]: Required<Methods[M]['params']> } = {
    'mcp.fs.read': { path: 'a', range: { start: 1, end: 2 } },
    'mcp.fs.list': { glob: '*', limit: 1 },
    'mcp.search.code': { query: 'a', glob: '*', maxResults: 1, regex: true, caseSensitive: true },
    'mcp.symbols.list': { path: 'a' },
    'mcp.edit.applyPatch': { unifiedDiff: '', verify: true, baseSha256: 'a'.repeat(64), format: true, dryRun: true },
    'mcp.edit.replace': { path: 'a', oldText: 'a', newText: 'b', all: true, format: true, dryRun: true },
    'mcp.edit.undo': { id: 'a', run: 'b', ids: ['00000001'], dryRun: true },
    'mcp.format.apply': { path: 'a' },
    'mcp.imports.organize': { path: 'a' },
    'mcp.git.status': { path: 'a' },
    'mcp.git.diff': { path: 'a' },
    'mcp.git.log': { path: 'a', limit: 1 },
    'mcp.task.run': { name: 'a', args: ['a'], timeoutMs: 1, background: true },
    'mcp.shell.run': { argv: ['a'], cmd: 'a', cwd: 'a', timeoutMs: 1, background: true },
    'mcp.shell.output': { id: 'a', waitMs: 1 },
    'mcp.shell.stop': { id: 'a' },
    'mcp.plan.set': { items: [{ text: 'a', state: 'pending' }] },
    'mcp.tools.list': {},
    'mcp.tools.call': { name: 'a', args: {} },
    'mcp.policy.get': {},
    'mcp.session.list': {},
  }
  const client = await connect(await openRealTools(await makeFolder()))
  onTestFinished(client.close)
  const { tools } = await client.call('mcp.tools.list', {})
  for (const { name, parameters } of tools) {
    expect(() => checkArguments({ ...parameters }, samples[name as keyof Methods]), name).not.toThrow()
    const { properties } = parameters as { readonly properties: object }
    expect(Object.keys(samples[name as keyof Methods]).toSorted(), name).toEqual(Object.keys(properties).toSorted())
  }
  expect(tools.map(({ name }) => name).toSorted()).toEqual(Object.keys(samples).toSorted())
})

test('the results of the typed client have the types of the tools', () => {
  expectTypeOf<Text>().toExtend<Frozen<Methods['mcp.fs.read']['result']>>()
  expectTypeOf<FileList>().toExtend<Frozen<Methods['mcp.fs.list']['result']>>()
  expectTypeOf<SearchResult>().toExtend<Frozen<Methods['mcp.search.code']['result']>>()
  expectTypeOf<SymbolList>().toExtend<Frozen<Methods['mcp.symbols.list']['result']>>()
  expectTypeOf<PatchResult>().toExtend<Frozen<Methods['mcp.edit.applyPatch']['result']>>()
  expectTypeOf<RewriteResult>().toExtend<Frozen<Methods['mcp.format.apply']['result']>>()
  expectTypeOf<GitStatus>().toExtend<Frozen<Methods['mcp.git.status']['result']>>()
  expectTypeOf<GitDiff>().toExtend<Frozen<Methods['mcp.git.diff']['result']>>()
  expectTypeOf<GitLog>().toExtend<Frozen<Methods['mcp.git.log']['result']>>()
  expectTypeOf<BackgroundReport>().toExtend<Frozen<Methods['mcp.shell.output']['result']>>()
  expectTypeOf<CommandEnd>().toExtend<Frozen<Methods['mcp.shell.run']['result']>>()
})

type Frozen<T> = T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T
