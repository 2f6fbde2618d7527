import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import picomatch from 'picomatch'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fc } from '../../fast-check.ts'
import { times } from '../../thorough.ts'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { openPolicy } from '../../../src/workspace/policy/open-policy.ts'
import { policyName } from '../../../src/workspace/policy/policy-file.ts'
import { recordingLog } from '../../recording-log.ts'
import { makeFolder } from '../../tools/session.ts'
import { confirming } from './confirm.ts'

// A pattern in a policy means what it means in .gitignore and to picomatch. A denial never fails open.

async function openRules() {
  const root = await makeFolder()
  const folder = await openFolder(root)
  const policy = openPolicy(folder, { consents: confirming(folder.root), log: recordingLog() })
  onTestFinished(policy.close)
  let writes = 0
  return {
    allowed: async (rules: object, path: string): Promise<boolean> => {
      await writeFile(join(root, policyName), JSON.stringify(rules))
      return (await policy.mayWrite(path)).isAllowed
    },
    /** Returns those of the paths that the rules deny, and whether the rules can be read. */
    denied: async (deny: string, paths: readonly string[]) => {
      writes += 1
      const text = `# ${writes}\n${JSON.stringify({ writes: { allow: ['**'], deny: [deny] } })}`
      await writeFile(join(root, policyName), text)
      const denied: string[] = []
      for (const path of paths) if (!(await policy.mayWrite(path)).isAllowed) denied.push(path)
      return { denied, isValid: (await policy.describe()).problem === undefined }
    },
    reason: async (path: string) => (await policy.mayWrite(path)).reason,
  }
}

/** Returns those of the paths that git ignores because of the pattern. */
async function ignoredByGit(root: string, pattern: string, paths: readonly string[]): Promise<readonly string[]> {
  await writeFile(join(root, '.gitignore'), `${pattern}\n`)
  return new Promise((resolve, reject) => {
    const args = ['-c', 'core.ignoreCase=false', 'check-ignore', '--no-index', '-z', '--stdin']
    const child = execFile('git', args, { cwd: root }, (error, stdout) => {
      // 1: no path is ignored.
      if (error !== null && error.code !== 1) reject(error)
      else resolve(stdout.split('\0').filter((path) => path !== ''))
    })
    child.stdin?.end(paths.map((path) => `${path}\0`).join(''))
  })
}

const names = [
  'a',
  'b',
  'c',
  'ab',
  'a1',
  '1',
  '.a',
  'a.b',
  'A',
  '-',
  '^',
  '[ab]',
  '[slug]',
  's',
  '(a)',
  '{a}',
  'a b',
  'x',
]
const paths = [
  ...names,
  ...names.slice(0, 3).flatMap((outer) => names.map((inner) => `${outer}/${inner}`)),
  'a/b/c',
  'x/a/b/c',
]

const bracket = fc
  .tuple(
    fc.constantFrom('', '!', '^'),
    fc.array(fc.constantFrom('a', 'b', 'a-c', '1', '-', '.', '[:alpha:]', '[:digit:]', '[:upper:]'), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([negation, items]) => `[${negation}${items.join('')}]`)
const piece = fc.oneof(fc.constantFrom('a', 'b', '.', '*', '?', 'ab', '-', '1', 'x'), bracket)
const name = fc.oneof(
  { weight: 4, arbitrary: fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.constant('**') },
)
const pattern = fc
  .tuple(fc.constantFrom('', '', '/'), fc.array(name, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '', '/'))
  .map(([start, parts, end]) => start + parts.join('/') + end)
  // Names of the file system itself, which no path contains.
  .filter((text) => !text.split('/').some((part) => part === '.' || part === '..'))

test('what git would ignore is denied', { timeout: 120_000 }, async () => {
  const root = await makeFolder()
  await new Promise((resolve) => execFile('git', ['init', '-q', root], resolve))
  const { denied } = await openRules()
  let valid = 0
  await fc.assert(
    fc.asyncProperty(pattern, async (text) => {
      const ignored = await ignoredByGit(root, text, paths)
      const ours = await denied(text, paths)
      if (ours.isValid) valid += 1
      expect(ignored.filter((path) => !ours.denied.includes(path))).toEqual([])
    }),
    { numRuns: 50 },
  )
  expect(valid).toBeGreaterThan(times(30))
})

test('what picomatch would match is denied', { timeout: 120_000 }, async () => {
  const { denied } = await openRules()
  const braced = fc.oneof(
    pattern,
    fc.tuple(pattern, pattern).map(([one, other]) => `{${one.replaceAll('/', '')},${other.replaceAll('/', '')}}`),
    fc.tuple(name, name, name).map(([one, two, three]) => `${one}/{${two},x${three}}`),
    fc.constantFrom('a{1..3}', '{a}', '{{a}}', '@(a|b)', '!(x)', '(a|b)/*', 'a/**', '{a,{b,c}}/**', '[[]ab]', '?(a)b'),
  )
  await fc.assert(
    fc.asyncProperty(braced, async (text) => {
      // picomatch reads [!a] as the characters ! and a, and a / at an end as a part of the name.
      fc.pre(!text.includes('[!') && !text.startsWith('/') && !text.endsWith('/'))
      // Its negated brackets match a slash, which no bracket of git does.
      const isMatch = picomatch(text.replaceAll('[^', '[^/'), { dot: true, posix: true })
      const ours = await denied(text, paths)
      expect(paths.filter((path) => isMatch(path) && !ours.denied.includes(path))).toEqual([])
    }),
    { numRuns: 100 },
  )
})

describe('a denial', () => {
  test.each([
    ['[^x]', ['a', 'b/c'], ['x']],
    ['[!x]', ['a', 'b/c'], ['x']],
    ['app/[slug]/page.ts', ['app/[slug]/page.ts', 'app/s/page.ts'], ['app/x/page.ts']],
    ['{{name}}.txt', ['{{name}}.txt', 'x/{{name}}.txt'], ['name.txt']],
    ['(shop)/*', ['(shop)/a'], ['shop/a']],
    ['[[:upper:]]*', ['Ab', 'x/Ab'], ['1b']],
    ['/dist', ['dist', 'dist/a'], ['lib/dist']],
    ['dist/**', ['dist', 'dist/a'], ['lib/dist/a', 'distant']],
    ['*.{ts,tsx}', ['a.ts', 'x/a.tsx'], ['a.js']],
  ])('of %j', async (deny, closed, open) => {
    const { denied } = await openRules()
    expect((await denied(deny, [...closed, ...open])).denied).toEqual(closed)
  })

  test.each([
    'a{1..3}',
    '@(a|b)',
    '!(a)',
    '*(a)',
    '(a|b)',
    '[z-a]',
    '[[:letter:]]',
    '[[.a.]]',
    '[a',
    '{a,b',
    '!a',
    'a\\b',
  ])('that cannot be read, %j, closes everything and names its line', async (deny) => {
    const { denied, reason } = await openRules()
    expect(await denied(deny, ['a', 'other'])).toEqual({ denied: ['a', 'other'], isValid: false })
    expect(await reason('other')).toContain(`${policyName}:2: writes.deny: `)
  })
})

test('an allowed pattern allows no more than it says', async () => {
  const { allowed } = await openRules()
  const may = (allow: string, path: string) => allowed({ writes: { allow: [allow] } }, path)
  expect(await may('src/[^a]*.ts', 'src/b.ts')).toBe(true)
  expect(await may('src/[^a]*.ts', 'src/a.ts')).toBe(false)
  expect(await may('app/[slug]/*', 'app/[slug]/x')).toBe(true)
  expect(await may('app/[slug]/*', 'app/other/x')).toBe(false)
  expect(await may('/src/*', 'src/a')).toBe(true)
  expect(await may('/src/*', 'x/src/a')).toBe(false)
})
