import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createCodeTools } from '../../src/tools/code-tools.ts'
import { createWorkspaceTools } from '../../src/tools/workspace-tools.ts'
import { openJournal, type Journal } from '../../src/workspace/patch/journal.ts'
import { makeFolder, openTools, policyOf } from './session.ts'
import { failureOf } from '../workspace/tree.ts'

const prettierWords = 'node_modules/.bin/prettier --stdin-filepath'

/** Creates a workspace with writable `.ts` files and the real prettier in its node_modules, and its tools. */
async function openCodeTools(files: Readonly<Record<string, string>>, command = prettierWords) {
  const policy = policyOf(
    (path) => /\.(?:ts|py|md)$/.test(path),
    (argv) => argv.join(' ') === command,
  )
  const dir = await makeFolder()
  let opening: Promise<Journal> | undefined
  const deps = {
    journal: (): Promise<Journal> => (opening ??= openJournal({ folder: opened.session.folder, dir, now: Date.now })),
  }
  const sources = [createWorkspaceTools(deps), createCodeTools(deps)]
  const opened = await openTools(
    // These sources do not use the session.
    sources.flatMap(({ tools }) => tools(undefined as never)),
    { policy },
  )
  const { root } = opened.session.folder
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  for (const [path, text] of Object.entries(files)) await write(path, text)
  const program = fileURLToPath(new URL('bin/prettier.cjs', import.meta.resolve('prettier')))
  await mkdir(join(root, 'node_modules/.bin'), { recursive: true })
  const script = `#!${execPath}\nrequire(${JSON.stringify(program)})\n`
  await writeFile(join(root, 'node_modules/.bin/prettier'), script, { mode: 0o755 })
  return { ...opened, write, read: (path: string) => readFile(join(root, path), 'utf8') }
}

describe('createCodeTools', () => {
  it('list symbols', async () => {
    const { call } = await openCodeTools({ 'a.ts': 'class A {}\n' })
    expect(await call('mcp.symbols.list', { path: 'a.ts' })).toMatchObject({
      symbols: [{ name: 'A', kind: 'class' }],
      truncated: false,
    })
  })

  it('format with the prettier of the workspace if the policy allows its fixed arguments', async () => {
    const { call, read } = await openCodeTools({ '.prettierrc': 'semi: false', 'a.ts': 'let a  = 1;' })
    expect(await call('mcp.format.apply', { path: 'a.ts' })).toMatchObject({ ok: true, changed: true })
    expect(await read('a.ts')).toBe('let a = 1\n')
  })

  it('run no formatter that the policy does not allow', async () => {
    const { call, read } = await openCodeTools({ '.prettierrc': '', 'a.ts': 'let a  = 1;' }, 'other')
    expect(await failureOf(call('mcp.format.apply', { path: 'a.ts' }))).toMatchObject({ kind: 'denied' })
    expect(await read('a.ts')).toBe('let a  = 1;')
  })

  it('write no file that the policy does not allow', async () => {
    const { call, read } = await openCodeTools({ 'a.js': `import a from 'a'\n` })
    expect(await failureOf(call('mcp.format.apply', { path: 'a.js' }))).toMatchObject({ kind: 'denied' })
    expect(await failureOf(call('mcp.imports.organize', { path: 'a.js' }))).toMatchObject({ kind: 'denied' })
    expect(await read('a.js')).toBe(`import a from 'a'\n`)
  })

  it('organise imports', async () => {
    const { call, read } = await openCodeTools({ 'a.ts': `import b from 'b'\nimport a from 'a'\n\na(b)\n` })
    expect(await call('mcp.imports.organize', { path: 'a.ts' })).toMatchObject({ ok: true, changed: true })
    expect(await read('a.ts')).toBe(`import a from 'a'\nimport b from 'b'\n\na(b)\n`)
  })

  it('undo a format and organised imports, one after the other', async () => {
    const text = `import b from 'b'\nimport a from 'a'\n\na(b   )\n`
    const { call, read } = await openCodeTools({ 'a.ts': text })
    const { id } = await call('mcp.imports.organize', { path: 'a.ts' })
    const organised = await read('a.ts')
    await call('mcp.format.apply', { path: 'a.ts' })
    expect(await failureOf(call('mcp.edit.undo', { id }))).toMatchObject({ kind: 'conflict' })
    await call('mcp.edit.undo')
    expect(await read('a.ts')).toBe(organised)
    await call('mcp.edit.undo')
    expect(await read('a.ts')).toBe(text)
  })
})

function patchOf(path: string, before: string, after: string): string {
  return `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${before}\n+${after}\n`
}

function creationOf(path: string, lines: readonly string[]): string {
  return `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join('')}`
}

describe('applyPatch with format', () => {
  it('organises the imports of a patched file and formats it, as one change that undo reverts', async () => {
    const before = `import b from 'b'\nimport a from 'a'\n\na(b   )\n`
    const { call, read } = await openCodeTools({ 'src/a.ts': before })
    const diff = `--- a/src/a.ts\n+++ b/src/a.ts\n@@ -3,2 +3,3 @@\n \n a(b   )\n+b( a )\n`
    const result = await call('mcp.edit.applyPatch', { unifiedDiff: diff, format: true })
    expect(result).toMatchObject({ ok: true, unformatted: [] })
    expect(await read('src/a.ts')).toBe(`import a from "a";\nimport b from "b";\n\na(b);\nb(a);\n`)
    const { sha256 } = await call('mcp.fs.read', { path: 'src/a.ts' })
    expect(result['files']).toMatchObject([{ path: 'src/a.ts', after: sha256 }])
    await call('mcp.edit.undo', { id: result['id'] })
    expect(await read('src/a.ts')).toBe(before)
  })

  it('asks for the write with the formatted text', async () => {
    const { call } = await openCodeTools({ 'a.ts': 'let a = 1\n' })
    const intents: unknown[] = []
    const approve = async (intent: unknown): Promise<boolean> => intents.push(intent) > 0
    const args = { unifiedDiff: patchOf('a.ts', 'let a = 1', 'let  b  =  2'), format: true }
    await call('mcp.edit.applyPatch', args, { approve })
    expect(intents).toMatchObject([{ writes: ['a.ts'], diff: expect.stringMatching(/^-let a = 1\n\+let b = 2;\n/m) }])
  })

  it('formats with the formatter of the workspace, also new files and files in a dry run', async () => {
    const { call, read } = await openCodeTools({ '.prettierrc': 'semi: false' })
    const unifiedDiff = creationOf('new/a.ts', ['let a  = 1;'])
    const tried = await call('mcp.edit.applyPatch', { unifiedDiff, format: true, dryRun: true })
    const done = await call('mcp.edit.applyPatch', { unifiedDiff, format: true })
    expect(done['files']).toEqual(tried['files'])
    expect(await read('new/a.ts')).toBe('let a = 1\n')
  })

  it('reports which files were not formatted and why, and patches them anyway', async () => {
    const { call, read } = await openCodeTools({ 'a.py': 'a  = 1\n', 'b.ts': 'let b\n' })
    const unifiedDiff =
      patchOf('a.py', 'a  = 1', 'a  = 2') + patchOf('b.ts', 'let b', 'let = (') + creationOf('c.ts', ['let  c'])
    expect(await call('mcp.edit.applyPatch', { unifiedDiff, format: true })).toMatchObject({
      ok: true,
      unformatted: [
        { path: 'a.py', reason: expect.stringContaining('The workspace has no formatter for Python.') },
        { path: 'b.ts', reason: expect.stringContaining('syntax error') },
      ],
    })
    expect([await read('a.py'), await read('b.ts'), await read('c.ts')]).toEqual(['a  = 2\n', 'let = (\n', 'let c;\n'])
  })

  it('starts no formatter that the policy does not allow', async () => {
    const { call, read } = await openCodeTools({ '.prettierrc': '', 'a.ts': 'let a  = 1\n' }, 'other')
    const args = { unifiedDiff: patchOf('a.ts', 'let a  = 1', 'let a  = 2'), format: true }
    expect(await call('mcp.edit.applyPatch', args)).toMatchObject({
      unformatted: [{ path: 'a.ts', reason: 'denied by the test' }],
    })
    expect(await read('a.ts')).toBe('let a  = 2\n')
  })

  it('does not format a file that is only renamed or removed', async () => {
    const { call, read } = await openCodeTools({ 'a.ts': 'let a  = 1\n', 'gone.ts': 'gone\n' })
    const rename = 'diff --git a/a.ts b/b.ts\nsimilarity index 100%\nrename from a.ts\nrename to b.ts\n'
    const removal = 'diff --git a/gone.ts b/gone.ts\n--- a/gone.ts\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n'
    await call('mcp.edit.applyPatch', { unifiedDiff: rename + removal, format: true })
    expect(await read('b.ts')).toBe('let a  = 1\n')
  })

  it('changes nothing if formatting reverts all changes of the patch', async () => {
    const { call, read } = await openCodeTools({ 'a.ts': 'let a = 1;\n' })
    const args = { unifiedDiff: patchOf('a.ts', 'let a = 1;', 'let  a = 1'), format: true }
    expect(await call('mcp.edit.applyPatch', args)).toEqual({ ok: true, files: [], conflicts: [], unformatted: [] })
    expect(await read('a.ts')).toBe('let a = 1;\n')
  })

  it('refuses to undo a file that has changed after formatting', async () => {
    const { call, read, write } = await openCodeTools({ 'a.ts': 'let a\n' })
    await call('mcp.edit.applyPatch', { unifiedDiff: patchOf('a.ts', 'let a', 'let  b'), format: true })
    await write('a.ts', 'mine\n')
    expect(await failureOf(call('mcp.edit.undo'))).toMatchObject({ kind: 'conflict' })
    expect(await read('a.ts')).toBe('mine\n')
  })
})
