import { describe, expect, test } from 'vitest'
import { failureOf } from '../tree.ts'
import { allow, openWorkspace, turnsDuring } from './support.ts'

const shop =
  'export function total(items) {\n  return items.length\n}\n\nexport function count(items) {\n  return items.length\n}\n'

describe('a text that the file has once', () => {
  test.each([
    ['a part of a line', 'one two\n', 'two', 'three', 'one three\n'],
    ['lines', 'a\nb\nc\n', 'a\nb\n', 'x\n', 'x\nc\n'],
    ['with nothing', 'a\nb\nc\n', 'b\n', '', 'a\nc\n'],
    ['what the replacement of a regular expression would mean', 'cost\n', 'cost', '$& $1 $$', '$& $1 $$\n'],
    ['at the end, without a newline', 'a\nlast', 'last', 'end\nof it', 'a\nend\nof it'],
    ['letters of several bytes', 'grün 🙂\n', 'ün 🙂', 'au', 'grau\n'],
    ['in a file with CR LF', 'a\r\nb\r\nc\r\n', 'a\nb', 'x\ny\nz', 'x\r\ny\r\nz\r\nc\r\n'],
    ['part of a line with CR LF', 'a\r\nb\r\n', 'b', 'x\ny', 'a\r\nx\r\ny\r\n'],
    ['with its own CR LF', 'a\r\nb\r\n', 'a\r\nb', 'x\r\ny', 'x\r\ny\r\n'],
    ['with CR LF in a file without', 'a\nb\n', 'a\r\nb', 'x\r\ny', 'x\ny\n'],
    ['in a file with both line ends', 'a\r\nb\nc\r\n', 'a\nb', 'x\ny', 'x\r\ny\nc\r\n'],
    ['after a byte order mark', '\uFEFFa\n', 'a', 'b', '\uFEFFb\n'],
  ])('is replaced: %s', async (_title, before, oldText, newText, after) => {
    const workspace = await openWorkspace({ 'a.txt': before })
    const result = await workspace.replace('a.txt', oldText, newText)
    expect(result).toMatchObject({ ok: true, id: expect.any(String), files: [{ path: 'a.txt' }], conflicts: [] })
    expect(await workspace.text('a.txt')).toBe(after)
    await workspace.undo({ id: result.id })
    expect(await workspace.text('a.txt')).toBe(before)
  })

  test('keeps bytes that are not UTF-8, and the mode of the file', async () => {
    const workspace = await openWorkspace({ run: Buffer.from('\xff old\n', 'latin1') })
    await workspace.chmod('run', 0o755)
    await workspace.replace('run', 'old', 'new')
    const old = workspace.tree()
    expect(await old).toEqual({ run: '100755 \xff new\n' })
  })

  test('is shown as a diff before anything is written, and a refusal changes nothing', async () => {
    const workspace = await openWorkspace({ 'a.txt': 'a\n' })
    let shown = ''
    const authorize: typeof allow.authorize = async (intent) => {
      shown = intent.diff
      throw new Error('refused')
    }
    await expect(workspace.replace('a.txt', 'a', 'b', {}, { ...allow, authorize })).rejects.toThrow('refused')
    expect(shown).toContain('-a\n+b\n')
    expect(await workspace.text('a.txt')).toBe('a\n')
  })

  test('is not replaced in a dry run, which says what would happen and asks nobody', async () => {
    const workspace = await openWorkspace({ 'a.txt': 'a\n' })
    const nobody = { ...allow, authorize: () => Promise.reject(new Error('asked')) }
    const result = await workspace.replace('a.txt', 'a', 'b', { dryRun: true }, nobody)
    expect(result).toEqual({ ok: true, files: [expect.objectContaining({ path: 'a.txt' })], conflicts: [] })
    expect(await workspace.text('a.txt')).toBe('a\n')
  })
})

describe('a text that the file has several times', () => {
  test('is refused with the lines', async () => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    expect(await failureOf(workspace.replace('shop.js', '  return items.length\n', '  return 0\n'))).toEqual({
      kind: 'conflict',
      detail:
        'shop.js has the old text 2 times, at lines 2, 6. Add lines around it, or send "all": true. No file was changed.',
      conflicts: [{ path: 'shop.js', line: 2, expected: ['  return items.length', ''], found: [] }],
    })
    expect(await workspace.text('shop.js')).toBe(shop)
  })

  test('is replaced everywhere with all', async () => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    await workspace.replace('shop.js', 'items', 'rows', { all: true })
    expect(await workspace.text('shop.js')).toBe(shop.replaceAll('items', 'rows'))
  })

  test('too often for the size of a file is refused', async () => {
    const workspace = await openWorkspace({ 'a.txt': 'a'.repeat(10_000) })
    const call = workspace.replace('a.txt', 'a', 'b'.repeat(10_000), { all: true })
    expect(await failureOf(call)).toMatchObject({ kind: 'too_large' })
  })
})

describe('a text that the file does not have', () => {
  test.each([
    ['one other word', 'export function count(rows) {', 5, 'line is line 5'],
    ['other lines around', 'export function count(items) {\n  return items.size\n}', 5, 'lines are 5 to 7'],
    ['no line the same', 'export async function total(items: Item[]) {', 1, 'line is line 1'],
  ])('is refused with the nearest lines: %s', async (_title, oldText, line, nearest) => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    const failure = await failureOf(workspace.replace('shop.js', oldText, ''))
    expect(failure).toMatchObject({
      kind: 'conflict',
      detail: `shop.js does not have the old text. The nearest ${nearest}. No file was changed.`,
      conflicts: [
        { path: 'shop.js', line, found: shop.split('\n').slice(line - 1, line - 1 + oldText.split('\n').length) },
      ],
    })
  })

  test('is refused without lines if nothing looks like it', async () => {
    const workspace = await openWorkspace({ 'shop.js': shop })
    expect(await failureOf(workspace.replace('shop.js', 'zebra', ''))).toMatchObject({
      detail: 'shop.js does not have the old text. No file was changed.',
    })
  })

  test('but looks like it is refused with the difference', async () => {
    const workspace = await openWorkspace({ 'a.txt': 'say \u2018hi\u2019\n' })
    expect(await failureOf(workspace.replace('a.txt', "say 'hi'", ''))).toMatchObject({
      detail: expect.stringContaining('The old text differs only in quotes from a.txt: line 1 has U+2018'),
    })
  })
})

test.each([
  ['a missing file', 'gone.txt', 'a', 'b', 'failed'],
  ['a binary file', 'binary', 'a', 'b', 'failed'],
  ['a path outside', '../a.txt', 'a', 'b', 'denied'],
  ['the same text', 'a.txt', 'a', 'a', 'invalid_arguments'],
])('%s is refused', async (_title, path, oldText, newText, kind) => {
  const workspace = await openWorkspace({ 'a.txt': 'a\n', binary: 'a\0' })
  expect(await failureOf(workspace.replace(path, oldText, newText))).toMatchObject({ kind })
})

test('a large file with many equal lines is compared and lets others run', async () => {
  const workspace = await openWorkspace({ 'a.txt': 'same line here\n'.repeat(250_000) })
  const wanted = `${'same line here\n'.repeat(200)}another one`
  const call = failureOf(workspace.replace('a.txt', wanted, ''))
  expect(await turnsDuring(call)).toBeGreaterThan(20)
  expect(await call).toMatchObject({ kind: 'conflict' })
})
