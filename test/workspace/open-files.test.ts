import { describe, expect, test } from 'vitest'
import type { Folder } from '../../src/workspace/folder.ts'
import { createOpenFiles, formOf, likeEditor, withOpenFiles } from '../../src/workspace/open-files.ts'
import type { EditorRequest } from '../../src/workspace/open-files.ts'
import { applyPatch } from '../../src/workspace/patch/apply-patch.ts'
import { ownedJournal } from '../../src/workspace/patch/owned-journal.ts'
import { replaceText } from '../../src/workspace/patch/replace-text.ts'
import { undoChanges } from '../../src/workspace/patch/undo-changes.ts'
import { readText } from '../../src/workspace/read-text.ts'
import { rewriteFile } from '../../src/workspace/run-filter.ts'
import { allow, openWorkspace } from './patch/support.ts'
import { failureOf } from './tree.ts'
import type { Tree } from './patch/support.ts'

type Texts = Record<string, string>

/** A workspace with an editor, whose texts differ from the disk. */
async function openTyped(tree: Tree, texts: Texts, { takesTexts = true } = {}) {
  const workspace = await openWorkspace(tree)
  const asked: EditorRequest[] = []
  /** What happens in each pause. */
  const pauses: (() => void)[] = []
  const openFiles = createOpenFiles({
    takesTexts,
    async ask(request) {
      asked.push(request)
      const { path } = request
      if (request.action === 'write') texts[path] = await workspace.text(path)
      const text = texts[path]
      return text === undefined ? { ok: false } : { ok: true, text }
    },
    async pause() {
      pauses.shift()?.()
    },
  })
  const inRun = (runId: string) => ({
    ...workspace.deps,
    folder: withOpenFiles(workspace.deps.folder, openFiles),
    journal: ownedJournal(workspace.deps.journal, { ownerId: undefined, runId, openFiles }),
  })
  return {
    ...workspace,
    asked,
    pauses,
    openFiles,
    inRun,
    folder: inRun('r').folder,
    replace: (path: string, oldText: string, newText: string, context = allow) =>
      replaceText(inRun('r'), { path, oldText, newText }, context),
    patch: (unifiedDiff: string, context = allow) => applyPatch(inRun('r'), { unifiedDiff }, context),
    texts,
    onDisk: () =>
      Promise.all(Object.keys(tree).map(async (path) => [path, await workspace.text(path)] as const)).then(
        Object.fromEntries,
      ),
    undo: (args = {}) => undoChanges(workspace.deps, args, allow),
    undoInRun: (args = {}) => undoChanges({ ...inRun('r'), isAgent: true }, args, allow),
  }
}

const read = (folder: Folder, path: string) => readText(folder, { path }, { maxBytes: 4 * 1024 * 1024 })
const mark = '\uFEFF'
const diffOf = (path: string, before: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${before}\n+c\n`

describe('a text of an editor that differs from the disk', () => {
  test.each([
    ['in its lines', 'one\n', 'two\n', 'two\n'],
    ['in a file with CR LF, whose ends the editor keeps apart', 'a\r\nb\r\n', 'a\nx\nb\n', 'a\r\nx\r\nb\r\n'],
    ['in a file with a byte order mark, which the editor keeps apart', `${mark}one\n`, 'two\n', `${mark}two\n`],
    ['in an editor that leaves out the end of the last line', 'one\n', 'two', 'two\n'],
    ['by an empty line at the end', 'one\n', 'one\n\n', 'one\n\n'],
    ['by being empty', 'one\n', '', ''],
  ])('%s, is read with the form of the file', async (_how, disk, text, content) => {
    const { folder } = await openTyped({ x: disk }, { x: text })
    expect(await read(folder, 'x')).toMatchObject({ content, unsaved: true })
  })

  test.each([
    ['in nothing', 'one\n', 'one\n'],
    ['in line ends', 'a\r\nb\r\n', 'a\nb\n'],
    ['in the byte order mark', `${mark}one\n`, 'one\n'],
    ['in the end of the last line', 'one\n', 'one'],
  ])('only %s, is saved', async (_how, disk, text) => {
    const { folder } = await openTyped({ x: disk }, { x: text })
    expect(await read(folder, 'x')).not.toHaveProperty('unsaved')
    expect((await read(folder, 'x')).content).toBe(disk)
  })

  test('is not asked for where the file is no text, or long', async () => {
    const tree = { latin: Buffer.from([0x61, 0xe9]), long: 'x'.repeat(1024 * 1024 + 1) }
    const { folder, asked } = await openTyped(tree, { latin: 'a', long: 'a' })
    await failureOf(read(folder, 'latin'))
    expect((await read(folder, 'long')).size).toBe(1024 * 1024 + 1)
    expect(asked).toEqual([])
  })

  test('is found in a file and a text that are longer than the first look at them', async () => {
    const long = 'word\n'.repeat(20_000)
    const { folder } = await openTyped({ x: long, y: 'one\n' }, { x: `typed\n${long}`, y: long })
    for (const path of ['x', 'y']) {
      const limits = { maxBytes: 4 * 1024 * 1024, reserve: async () => {} }
      const { content } = await readText(folder, { path, range: { start: 2, end: 2 } }, limits)
      expect(content).toBe('word\n')
    }
  })
})

test('undo of a change gives back what was typed, and a second undo what was on disk', async () => {
  const { replace, undo, text, texts } = await openTyped({ x: 'one\n' }, { x: 'one\ntyped\n' })
  await replace('x', 'one', 'two')
  expect([await text('x'), texts['x']]).toEqual(['two\ntyped\n', 'two\ntyped\n'])
  await undo()
  expect(await text('x')).toBe('one\ntyped\n')
  await undo()
  expect(await text('x')).toBe('one\n')
})

test('undo of a run gives back what was typed before it, in several files', async () => {
  const { patch, undo, onDisk } = await openTyped({ x: 'a\n', y: 'a\n', z: 'a\n' }, { x: 'b\n', y: 'b\n', z: 'a\n' })
  await patch(diffOf('x', 'b') + diffOf('y', 'b') + diffOf('z', 'a'))
  expect(await onDisk()).toEqual({ x: 'c\n', y: 'c\n', z: 'c\n' })
  await undo({ run: 'r' })
  expect(await onDisk()).toEqual({ x: 'b\n', y: 'b\n', z: 'a\n' })
})

test('what a command has written is the newest text once the editor has loaded it', async () => {
  const { folder, openFiles, pauses, texts, asked } = await openTyped(
    { x: 'new\n', y: 'one\n' },
    { x: 'old\n', y: 'typed\n' },
  )
  openFiles.noteCommand()
  pauses.push(
    () => {},
    () => (texts['x'] = 'new\n'),
  )
  expect((await read(folder, 'x')).content).toBe('new\n')
  expect(asked).toHaveLength(3)
  // What stays is typed, and is not waited for again.
  expect(await read(folder, 'y')).toMatchObject({ content: 'typed\n', unsaved: true })
  expect(asked).toHaveLength(7)
  await read(folder, 'y')
  expect(asked).toHaveLength(8)
})

test('before a command, the editor is asked once', async () => {
  const { folder, asked } = await openTyped({ x: 'new\n' }, { x: 'typed\n' })
  expect(await read(folder, 'x')).toMatchObject({ content: 'typed\n', unsaved: true })
  expect(asked).toHaveLength(1)
})

test('an agent that undoes its last change once more leaves what the person has typed', async () => {
  const { replace, undoInRun, text } = await openTyped({ x: 'one\n' }, { x: 'one\ntyped\n' })
  await replace('x', 'one', 'two')
  await undoInRun()
  expect(await failureOf(undoInRun())).toMatchObject({ detail: 'There is no change to undo.' })
  expect(await text('x')).toBe('one\ntyped\n')
})

test('an undo refuses a file in which the person has typed since', async () => {
  const { replace, undoInRun, text, texts } = await openTyped({ x: 'one\n' }, { x: 'one\n' })
  await replace('x', 'one', 'two')
  texts['x'] = 'two\ntyped\n'
  expect(await failureOf(undoInRun())).toMatchObject({ kind: 'conflict' })
  expect(await text('x')).toBe('two\n')
})

test('an editor that still shows the text from before a change has typed nothing', async () => {
  const { folder, replace, text, texts } = await openTyped({ x: 'one\n' }, { x: 'one\n' })
  await replace('x', 'one', 'two')
  expect(texts['x']).toBe('one\n')
  expect((await read(folder, 'x')).content).toBe('two\n')
  await replace('x', 'two', 'three')
  expect(await text('x')).toBe('three\n')
  texts['x'] = 'three\ntyped\n'
  expect(await read(folder, 'x')).toMatchObject({ content: 'three\ntyped\n', unsaved: true })
})

test.each([
  ['removed', '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-typed\n', true],
  ['renamed', 'diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n', true],
  ['changed for an editor that takes no text', '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-typed\n+two\n', false],
])('a file with unsaved text is not %s', async (_what, diff, takesTexts) => {
  const { patch, onDisk, texts } = await openTyped({ x: 'one\n' }, { x: 'typed\n' }, { takesTexts })
  const context = { ...allow, authorize: () => Promise.reject(new Error('asked')) }
  expect(await failureOf(patch(diff, context))).toMatchObject({ detail: expect.stringContaining('save them first') })
  expect([await onDisk(), texts['x']]).toEqual([{ x: 'one\n' }, 'typed\n'])
})

test('a change that fails leaves the disk and the editor as they were', async () => {
  const { patch, write, onDisk, texts } = await openTyped({ x: 'one\n', y: 'one\n' }, { x: 'typed\n' })
  const context = { ...allow, authorize: () => write('y', 'by somebody else\n') }
  expect(await failureOf(patch(diffOf('x', 'typed') + diffOf('y', 'one'), context))).toMatchObject({ kind: 'conflict' })
  expect([await onDisk(), texts['x']]).toEqual([{ x: 'one\n', y: 'by somebody else\n' }, 'typed\n'])
})

test('a formatter gets what was typed, and its question says that the change saves it', async () => {
  const { folder, inRun, text, texts } = await openTyped({ x: 'one\n' }, { x: 'typed\n' })
  const told: (readonly string[] | undefined)[] = []
  const context = {
    files: folder,
    journal: inRun('r').journal,
    maxFileBytes: 1024 * 1024,
    signal: allow.signal,
    authorize: async ({ notes }: { readonly notes?: readonly string[] }) => void told.push(notes),
    run: () => Promise.reject(new Error('not a program')),
  }
  await rewriteFile(folder, { path: 'x' }, context, async (_folder, _path, before) => before.toUpperCase())
  expect([await text('x'), texts['x']]).toEqual(['TYPED\n', 'TYPED\n'])
  expect(told).toEqual([['x has changes in the editor that are not saved. This change saves them.']])
})

test('a person who brings back in the editor what they had typed has typed it', async () => {
  const { folder, replace, texts } = await openTyped({ x: 'one\n' }, { x: 'typed\n' })
  await replace('x', 'typed', 'two')
  texts['x'] = 'typed\n'
  expect(await read(folder, 'x')).toMatchObject({ content: 'typed\n', unsaved: true })
})

test('an editor that is silent is asked once in a run, and again in the next', async () => {
  const { folder } = (await openTyped({ x: 'one\n', y: 'one\n' }, {})).deps
  let asked = 0
  const silent = () =>
    createOpenFiles({
      takesTexts: true,
      async ask() {
        asked += 1
        return undefined
      },
      async pause() {},
    })
  for (const run of [silent(), silent()]) {
    for (const path of ['x', 'y', 'x']) expect((await read(withOpenFiles(folder, run), path)).content).toBe('one\n')
  }
  expect(asked).toBe(2)
})

test.each([
  ['a\r\nb\r\n', 'a\nx\n', 'a\nb\n'],
  ['a\r\nb\r\n', 'a\r\n', 'a\r\nb\r\n'],
  [`${mark}a\n`, 'b\n', 'a\n'],
  [`${mark}a\n`, `${mark}b\n`, `${mark}a\n`],
  ['a\n', 'b', 'a'],
  ['a\r\n', 'b', 'a'],
  ['a\n', '', 'a\n'],
])('the text %j goes to an editor that gave %j as %j', (text, given, sent) => {
  expect(likeEditor(text, formOf(given))).toBe(sent)
})
