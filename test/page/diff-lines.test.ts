import { expect, test } from 'vitest'
import { parseDiff, parsePatch } from '../../src/page/static/diff-lines.js'

test('numbers the lines of each hunk and counts what changes', () => {
  const [file] = parseDiff('--- a/src/a.ts\n+++ b/src/a.ts\n@@ -3,3 +3,4 @@ context\n one\n-two\n+2\n+2.5\n three\n')
  expect(file).toMatchObject({ path: 'src/a.ts', change: 'modified', added: 2, removed: 1 })
  expect(file?.hunks[0]?.lines).toEqual([
    { kind: 'context', oldLine: 3, newLine: 3, text: 'one' },
    { kind: 'removed', oldLine: 4, text: 'two' },
    { kind: 'added', newLine: 4, text: '2' },
    { kind: 'added', newLine: 5, text: '2.5' },
    { kind: 'context', oldLine: 5, newLine: 6, text: 'three' },
  ])
})

test('tells new and deleted files, and several files apart', () => {
  const files = parseDiff(
    'diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n' +
      '--- a/y\t2026-11-24\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n',
  )
  expect(files.map(({ path, change, added, removed }) => ({ path, change, added, removed }))).toEqual([
    { path: 'x', change: 'created', added: 1, removed: 0 },
    { path: 'y', change: 'deleted', added: 0, removed: 1 },
  ])
  expect(files[0]?.hunks[0]?.lines[1]).toEqual({ kind: 'note', text: 'No newline at end of file' })
})

test('takes a removed line that looks like a file header as a line', () => {
  const [file, ...others] = parseDiff('--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- drop it\n+++ keep it\n same\n')
  expect(others).toEqual([])
  expect(file?.hunks[0]?.lines).toMatchObject([
    { kind: 'removed', text: '-- drop it' },
    { kind: 'added', text: '++ keep it' },
    { kind: 'context', text: 'same' },
  ])
})

test('hides no line of a text that is no proper diff', () => {
  const source = 'rm -rf /\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+smuggled\n'
  const shown = parseDiff(source).flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines.map(({ text }) => text)))
  expect(shown).toEqual(['rm -rf /', 'a', 'b', '+smuggled'])
})

test('a patch in the format of GPT models has its files, with their lines before and after', () => {
  const patch =
    'Here it is:\n*** Begin Patch\n*** Update File: src/a.ts \n*** Move to: src/b.ts\n@@ class A\n same\n-old\n+new\n+*** Add File: x\n' +
    '*** Add File: c.ts\n+--- a/c.ts\n*** Delete File: d.ts\n*** End Patch\n'
  expect(parsePatch(patch)).toMatchObject([
    {
      path: 'src/b.ts',
      change: 'modified',
      added: 2,
      removed: 1,
      hunks: [{ lines: [{ kind: 'context' }, {}, {}, {}] }],
    },
    { path: 'c.ts', change: 'created', added: 1, hunks: [{ lines: [{ kind: 'added', text: '--- a/c.ts' }] }] },
    { path: 'd.ts', change: 'deleted', hunks: [] },
  ])
})

test('a unified diff that adds the words of such a patch stays one, and other texts name no file', () => {
  const diff = '--- a/x.md\n+++ b/x.md\n@@ -1 +1 @@\n-a\n+*** Add File: y\n'
  expect(parsePatch(diff)).toEqual(parseDiff(diff))
  expect(parsePatch('Change the file, please.')).toEqual([])
})
