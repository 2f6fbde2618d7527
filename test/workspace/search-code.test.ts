import { isThorough } from '../thorough.ts'
import { existsSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Folder } from '../../src/workspace/folder.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { searchCode, type SearchArguments, type SearchResult } from '../../src/workspace/search-code.ts'
import { createTree, failureOf } from './tree.ts'

const { signal } = new AbortController()

async function folderWith(files: Record<string, string | Buffer>): Promise<Folder & { readonly outside: string }> {
  const { root, outside } = await createTree()
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  return { ...(await openFolder(root)), outside }
}

const search = async (folder: Folder, args: SearchArguments): Promise<SearchResult> => searchCode(folder, args, signal)

const punctuation = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => index + 32))

it('finds lines with their column and three lines around them', async () => {
  const folder = await folderWith({
    'src/a.ts': '1\n2\n3\n4\n5 caf\u00e9 class A {}\r\n6\n7\n8\n9\n',
    'b.ts': 'class A',
  })
  expect(await search(folder, { query: 'class A' })).toEqual({
    hits: [
      { file: 'b.ts', line: 1, column: 1, snippet: 'class A' },
      { file: 'src/a.ts', line: 5, column: 8, snippet: '2\n3\n4\n5 caf\u00e9 class A {}\n6\n7\n8' },
    ],
    truncated: false,
  })
})

it('gives each hit its own lines if matches are close or groups of lines meet', async () => {
  const lines = Array.from({ length: 20 }, (_, index) => `${index + 1}${[5, 6, 14].includes(index + 1) ? ' x' : ''}`)
  const folder = await folderWith({ a: lines.join('\n') })
  const { hits } = await search(folder, { query: 'x' })
  expect(hits.map(({ line }) => line)).toEqual([5, 6, 14])
  expect(hits.map(({ snippet }) => snippet.replaceAll('\n', ','))).toEqual([
    '2,3,4,5 x,6 x,7,8',
    '3,4,5 x,6 x,7,8,9',
    '11,12,13,14 x,15,16,17',
  ])
})

it('accepts a text or a regular expression, and is case-sensitive by default', async () => {
  const folder = await folderWith({ a: 'f(x)\nf.x.\nF(X)\nfx', b: punctuation })
  const lines = async (args: SearchArguments): Promise<number[]> =>
    (await search(folder, args)).hits.map(({ line }) => line)
  expect(await lines({ query: 'f(x)' })).toEqual([1])
  expect(await lines({ query: punctuation })).toEqual([1])
  expect(await lines({ query: 'f(x)', regex: true })).toEqual([4])
  expect(await lines({ query: 'f(x)', caseSensitive: false })).toEqual([1, 3])
  expect(await lines({ query: '^F.', regex: true, caseSensitive: false })).toEqual([1, 2, 3, 4])
})

it('searches in the files of the glob', async () => {
  const folder = await folderWith({
    'a.ts': 'x',
    'src/a.ts': 'x',
    'src/b.js': 'x',
    'src/y/c.ts': 'x',
    '.gitignore': 'd.ts',
    'd.ts': 'x',
  })
  const files = async (glob: string): Promise<string[]> =>
    (await search(folder, { query: 'x', glob })).hits.map(({ file }) => file)
  expect(await files('')).toEqual(['a.ts', 'src/a.ts', 'src/b.js', 'src/y/c.ts'])
  expect(await files('**/*.ts')).toEqual(['a.ts', 'src/a.ts', 'src/y/c.ts'])
  expect(await files('src/*')).toEqual(['src/a.ts', 'src/b.js'])
  expect(await files('src')).toEqual(['src/a.ts', 'src/b.js', 'src/y/c.ts'])
  expect(await files('s*/**/*.ts')).toEqual(['src/a.ts', 'src/y/c.ts'])
  expect(await failureOf(search(folder, { query: 'x', glob: '../**' }))).toMatchObject({ kind: 'denied' })
})

it('stops at the number of results', async () => {
  const folder = await folderWith({ a: 'x\n'.repeat(10), b: 'x\n'.repeat(10) })
  expect(await search(folder, { query: 'x', maxResults: 20 })).toMatchObject({ truncated: false })
  const few = await search(folder, { query: 'x', maxResults: 5 })
  expect(few.hits).toHaveLength(5)
  expect(few.truncated).toBe(true)
})

it('G04: finds nothing through links', async () => {
  const folder = await folderWith({ a: 'secret' })
  await writeFile(join(folder.outside, 'file'), 'secret')
  await symlink(folder.outside, join(folder.root, 'link'))
  await symlink(join(folder.outside, 'file'), join(folder.root, 'file'))
  for (const glob of ['', '**', 'link/**', 'link', 'link/file', 'file']) {
    const { hits } = await search(folder, { query: 'secret', glob })
    expect(
      hits.filter(({ file }) => file !== 'a'),
      glob,
    ).toEqual([])
  }
})

it('G13: answers an expression that takes exponential time with backtracking', async () => {
  const folder = await folderWith({ a: `${'a'.repeat(100 * 1024)}b`, b: 'b' })
  let turns = 0
  const turn = (): void => {
    turns += 1
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  onTestFinished(() => clearImmediate(next))
  // After a second, ripgrep would be stopped and the result truncated.
  const found = await searchCode(folder, { query: '(a+)+$', regex: true }, new AbortController().signal, 1000)
  expect(found).toEqual({ hits: [], truncated: false })
  // The event loop was not blocked meanwhile.
  expect(turns).toBeGreaterThan(1)
})

it.each(['(a', '\\1', '(?=a)', 'a{1000}{1000}{10}', '(a{1000}){1000}'])(
  'names the fault of the expression %s',
  async (query) => {
    const folder = await folderWith({ a: 'a' })
    const failure = await failureOf(search(folder, { query, regex: true }))
    expect(failure).toMatchObject({ kind: 'invalid_arguments', path: 'query' })
  },
)

it('returns the reason of ripgrep without its advice', async () => {
  const folder = await folderWith({ a: 'a' })
  expect(await failureOf(search(folder, { query: '(?=a)', regex: true }))).toMatchObject({
    detail: 'ripgrep does not accept it: look-around, including look-ahead and look-behind, is not supported',
  })
})

it.each(['', 'a\nb', 'a\0b', 'a'.repeat(5000)])('refuses the query %j', async (query) => {
  const folder = await folderWith({ a: 'a' })
  expect(await failureOf(search(folder, { query }))).toMatchObject({ kind: 'invalid_arguments', path: 'query' })
})

it('G14: does not read queries as options', async () => {
  const folder = await folderWith({ a: '--pre=sh -f/etc/passwd --follow -e', 'run.sh': 'touch marker' })
  for (const query of ['--pre=sh', '-f/etc/passwd', '--follow', '-e']) {
    expect(
      (await search(folder, { query })).hits.map(({ file }) => file),
      query,
    ).toEqual(['a'])
  }
  for (const glob of ['--pre=sh', '-f/etc/passwd', '--pre=*.sh', 'include:all']) {
    expect((await search(folder, { query: 'touch', glob })).hits, glob).toEqual([])
  }
  expect(existsSync(join(folder.root, 'marker'))).toBe(false)
})

it('G14: ignores a file of options that the environment names', async () => {
  const folder = await folderWith({ a: 'x', options: '--invert-match\n' })
  vi.stubEnv('RIPGREP_CONFIG_PATH', join(folder.root, 'options'))
  try {
    expect((await search(folder, { query: 'x' })).hits.map(({ file }) => file)).toEqual(['a'])
  } finally {
    vi.unstubAllEnvs()
  }
})

it('G15: omits binary files, and reads UTF-16 and text that is not UTF-8', async () => {
  const folder = await folderWith({
    binary: Buffer.from([0, 1, 2, ...Buffer.from('needle'), 0]),
    'utf-16': Buffer.from('\ufeffone\ntwo needle\n', 'utf16le'),
    'latin-1': Buffer.from('caf\u00e9 needle\n', 'latin1'),
  })
  expect((await search(folder, { query: 'needle' })).hits).toEqual([
    { file: 'latin-1', line: 1, column: 6, snippet: 'caf\ufffd needle' },
    { file: 'utf-16', line: 2, column: 5, snippet: 'one\ntwo needle' },
  ])
})

it('G15: cuts long lines around the match', async () => {
  const folder = await folderWith({ a: `${'-'.repeat(5000)}needle${'-'.repeat(5000)}\n` })
  const [hit] = (await search(folder, { query: 'needle' })).hits
  expect(hit).toMatchObject({ line: 1, column: 5001 })
  expect(hit?.snippet).toMatch(/^\u2026-+needle-+\u2026$/)
  expect(hit?.snippet.length).toBeLessThan(310)
})

it('G15: reports one of many matches in a line of 10 MB', async () => {
  const folder = await folderWith({ a: 'a'.repeat(10 * 1024 * 1024) })
  const { hits, truncated } = await search(folder, { query: 'a' })
  expect(hits).toEqual([{ file: 'a', line: 1, column: 1, snippet: `${'a'.repeat(300)}\u2026` }])
  expect(truncated).toBe(false)
})

it.runIf(isThorough)('G15: finds the place of a match in lines of 10 MB', async () => {
  const long = '\u00e9"\\\t'.repeat(2 * 1024 * 1024)
  const folder = await folderWith({
    late: `first\n${long}needle\nlast\n`,
    early: `\u00e9 needle${long}`,
    bytes: Buffer.concat([Buffer.from('x needle\xff', 'latin1'), Buffer.alloc(1024 * 1024, 'y')]),
  })
  const { hits } = await search(folder, { query: 'needle' })
  expect(hits.map(({ file, line, column }) => [file, line, column])).toEqual([
    ['bytes', 1, 3],
    ['early', 1, 3],
    ['late', 2, expect.any(Number)],
  ])
  expect(hits[1]?.snippet).toMatch(/^\u00e9 needle\u00e9"\\\t.*\u2026$/s)
  expect(hits[2]?.snippet).toMatch(/^first\n.*\u2026\nlast$/s)
  expect(hits.every(({ snippet }) => snippet.length < 1000)).toBe(true)
})

it('a search that takes too long returns the hits so far', async () => {
  const folder = await folderWith({ a: 'x' })
  expect(await searchCode(folder, { query: 'x' }, signal, 0)).toMatchObject({ truncated: true })
})

it('ends when it is cancelled', async () => {
  const folder = await folderWith({ a: 'x' })
  const controller = new AbortController()
  const failure = failureOf(searchCode(folder, { query: 'x' }, controller.signal))
  controller.abort()
  expect(await failure).toEqual({ kind: 'cancelled' })
})
