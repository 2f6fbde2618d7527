import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listFiles } from '../../src/workspace/list-files.ts'
import { guardFolder } from '../../src/workspace/policy/guard-folder.ts'
import { openPolicy } from '../../src/workspace/policy/open-policy.ts'
import { readText } from '../../src/workspace/read-text.ts'
import { searchCode } from '../../src/workspace/search-code.ts'
import { openWorkspace, type Tree } from './patch/support.ts'
import { failureOf } from './tree.ts'
import { confirming } from './policy/confirm.ts'

const { signal } = new AbortController()
const ignore = (): void => {}
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore }
const limits = { maxBytes: 1000 }

const decomposed = 'gru\u0308n'
const composed = 'gr\u00fcn'

async function workspaceWith(tree: Tree) {
  const workspace = await openWorkspace(tree)
  const { folder } = workspace.deps
  return {
    ...workspace,
    read: async (path: string) => (await readText(folder, { path }, limits)).content,
    list: async (glob = '') => (await listFiles(folder, { glob }, signal)).files,
    search: async (glob = '') =>
      (await searchCode(folder, { query: 'needle', glob }, signal)).hits.map(({ file }) => file),
  }
}

const patchOf = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1,2 +1,2 @@\n needle\n-two\n+TWO\n`

describe('a name that exists', () => {
  test.each([
    ['as macOS writes it', `a/${decomposed}.txt`],
    ['in form C', `a/${composed}.txt`],
    ['in a folder as macOS writes it', `${decomposed}/${decomposed}/a.txt`],
    ['with a joiner of Persian', 'a/\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.txt'],
    ['with joiners of an emoji', 'a/\u{1f468}\u200d\u{1f469}\u200d\u{1f467}.txt'],
    ['with the text style of an emoji', 'a/\u2764\ufe0f.txt'],
    ['with a mark that reorders a text', 'a/x\u202etxt.exe'],
  ])('%s works in every tool as it is listed', async (_name, path) => {
    const workspace = await workspaceWith({ [path]: 'needle\ntwo\n' })
    expect(await workspace.list()).toEqual([path])
    expect(await workspace.search()).toEqual([path])
    for (const glob of [path, `${dirname(path)}/*`, dirname(path)]) {
      expect(await workspace.list(glob), glob).toEqual([path])
      expect(await workspace.search(glob), glob).toEqual([path])
    }
    expect(await workspace.read(path)).toBe('needle\ntwo\n')
    await workspace.apply(patchOf(path))
    expect(await workspace.text(path)).toBe('needle\nTWO\n')
    await workspace.undo()
    expect(await workspace.text(path)).toBe('needle\ntwo\n')
    expect(await readdir(join(workspace.root, dirname(path)))).toHaveLength(1)
  })

  test.each([
    [`a/${decomposed}.txt`, `a/${composed}.txt`],
    [`a/${composed}.txt`, `a/${decomposed}.txt`],
    [`${decomposed}/x/${composed}.txt`, `${composed}/x/${decomposed}.txt`],
  ])('%j is found as %j, its other form', async (path, given) => {
    const workspace = await workspaceWith({ [path]: 'needle\ntwo\n' })
    expect(await workspace.read(given)).toBe('needle\ntwo\n')
    for (const glob of [given, `${dirname(given)}/*.txt`, given.slice(given.lastIndexOf('/') + 1)]) {
      expect(await workspace.list(glob), glob).toEqual([path])
      expect(await workspace.search(glob), glob).toEqual([path])
    }
    expect((await workspace.apply(patchOf(given))).files).toMatchObject([{ path }])
    expect(await workspace.text(path)).toBe('needle\nTWO\n')
    expect(await workspace.list()).toEqual([path])
  })

  test('is meant before its other form, and a name that is equal to two is refused', async () => {
    const [a, b] = ['\u1e69.txt', 's\u0323\u0307.txt']
    const workspace = await workspaceWith({ [a]: 'one', [b]: 'two' })
    expect(await workspace.read(a)).toBe('one')
    expect(await workspace.read(b)).toBe('two')
    expect(await failureOf(workspace.read('s\u0307\u0323.txt'))).toMatchObject({
      kind: 'denied',
      detail: expect.stringContaining('names 2 files that differ only in their Unicode form'),
    })
  })

  test('is found behind a link', async () => {
    const workspace = await workspaceWith({ [`real/${decomposed}.txt`]: 'needle' })
    await symlink('real', join(workspace.root, 'link'))
    expect(await workspace.read(`link/${composed}.txt`)).toBe('needle')
  })
})

describe('a new name', () => {
  test.each([
    ['that reorders a text', 'x\u202etxt.exe'],
    ['with a joiner', '\u0645\u06cc\u200c\u062e.txt'],
    ['in another form', `${decomposed}.txt`],
    ['in a new folder in another form', `${decomposed}/a.txt`],
  ])('%s is refused', async (_name, path) => {
    const workspace = await workspaceWith({ 'a.txt': '' })
    const create = `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+new\n`
    expect(await failureOf(workspace.apply(create))).toMatchObject({ kind: 'denied' })
    expect(await failureOf(workspace.deps.folder.writeFile(path, Buffer.from('x')))).toMatchObject({ kind: 'denied' })
    expect(await failureOf(workspace.read(path))).toMatchObject({ kind: 'denied' })
    expect(await workspace.list()).toEqual(['a.txt'])
  })

  test('that exists in another form creates no second file', async () => {
    const workspace = await workspaceWith({ [`${decomposed}.txt`]: 'old\n' })
    const create = `--- /dev/null\n+++ b/${composed}.txt\n@@ -0,0 +1 @@\n+new\n`
    expect(await failureOf(workspace.apply(create))).toMatchObject({ kind: 'conflict' })
    expect(await failureOf(workspace.deps.folder.writeFile(`${composed}.txt`, Buffer.from('x')))).toMatchObject({
      kind: 'denied',
    })
    expect(await workspace.list()).toEqual([`${decomposed}.txt`])
  })

  test('in form C is created', async () => {
    const workspace = await workspaceWith({})
    await workspace.apply(`--- /dev/null\n+++ b/${composed}/${composed}.txt\n@@ -0,0 +1 @@\n+new\n`)
    expect(await readFile(join(workspace.root, `${composed}/${composed}.txt`), 'utf8')).toBe('new\n')
  })
})

test('a rule of the policy holds for every form of a name', async () => {
  const workspace = await workspaceWith({ [`${decomposed}/a.txt`]: 'needle', 'b.txt': 'needle' })
  const { root, deps } = workspace
  for (const name of [composed, decomposed]) {
    await writeFile(
      join(root, '.agent-policy.yaml'),
      `reads: { deny: ["${name}/**"] }\nwrites: { allow: ["${name}/*"] }\n`,
    )
    const policy = openPolicy(deps.folder, { consents: confirming(deps.folder.root), log: silent })
    const guarded = guardFolder(deps.folder, policy)
    for (const path of [`${composed}/a.txt`, `${decomposed}/a.txt`]) {
      expect(await failureOf(readText(guarded, { path }, limits)), path).toMatchObject({ kind: 'denied' })
    }
    expect((await searchCode(guarded, { query: 'needle' }, signal)).hits.map(({ file }) => file)).toEqual(['b.txt'])
    policy.close()
  }
})

test('a nested policy of a folder holds for its other form', async () => {
  const workspace = await workspaceWith({ [`${decomposed}/a.txt`]: 'needle' })
  await mkdir(join(workspace.root, decomposed), { recursive: true })
  await writeFile(join(workspace.root, decomposed, '.agent-policy.yaml'), 'reads: { deny: ["a.txt"] }\n')
  await writeFile(join(workspace.root, '.agent-policy.yaml'), 'writes: { allow: ["**"] }\n')
  const policy = openPolicy(workspace.deps.folder, {
    consents: confirming(workspace.deps.folder.root),
    log: silent,
  })
  const guarded = guardFolder(workspace.deps.folder, policy)
  expect(await failureOf(readText(guarded, { path: `${composed}/a.txt` }, limits))).toMatchObject({ kind: 'denied' })
  policy.close()
})
