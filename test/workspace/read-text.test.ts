import { createHash } from 'node:crypto'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { memoryUsage } from 'node:process'
import { describe, expect, it } from 'vitest'
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

const line = (index: number): string => `line of log text number ${index}\n`

describe('a file over the limit', () => {
  const log = `${Array.from({ length: 60_000 }, (_, index) => line(index + 1)).join('')}ERROR at the end\n`

  it.each([
    [{ start: 1, end: 2 }, line(1) + line(2)],
    [{ start: 60_000, end: 60_001 }, `${line(60_000)}ERROR at the end\n`],
    [{ start: 60_001, end: 70_000 }, 'ERROR at the end\n'],
    [{ start: 33_333, end: 33_333 }, line(33_333)],
  ])('gives the lines of %j, wherever they are', async (range, content) => {
    const folder = await folderWith({ a: log })
    const reserved: number[] = []
    const reserve = async (bytes: number) => void reserved.push(bytes)
    const text = await readText(folder, { path: 'a', range }, { maxBytes: 100_000, reserve })
    expect(text).toEqual({ content, size: log.length, truncated: false })
    expect(reserved).toEqual([100_000])
  })

  it('cuts a range that is over the limit itself', async () => {
    const folder = await folderWith({ a: log })
    const text = await readText(folder, { path: 'a', range: { start: 50_000, end: 60_001 } }, { maxBytes: 70 })
    expect(text).toMatchObject({ content: line(50_000) + line(50_001), truncated: true })
  })

  it('with fewer lines says how many it has', async () => {
    for (const [text, count] of [
      [log, 60_001],
      [log.trimEnd(), 60_001],
    ] as const) {
      const folder = await folderWith({ a: text })
      expect(
        await failureOf(readText(folder, { path: 'a', range: { start: 60_002, end: 60_003 } }, { maxBytes: 70 })),
      ).toMatchObject({ kind: 'invalid_arguments', detail: `The file has only ${count} lines.` })
    }
  })

  it.each([
    ['has a binary start', Buffer.concat([Buffer.from([0]), Buffer.from(log)])],
    ['is in UTF-16', Buffer.from(`\ufeff${log}`, 'utf16le')],
    ['is not UTF-8 in these lines', Buffer.from(log.replace('ERROR', 'ERR\u00d6R'), 'latin1')],
  ])('that %s is refused', async (_name, bytes) => {
    const folder = await folderWith({ a: bytes })
    expect(
      await failureOf(readText(folder, { path: 'a', range: { start: 60_001, end: 60_001 } }, { maxBytes: 70 })),
    ).toMatchObject({ kind: 'failed' })
  })

  it('is read until the call is cancelled', async () => {
    const folder = await folderWith({ a: log })
    const limited = { maxBytes: 70, signal: AbortSignal.abort() }
    expect(await failureOf(readText(folder, { path: 'a', range: { start: 9, end: 9 } }, limited))).toEqual({
      kind: 'cancelled',
    })
  })
})

it('G07: a sparse file of 10 GB is a binary file', async () => {
  const folder = await folderWith({ sparse: '' })
  await truncate(join(folder.root, 'sparse'), 10 * 1024 ** 3)
  expect(await failureOf(readText(folder, { path: 'sparse' }, limits))).toMatchObject({ kind: 'failed' })
})

it('any number of calls that wait for memory take little of it', async () => {
  const text = `${'x'.repeat(127)}\n`.repeat(1024)
  const folder = await folderWith({ a: text })
  const arrived = Promise.withResolvers<void>()
  const mayRead = Promise.withResolvers<void>()
  let count = 0
  let mostBytes = 0
  const reserve = (): Promise<void> => {
    count += 1
    mostBytes = Math.max(mostBytes, memoryUsage().arrayBuffers)
    if (count === 1000) arrived.resolve()
    return mayRead.promise
  }
  const beforeBytes = memoryUsage().arrayBuffers
  const reads = Array.from({ length: 1000 }, () => readText(folder, { path: 'a' }, { ...limits, reserve }))
  await arrived.promise
  expect(mostBytes - beforeBytes).toBeLessThan(16 * 1024 * 1024)
  mayRead.resolve()
  for (const { content } of await Promise.all(reads)) expect(content).toBe(text)
})
