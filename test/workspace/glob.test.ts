import { beforeAll, describe, expect, it } from 'vitest'
import picomatch from 'picomatch'
import { tmpdir } from 'node:os'
import { fc } from '../fast-check.ts'
import type { Folder } from '../../src/workspace/folder.ts'
import { matcherOf, parseGlob } from '../../src/workspace/glob.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { failureOf } from './tree.ts'

let folder: Folder
beforeAll(async () => {
  folder = await openFolder(tmpdir())
})

const failure = (glob: string): unknown => failureOf(Promise.resolve().then(() => parseGlob(glob, folder)))

const narrowing = (glob: string): unknown => {
  const { base, names } = parseGlob(glob, folder)
  return [base, names]
}

describe('parseGlob', () => {
  it.each([
    ['', ['a', 'a/b', '.a/.b'], []],
    ['**', ['a', 'a/b'], []],
    ['**/*/*', ['a/b'], ['a']],
    ['src/**/*', ['src/a', 'src/x/a'], ['a', 'src']],
    ['*.ts', ['a.ts', 'x/y/a.ts', '.ts'], ['a.tsx', 'a.ts/b']],
    ['./*.ts', ['a.ts'], ['x/a.ts']],
    ['src/*.ts', ['src/a.ts'], ['a.ts', 'src/x/a.ts', 'x/src/a.ts']],
    ['src/**/*.ts', ['src/a.ts', 'src/x/y/a.ts'], ['src/a.js', 'srcx/a.ts']],
    ['src/**', ['src/a', 'src/x/a'], ['src', 'srcx']],
    ['src/', ['src/a', 'src/x/a'], ['a', 'src']],
    ['**/test/**', ['test/a', 'x/test/y/a'], ['test', 'tests/a']],
    ['*/src/a.ts', ['x/src/a.ts'], ['src/a.ts', 'x/y/src/a.ts']],
    ['a?c', ['abc', 'a\u{1f600}c'], ['ac', 'a/c']],
    ['[a-c]x', ['ax', 'cx'], ['dx', '-x']],
    ['[!a-c]x', ['dx'], ['ax']],
    ['[]x]y', [']y', 'xy'], ['ay']],
    ['*.{ts,js}', ['a.ts', 'b/a.js'], ['a.css']],
    ['{src,test}/**/*.{ts,m{j,t}s}', ['src/a.ts', 'test/x/a.mts', 'src/a.mjs'], ['lib/a.ts']],
    ['a**b', ['ab', 'axb'], ['a/b']],
    ['a/{b,c/d}', ['a/b', 'a/c/d'], ['a/c']],
    ['%a', ['%a', 'x/%a'], []],
  ])('%j', (glob, matching, others) => {
    const { matches } = parseGlob(glob, folder)
    expect(matching.filter((path) => !matches(path))).toEqual([])
    expect(others.filter((path) => matches(path))).toEqual([])
  })

  it('returns the folder and the names that narrow a search', () => {
    expect(narrowing('src/x/*.{ts,js}')).toEqual(['src/x', ['*.ts', '*.js']])
    expect(narrowing('**/a.ts')).toEqual(['', ['a.ts']])
    expect(narrowing('src/**')).toEqual(['src', undefined])
    expect(narrowing('[ab].ts')).toEqual(['', undefined])
    expect(narrowing(`${folder.root}/src/*.ts`)).toEqual(['src', ['*.ts']])
  })

  it.each([
    '../*',
    '/etc/*',
    '..',
    '~/x*',
    'src/../../*',
    'a\0',
    String.raw`..\x`,
    '%2e%2e/*',
    '.GIT/*',
    '/etc/passwd',
  ])('G02: refuses %j', async (glob) => {
    expect(await failure(glob)).toMatchObject({ kind: 'denied' })
  })

  it.each(['!a', '*/../x', 'a*\0', String.raw`a*\x`, '{a', 'a}', '[a', 'x'.repeat(2000), '{a,b}'.repeat(10)])(
    'refuses %j as invalid',
    async (glob) => {
      expect(await failure(glob)).toMatchObject({ kind: 'invalid_arguments', path: 'glob' })
    },
  )

  it('takes no exponential time', () => {
    const { matches } = parseGlob(`${'**/'.repeat(200)}${'*a'.repeat(150)}b`, folder)
    expect(matches(`${'a/'.repeat(1000)}${'a'.repeat(250)}`)).toBe(false)
  })

  it('refuses a glob that takes too long to compare with a path', async () => {
    const { matches } = parseGlob(`{${Array.from({ length: 30 }, () => `*${'a'.repeat(25)}?b`).join(',')}}`, folder)
    expect(matches('a.ts')).toBe(false)
    expect(await failureOf(Promise.resolve().then(() => matches('a'.repeat(4000))))).toMatchObject({
      kind: 'invalid_arguments',
      path: 'glob',
    })
  })

  it('refuses a glob that takes too long to compare with many paths, and no other', async () => {
    const paths = Array.from({ length: 2000 }, (_, at) => `src/${'a'.repeat(200)}/${at}/${'a'.repeat(240)}`)
    const slow = matcherOf(parseGlob(`{${Array.from({ length: 30 }, () => `*${'a'.repeat(25)}?b`).join(',')}}`, folder))
    expect(await failureOf(Promise.resolve().then(() => paths.some((path) => slow(path))))).toMatchObject({
      kind: 'invalid_arguments',
    })
    const usual = matcherOf(parseGlob('src/**/*.{test,spec}.{ts,tsx,js,jsx}', folder))
    expect(paths.filter((path) => usual(`${path}.test.ts`))).toHaveLength(2000)
  })

  it('agrees with picomatch', () => {
    const glob = fc
      .array(fc.constantFrom('*', '**', 'a', 'b', 'a*', '*b', 'a?', '?', '{a,b}', '[ab]', '*a*b'), {
        minLength: 2,
        maxLength: 5,
      })
      .map((segments) => segments.join('/'))
    const path = fc
      .array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 })
      .map((segments) => segments.join('/'))
    fc.assert(
      fc.property(glob, path, (pattern, candidate) => {
        // Unlike picomatch, a trailing `**` only matches files below, like in .gitignore.
        fc.pre(!pattern.endsWith('**'))
        expect(parseGlob(pattern, folder).matches(candidate)).toBe(picomatch.isMatch(candidate, pattern, { dot: true }))
      }),
      { numRuns: 3000 },
    )
  })
})
