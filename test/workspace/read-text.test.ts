import { createHash } from 'node:crypto'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Folder } from '../../src/workspace/folder.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { readText } from '../../src/workspace/read-text.ts'
import { createTree, failureOf } from './tree.ts'

const limits = { maxBytes: 1024 * 1024 }

async function folderWith(files: Record<string, string | Buffer>): Promise<Folder> {
  const { root } = await createTree()
  for (const [name, content] of Object.entries(files)) await writeFile(join(root, name), content)
  return openFolder(root)
}

it('G22: returns the text with byte order mark, line ends and missing final newline, and the hash of the bytes', async () => {
  const text = '\ufeffone\r\ntwo\n\u00fcml\u00e4ut'
  const folder = await folderWith({ 'a.txt': text, empty: '' })
  expect(await readText(folder, { path: 'a.txt' }, limits)).toEqual({
    content: text,
    sha256: createHash('sha256').update(text).digest('hex'),
    size: Buffer.byteLength(text),
    truncated: false,
  })
  expect(await readText(folder, { path: 'empty' }, limits)).toMatchObject({ content: '', size: 0, truncated: false })
})

it.each([
  [{ start: 1, end: 1 }, 'one\r\n'],
  [{ start: 2, end: 3 }, 'two\nthree'],
  [{ start: 3, end: 99 }, 'three'],
  [{ start: 1, end: 99 }, 'one\r\ntwo\nthree'],
])('gives the lines of %j', async (range, content) => {
  const folder = await folderWith({ a: 'one\r\ntwo\nthree' })
  const text = await readText(folder, { path: 'a', range }, limits)
  expect(text).toMatchObject({ content, size: 14, truncated: false })
  expect(text.sha256).toBe((await readText(folder, { path: 'a' }, limits)).sha256)
})

it.each([
  [{ start: 0, end: 1 }, 'range.start'],
  [{ start: 2, end: 1 }, 'range.end'],
  [{ start: 3, end: 4 }, 'range.start'],
])('refuses the range %j', async (range, path) => {
  const folder = await folderWith({ a: 'one\ntwo\n' })
  expect(await failureOf(readText(folder, { path: 'a', range }, limits))).toMatchObject({
    kind: 'invalid_arguments',
    path,
  })
})

it.each([
  ['binary', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1]), '"binary" is a binary file.'],
  ['utf-16', Buffer.from('\ufeffhello', 'utf16le'), '"utf-16" is UTF-16 text. Convert it to UTF-8 to read it.'],
  ['latin-1', Buffer.from('caf\u00e9', 'latin1'), '"latin-1" is not UTF-8 text.'],
])('says that a file is no text: %s', async (path, bytes, detail) => {
  const folder = await folderWith({ [path]: bytes })
  expect(await failureOf(readText(folder, { path }, limits))).toEqual({ kind: 'failed', detail })
})

it.each([
  ['one\ntwo\nthree\n', 9, 'one\ntwo\n'],
  ['a\u00e9\u00e9\u00e9', 4, 'a\u00e9'],
  ['a\ud83d\ude00b', 4, 'a'],
  ['\ud83d\ude00', 2, ''],
])('cuts %j after %d bytes', async (text, maxBytes, content) => {
  const folder = await folderWith({ a: text })
  const cut = await readText(folder, { path: 'a' }, { maxBytes })
  expect(cut).toEqual({ content, size: Buffer.byteLength(text), truncated: true })
})

it('returns a range of a file over the limit, and reports if the limit cuts it', async () => {
  const folder = await folderWith({ a: 'one\ntwo\nthree\n' })
  const read = async (start: number, end: number): Promise<unknown> =>
    readText(folder, { path: 'a', range: { start, end } }, { maxBytes: 9 })
  expect(await read(1, 1)).toEqual({ content: 'one\n', size: 14, truncated: false })
  expect(await read(2, 2)).toEqual({ content: 'two\n', size: 14, truncated: false })
  expect(await read(2, 3)).toEqual({ content: 'two\n', size: 14, truncated: true })
})

it('G07: a sparse file of 10 GB is a binary file', async () => {
  const folder = await folderWith({ sparse: '' })
  await truncate(join(folder.root, 'sparse'), 10 * 1024 ** 3)
  expect(await failureOf(readText(folder, { path: 'sparse' }, limits))).toMatchObject({ kind: 'failed' })
})
