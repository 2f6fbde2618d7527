import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { listSymbols } from '../../../src/workspace/symbols/list-symbols.ts'
import { languageOf } from '../../../src/workspace/symbols/languages.ts'
import { runInWorker } from '../../../src/workspace/run-code-task.ts'
import type { SymbolList } from '../../../src/workspace/symbols/find-symbols.ts'
import { isThorough } from '../../thorough.ts'
import { createTree, failureOf } from '../tree.ts'

const fixtures = join(import.meta.dirname, '../../fixtures/symbols')
const golden = join(import.meta.dirname, '../../golden/symbols')

async function symbolsOf(path: string, text: string, options: Partial<Parameters<typeof listSymbols>[2]> = {}) {
  const { root } = await createTree()
  await writeFile(join(root, path), text)
  const folder = await openFolder(root)
  const { signal } = new AbortController()
  return listSymbols(folder, { path }, { signal, maxFileBytes: 4 * 1024 * 1024, ...options })
}

function render({ symbols }: SymbolList): string {
  return symbols
    .map(({ name, kind, range: { start, end }, container = '' }) => {
      const place = `${start.line}:${start.column}-${end.line}:${end.column}`
      return `${place} ${kind} ${name}${container === '' ? '' : ` in ${container}`}\n`
    })
    .join('')
}

describe('listSymbols', async () => {
  it.each(await readdir(fixtures))('finds the symbols of %s', async (fixture) => {
    const list = await symbolsOf(fixture.replace(/\.txt$/, ''), await readFile(join(fixtures, fixture), 'utf8'))
    expect(list.truncated).toBe(false)
    await expect(render(list)).toMatchFileSnapshot(join(golden, fixture))
  })

  it('counts columns in UTF-16 code units, from 1, and includes the last character', async () => {
    const list = await symbolsOf('a.ts', '\uFEFF/* é😀 */ class A {}\r\nclass B {\r\n}\r\n')
    expect(list.symbols.map(({ name, range }) => [name, range])).toEqual([
      ['A', { start: { line: 1, column: 11 }, end: { line: 1, column: 20 } }],
      ['B', { start: { line: 2, column: 1 }, end: { line: 3, column: 1 } }],
    ])
  })

  it('returns the symbols before and after a syntax error', async () => {
    const list = await symbolsOf('a.ts', 'class A { run() {} }\nfunction (((\nclass B { stop() {} }\n')
    expect(list.symbols.map(({ name }) => name)).toEqual(['A', 'run', 'B', 'stop'])
  })

  it('returns the symbols of the beginning of a file that is larger than the limit', async () => {
    const list = await symbolsOf('a.ts', 'class A {}\nclass B {}\n', { maxFileBytes: 12 })
    expect(list).toMatchObject({ symbols: [{ name: 'A' }], truncated: true })
  })

  it('lists 5000 symbols at most', async () => {
    const list = await symbolsOf('a.py', 'def f(): pass\n'.repeat(5001))
    expect(list).toMatchObject({ symbols: { length: 5000 }, truncated: true })
  })

  it.each([
    ['a.txt', 'Symbols of .txt files are not supported.'],
    ['Makefile', 'Symbols of files without a known ending are not supported.'],
  ])('names the supported languages for %s', async (path, detail) => {
    expect(await failureOf(symbolsOf(path, 'x'))).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining(
        `${detail} Supported languages: TypeScript, JavaScript, Python, Go, Rust, Java, C, C++, C#, Ruby, PHP, Bash.`,
      ),
    })
  })

  it('refuses a binary file', async () => {
    expect(await failureOf(symbolsOf('a.ts', 'a\0b'))).toMatchObject({ kind: 'failed' })
  })

  it.each([
    ['1 MB of classes', 'class A { b(x: number) { return x + 1 }\n}\n'.repeat(25_000), 5000],
    ['brackets without end', '('.repeat(2_000_000), 0],
    ['nested classes', 'class A { b = '.repeat(100_000), 0],
  ])('leaves the event loop free: %s', { timeout: 120_000 }, async (_what, text, length) => {
    const language = languageOf('a.ts')
    if (language === undefined) throw new Error('TypeScript is missing.')
    let turns = 0
    let count = setImmediate(function next() {
      turns += 1
      count = setImmediate(next)
    })
    const answer = await runInWorker(
      { do: 'symbols', text, language, limit: 5000 },
      { folder: { root: '/workspace' }, signal: new AbortController().signal },
    )
    clearImmediate(count)
    expect(answer).toMatchObject({ is: 'symbols', list: { symbols: { length } } })
    // A list that is made on the event loop lets it turn once or twice.
    expect(turns).toBeGreaterThan(100)
  })

  it.each(['('.repeat(200_000), 'class A { b = '.repeat(100_000)])(
    'says why a file of open brackets has no symbols',
    async (text) => {
      expect(await symbolsOf('a.ts', text)).toEqual({
        symbols: [],
        truncated: true,
        reason: 'The file has more than 10000 brackets that are open at one place.',
      })
    },
  )

  it.runIf(isThorough)('refuses a file whose tree takes more than 512 MB', async () => {
    // The spaces, which it does not come to, give it so much time that it cannot be over first.
    const text = `x = ${'a ? b : '.repeat(1_000_000)}${' '.repeat(20_000_000)}`
    const task = { do: 'symbols', text, language: languageOf('a.js') ?? expect.fail(), limit: 1 } as const
    const options = { folder: { root: '/workspace' }, signal: new AbortController().signal }
    expect(await runInWorker(task, options)).toEqual({
      is: 'failure',
      detail: 'The file is too complex: its syntax tree takes more than 512 MB.',
    })
  })

  it('stops when the call is cancelled', async () => {
    const caller = new AbortController()
    const call = symbolsOf('a.ts', 'class A { b(x: number) { return x + 1 }\n}\n'.repeat(25_000), {
      signal: caller.signal,
    })
    setImmediate(() => caller.abort())
    expect(await failureOf(call)).toEqual({ kind: 'cancelled' })
  })

  it('G02: refuses a path outside the root', async () => {
    const { root, outside } = await createTree()
    await mkdir(join(root, 'a'))
    await writeFile(join(outside, 'x.ts'), 'class A {}')
    const limits = { signal: new AbortController().signal, maxFileBytes: 1000 }
    expect(await failureOf(listSymbols(await openFolder(root), { path: '../outside/x.ts' }, limits))).toMatchObject({
      kind: 'denied',
    })
  })
})
