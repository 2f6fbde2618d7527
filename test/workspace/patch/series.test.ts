import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTree, failureOf } from '../tree.ts'
import { allow, openWorkspace } from './support.ts'

type Files = Readonly<Record<string, string>>

const part = (path: string, hunk: string): string => `--- a/${path}\n+++ b/${path}\n${hunk}`
const create = (path: string, lines: string): string =>
  `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,2 @@\n${lines}`
const remove = (path: string, hunk: string): string =>
  `diff --git a/${path} b/${path}\ndeleted file mode 100644\n--- a/${path}\n+++ /dev/null\n${hunk}`
const rename = (from: string, to: string): string =>
  `diff --git a/${from} b/${to}\nsimilarity index 100%\nrename from ${from}\nrename to ${to}\n`

const four = { 'a.txt': 'one\ntwo\nthree\nfour\n' }
const changeTwo = part('a.txt', '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n')

interface Case {
  readonly name: string
  readonly before: Files
  readonly parts: readonly string[]
  readonly after: Files
  /** The first line of each part of the diff that a person sees. */
  readonly shown: readonly string[]
}

const cases: readonly Case[] = [
  {
    name: 'a change of a change',
    before: four,
    parts: [changeTwo, part('a.txt', '@@ -1,3 +1,3 @@\n one\n-TWO\n+Two!\n three\n')],
    after: { 'a.txt': 'one\nTwo!\nthree\nfour\n' },
    shown: ['a.txt b/a.txt'],
  },
  {
    name: 'a change of a new file',
    before: {},
    parts: [create('n.txt', '+a\n+b\n'), part('n.txt', '@@ -1,2 +1,2 @@\n a\n-b\n+B\n')],
    after: { 'n.txt': 'a\nB\n' },
    shown: ['n.txt b/n.txt'],
  },
  {
    name: 'a deletion of a changed file',
    before: { 'a.txt': 'one\ntwo\n', 'b.txt': 'b\n' },
    parts: [part('a.txt', '@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n'), remove('a.txt', '@@ -1,2 +0,0 @@\n-one\n-TWO\n')],
    after: { 'b.txt': 'b\n' },
    shown: ['a.txt b/a.txt'],
  },
  {
    name: 'a rename between two changes',
    before: four,
    parts: [
      changeTwo,
      rename('a.txt', 'b.txt'),
      `diff --git a/b.txt b/b.txt\n${part('b.txt', '@@ -2,3 +2,3 @@\n TWO\n three\n-four\n+FOUR\n')}`,
    ],
    after: { 'b.txt': 'one\nTWO\nthree\nFOUR\n' },
    shown: ['a.txt b/b.txt'],
  },
  {
    name: 'a rename of a renamed file, and a new file in its place',
    before: four,
    parts: [rename('a.txt', 'b.txt'), rename('b.txt', 'c.txt'), create('a.txt', '+x\n+y\n')],
    after: { 'a.txt': 'x\ny\n', 'c.txt': four['a.txt'] },
    shown: ['a.txt b/c.txt', 'a.txt b/a.txt'],
  },
  {
    name: 'a new file that is deleted',
    before: four,
    parts: [create('n.txt', '+a\n+b\n'), remove('n.txt', '@@ -1,2 +0,0 @@\n-a\n-b\n'), changeTwo],
    after: { 'a.txt': 'one\nTWO\nthree\nfour\n' },
    shown: ['a.txt b/a.txt'],
  },
  {
    name: 'a deleted file that is created again',
    before: { 'a.txt': 'one\n' },
    parts: [remove('a.txt', '@@ -1 +0,0 @@\n-one\n'), create('a.txt', '+a\n+b\n')],
    after: { 'a.txt': 'a\nb\n' },
    shown: ['a.txt b/a.txt'],
  },
  {
    name: 'a part that fits both the file and the changed file',
    before: { 'a.txt': 'x\ny\nx\ny\nx\ny\n' },
    parts: [part('a.txt', '@@ -1,2 +1,4 @@\n+n\n+x\n x\n y\n'), part('a.txt', '@@ -3,3 +3,3 @@\n x\n-y\n+Y\n x\n')],
    after: { 'a.txt': 'n\nx\nx\nY\nx\ny\nx\ny\n' },
    shown: ['a.txt b/a.txt'],
  },
  {
    name: 'two independent parts',
    before: four,
    parts: [changeTwo, part('a.txt', '@@ -3,2 +3,2 @@\n three\n-four\n+FOUR\n')],
    after: { 'a.txt': 'one\nTWO\nthree\nFOUR\n' },
    shown: ['a.txt b/a.txt'],
  },
]

describe('parts of a patch that name a file again', () => {
  test.each(cases)('apply one after the other: $name', async ({ before, parts, after, shown }) => {
    const workspace = await openWorkspace(before)
    const start = await workspace.tree()
    let diff = ''
    const authorize = async (intent: { readonly diff: string }) => void (diff = intent.diff)
    await workspace.apply(parts.join(''), {}, { ...allow, authorize })
    const wanted = await (await openWorkspace(after)).tree()
    expect(await workspace.tree()).toEqual(wanted)
    expect(diff.match(/(?<=^diff --git a\/).*$/gm)).toEqual(shown)
    await workspace.undo()
    expect(await workspace.tree()).toEqual(start)
    // What was shown is what was done.
    await workspace.apply(diff)
    expect(await workspace.tree()).toEqual(wanted)
  })

  test.each(cases)('as git does with one after the other: $name', async ({ before, parts, after }) => {
    const { root } = await createTree()
    for (const [path, text] of Object.entries(before)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    execFileSync('git', ['init', '-q', root])
    for (const input of parts) execFileSync('git', ['apply', '-'], { cwd: root, input })
    const files = readdirSync(root).filter((name) => name !== '.git')
    expect(Object.fromEntries(files.map((name) => [name, readFileSync(join(root, name), 'utf8')]))).toEqual(after)
  })

  test('may refer to the file before the patch instead', async () => {
    const lines = 'a\nb\nc\n'.repeat(3)
    const workspace = await openWorkspace({ 'a.txt': lines })
    const first = part('a.txt', '@@ -1,1 +1,3 @@\n+new\n+new\n a\n')
    await workspace.apply(first + part('a.txt', '@@ -7,3 +9,3 @@\n a\n-b\n+B\n c\n'))
    expect(await workspace.text('a.txt')).toBe('new\nnew\na\nb\nc\na\nb\nc\na\nB\nc\n')
  })

  test('change nothing if one of them does not fit, and say which', async () => {
    const workspace = await openWorkspace(four)
    const third = part('a.txt', '@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n')
    const second = part('a.txt', '@@ -1,3 +1,3 @@\n one\n-TWO\n+Two!\n three\n')
    expect(await failureOf(workspace.apply(changeTwo + second + third))).toMatchObject({
      kind: 'conflict',
      conflicts: [{ expected: ['one', 'two'], found: ['one', 'Two!'] }],
    })
    expect(
      await failureOf(workspace.apply(remove('a.txt', `@@ -1,4 +0,0 @@\n-one\n-two\n-three\n-four\n`) + changeTwo)),
    ).toMatchObject({ kind: 'failed', detail: 'The patch changes a.txt after it has removed it. No file was changed.' })
    expect(await workspace.text('a.txt')).toBe(four['a.txt'])
  })

  test('keep the mode that one of them states', async () => {
    const workspace = await openWorkspace(four)
    await workspace.apply(`diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n${changeTwo}`)
    expect(await workspace.mode('a.txt')).toBe(0o755)
    expect(await workspace.text('a.txt')).toContain('TWO')
  })

  test('take the hash of the file before the patch', async () => {
    const workspace = await openWorkspace(four)
    const { sha256 } = await workspace.deps.folder.readFile('a.txt', { maxBytes: 100 })
    const series = changeTwo + part('a.txt', '@@ -1,3 +1,3 @@\n one\n-TWO\n+Two!\n three\n')
    expect(await failureOf(workspace.apply(series, { baseSha256: 'a'.repeat(64) }))).toMatchObject({ kind: 'conflict' })
    await workspace.apply(series, { baseSha256: sha256 })
    expect(await workspace.text('a.txt')).toContain('Two!')
  })
})
