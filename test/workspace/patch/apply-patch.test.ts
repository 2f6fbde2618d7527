import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ToolError } from '../../../src/workspace/tool-error.ts'
import { allow, openWorkspace, type Tree } from './support.ts'
import { failureOf } from '../tree.ts'

const run = promisify(execFile)

const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join('')

/** Ten lines. The fifth one changes. */
const before = numbers(1, 10)
const after = before.replace('line 5\n', 'line five\n')
const hunk = [
  '@@ -2,7 +2,7 @@',
  ' line 2',
  ' line 3',
  ' line 4',
  '-line 5',
  '+line five',
  ' line 6',
  ' line 7',
  ' line 8',
]
const patch = ['--- a/x.txt', '+++ b/x.txt', ...hunk, ''].join('\n')

async function putTree(root: string, tree: Tree): Promise<void> {
  for (const [path, bytes] of Object.entries(tree)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), bytes)
  }
}

const rename = (from: string, to: string): string =>
  `diff --git a/${from} b/${to}\nsimilarity index 100%\nrename from ${from}\nrename to ${to}\n`

const refuse = () => Promise.reject(new ToolError({ kind: 'denied', detail: 'protected' }))
const neverAsked = { ...allow, authorize: () => Promise.reject(new Error('asked')) }

/** Returns the output of git diff for two trees. */
async function gitDiff(old: Tree, changed: Tree, ...options: string[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'git-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const git = (...args: string[]) =>
    run('git', ['-c', 'core.autocrlf=false', '-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
      cwd: root,
    })
  await git('init', '--quiet')
  await putTree(root, old)
  await git('add', '--all')
  await git('commit', '--quiet', '--allow-empty', '-m', 'old')
  for (const path of Object.keys(old)) await rm(join(root, path))
  await putTree(root, changed)
  await git('add', '--all')
  return (await git('diff', '--cached', ...options)).stdout
}

describe('patches by git', () => {
  const old: Tree = {
    'src/kept.ts': before,
    'src/gone.ts': 'one\ntwo\n',
    'src/moved.ts': numbers(1, 30),
    'src/same.ts': numbers(40, 60),
    'a name with spaces.txt': 'x\n',
    'grüße.txt': 'hallo\n',
    'open.txt': 'a\nb',
    'empty.txt': '',
  }
  const changed: Tree = {
    'src/kept.ts': after,
    'src/new.ts': 'new\n',
    'src/deep/moved.ts': numbers(1, 30).replace('line 9\n', 'line nine\n'),
    'src/same2.ts': numbers(40, 60),
    'a name with spaces.txt': 'y\n',
    'grüße.txt': 'hallo\nwelt\n',
    'open.txt': 'a\nb\nc',
    'new-empty.txt': '',
  }

  it.each([
    ['plain', []],
    ['with renames', ['-M']],
    ['without prefixes', ['--no-prefix']],
    ['with mnemonic prefixes', ['--src-prefix=i/', '--dst-prefix=w/']],
    ['with little context', ['-U1']],
    ['with much context', ['-U30']],
  ])('apply %s, and undo gives the old files', async (_, options) => {
    const workspace = await openWorkspace(old)
    const start = await workspace.tree()
    await workspace.apply(await gitDiff(old, changed, ...options))
    const wanted = await openWorkspace(changed)
    expect(await workspace.tree()).toEqual(await wanted.tree())
    await workspace.undo()
    expect(await workspace.tree()).toEqual(start)
  })

  it('keep or change the mode as the patch states', async () => {
    const workspace = await openWorkspace({ 'run.sh': before, 'x.txt': before })
    await workspace.chmod('run.sh', 0o750)
    await workspace.apply(patch.replaceAll('x.txt', 'run.sh'))
    expect(await workspace.mode('run.sh')).toBe(0o750)
    await workspace.apply('diff --git a/x.txt b/x.txt\nold mode 100644\nnew mode 100755\n')
    expect(await workspace.mode('x.txt')).toBe(0o755)
    await workspace.undo()
    expect(await workspace.mode('x.txt')).toBe(0o644)
    await workspace.apply(
      'diff --git a/y b/y\nnew file mode 100755\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+#!/bin/sh\n',
    )
    expect(await workspace.mode('y')).toBe(0o755)
  })
})

describe('patches by diff', () => {
  it('apply with time stamps, new and removed files', async () => {
    const base = await mkdtemp(join(tmpdir(), 'diff-'))
    onTestFinished(() => rm(base, { recursive: true, force: true }))
    const old: Tree = { 'kept.txt': before, 'dir/gone.txt': 'x\n' }
    const changed: Tree = { 'kept.txt': after, 'dir/new.txt': 'y\n' }
    await putTree(join(base, 'old'), old)
    await putTree(join(base, 'new'), changed)
    const diff = await run('diff', ['-ruN', 'old', 'new'], { cwd: base }).then(
      () => '',
      (error: unknown) => (error instanceof Error && 'stdout' in error ? String(error.stdout) : ''),
    )
    const workspace = await openWorkspace(old)
    await workspace.apply(diff)
    expect(await workspace.tree()).toEqual(await (await openWorkspace(changed)).tree())
  })

  it('find the file under either name', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    await workspace.apply(patch.replace('--- a/x.txt', '--- x.txt.orig').replace('+++ b/x.txt', '+++ x.txt'))
    expect(await workspace.text('x.txt')).toBe(after)
    await workspace.write('y.txt', before)
    const both = patch.replace('--- a/x.txt', '--- x.txt').replace('+++ b/x.txt', '+++ y.txt')
    expect(await failureOf(workspace.apply(both))).toMatchObject({ kind: 'invalid_arguments' })
  })
})

describe('patches by a model', () => {
  it.each([
    ['wrong line numbers', patch.replace('@@ -2,7 +2,7 @@', '@@ -4,7 +4,7 @@')],
    ['no line numbers', patch.replace('@@ -2,7 +2,7 @@', '@@')],
    ['text instead of line numbers', patch.replace('@@ -2,7 +2,7 @@', '@@ function five() @@')],
    ['counts that are too small', patch.replace('@@ -2,7 +2,7 @@', '@@ -2,3 +2,3 @@')],
    ['counts that are too large', patch.replace('@@ -2,7 +2,7 @@', '@@ -2,9 +2,11 @@')],
    ['no prefixes', patch.replace('a/x.txt', 'x.txt').replace('b/x.txt', 'x.txt')],
    ['a fence and prose', `Here is the change:\n\n\`\`\`diff\n${patch}\`\`\`\n\nThat is all.\n`],
    ['a fence and wrong counts', `\`\`\`diff\n${patch.replace('-2,7', '-2,9')}\`\`\`\n`],
    ['no newline at its end', patch.trimEnd()],
    ['blank lines at its end', `${patch}\n\n`],
    ['CR LF', patch.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\uFEFF${patch}`],
    ['a made-up index line', `diff --git a/x.txt b/x.txt\nindex 1234567..89abcde 100644\n${patch}`],
    ['the file named twice', `${patch}--- a/x.txt\n+++ b/x.txt\n@@ -10,1 +10,2 @@\n line 10\n+line 11\n`],
  ])('apply with %s', async (_, diff) => {
    const workspace = await openWorkspace({ 'x.txt': before })
    await workspace.apply(diff)
    expect(await workspace.text('x.txt')).toBe(diff.includes('+line 11') ? `${after}line 11\n` : after)
  })

  it('apply with blank lines whose space is missing', async () => {
    const workspace = await openWorkspace({ 'x.txt': 'a\n\nb\n\nc\n' })
    await workspace.apply('--- a/x.txt\n+++ b/x.txt\n@@ -1,5 +1,5 @@\n a\n\n-b\n+B\n\n c\n')
    expect(await workspace.text('x.txt')).toBe('a\n\nB\n\nc\n')
  })

  it('apply with removed lines that look like headers', async () => {
    const workspace = await openWorkspace({ 'x.sql': 'a\n-- old\nb\n', 'y.sql': '1\n' })
    const sql = '--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,3 @@\n a\n--- old\n+++ new\n b\n'
    await workspace.apply(`${sql}--- a/y.sql\n+++ b/y.sql\n@@ -1 +1 @@\n-1\n+2\n`)
    expect(await workspace.text('x.sql')).toBe('a\n++ new\nb\n')
    expect(await workspace.text('y.sql')).toBe('2\n')
  })

  it('create a file without /dev/null', async () => {
    const workspace = await openWorkspace()
    await workspace.apply('--- a/src/x.txt\n+++ b/src/x.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n')
    expect(await workspace.text('src/x.txt')).toBe('a\nb\n')
  })

  it.each([
    ['a line without prefix', patch.replace(' line 6', 'line 6')],
    ['no hunk header', '--- a/x.txt\n+++ b/x.txt\n-line 5\n+line five\n'],
    ['no file header', hunk.join('\n')],
    ['no change', 'I have changed nothing.'],
    ['an empty hunk', '--- a/x.txt\n+++ b/x.txt\n@@ -1,0 +1,0 @@\n'],
    ['a merge', 'diff --git a/x.txt b/x.txt\n--- a/x.txt\n+++ b/x.txt\n@@@ -1,1 -1,1 +1,1 @@@\n'],
    ['git names and nothing else', 'diff --git a/x.txt b/x.txt\nindex 1..2 100644\n'],
    ['a binary file', 'diff --git a/x.txt b/x.txt\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo\n'],
    ['binary files', 'diff --git a/x.txt b/x.txt\nBinary files a/x.txt and b/x.txt differ\n'],
    ['lines after the end of the file', patch.replace('+line five', '\\ No newline at end of file\n+line five')],
  ])('are refused with %s', async (_, diff) => {
    const workspace = await openWorkspace({ 'x.txt': before })
    const failure = await failureOf(workspace.apply(diff))
    expect(failure).toMatchObject({ kind: 'invalid_arguments', path: 'unifiedDiff' })
    expect(await workspace.text('x.txt')).toBe(before)
  })
})

describe('places', () => {
  it('shows the expected and the found lines', async () => {
    const workspace = await openWorkspace({ 'x.txt': before.replace('line 6', 'other') })
    const failure = await failureOf(workspace.apply(patch))
    expect(failure).toEqual({
      kind: 'conflict',
      detail: 'The patch does not match x.txt at line 2 or anywhere else. No file was changed.',
      conflicts: [
        {
          path: 'x.txt',
          line: 2,
          expected: ['line 2', 'line 3', 'line 4', 'line 5', 'line 6', 'line 7', 'line 8'],
          found: ['line 2', 'line 3', 'line 4', 'line 5', 'other', 'line 7', 'line 8'],
        },
      ],
    })
  })

  it('shows the end of a file that is shorter than the stated line', async () => {
    const workspace = await openWorkspace({ x: 'a\nb\nc\n' })
    const failure = await failureOf(workspace.apply('--- x\n+++ x\n@@ -90,2 +90,2 @@\n b\n-d\n+e\n'))
    expect(failure).toMatchObject({ conflicts: [{ line: 2, expected: ['b', 'd'], found: ['b', 'c'] }] })
  })

  it('refuses lines that occur several times, unless the hunk states the line', async () => {
    const workspace = await openWorkspace({ 'x.txt': 'a\nb\nc\na\nb\nc\n' })
    const diff = '--- a/x.txt\n+++ b/x.txt\n@@ -2,2 +2,2 @@\n a\n-b\n+B\n'
    expect(await failureOf(workspace.apply(diff))).toMatchObject({
      kind: 'conflict',
      detail: expect.stringContaining('at lines 1 and 4'),
    })
    await workspace.apply(diff.replace('-2,2 +2,2', '-4,2 +4,2'))
    expect(await workspace.text('x.txt')).toBe('a\nb\nc\na\nB\nc\n')
  })

  it('finds another place with verify too: every patch is verified', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    await workspace.apply(patch.replace('@@ -2,7 +2,7 @@', '@@ -3,7 +3,7 @@'), { verify: true })
  })

  it('is refused by the gates before a conflict is found, but not for a dry run', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    const create = '--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+x\n'
    expect(await failureOf(workspace.apply(create, {}, { ...allow, permit: refuse }))).toMatchObject({ kind: 'denied' })
    expect(await failureOf(workspace.apply(create, { dryRun: true }, { ...allow, permit: refuse }))).toMatchObject({
      kind: 'conflict',
    })
  })

  it('refuses to patch a binary file, and a binary patch', async () => {
    const workspace = await openWorkspace({ 'x.bin': 'a\n\0\nb\n' })
    const text = '--- a/x.bin\n+++ b/x.bin\n@@ -1 +1 @@\n-a\n+A\n'
    expect(await failureOf(workspace.apply(text))).toEqual({
      kind: 'failed',
      detail: 'x.bin is a binary file. Only text can be patched. No file was changed.',
    })
    const git = 'diff --git a/x.bin b/x.bin\nindex 1234567..89abcde 100644\nGIT binary patch\nliteral 3\nKcmZQz\n'
    for (const diff of [git, `${text}${git}`]) {
      expect(await failureOf(workspace.apply(diff))).toMatchObject({
        detail: 'The patch has a binary file. Only text can be patched.',
      })
    }
  })

  it('lets hunks share context, and refuses two changes of one line', async () => {
    const workspace = await openWorkspace({ 'x.txt': 'a\nb\nc\n' })
    const header = '--- a/x.txt\n+++ b/x.txt\n'
    const twice = `${header}@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n`
    expect(await failureOf(workspace.apply(header + '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n'.repeat(2)))).toMatchObject({
      kind: 'conflict',
      detail: expect.stringContaining('Two hunks'),
    })
    await workspace.apply(twice)
    expect(await workspace.text('x.txt')).toBe('A\nb\nC\n')
  })

  it('accepts added lines without context only with the hash of the file', async () => {
    const workspace = await openWorkspace({ 'x.txt': 'a\nb\n' })
    const diff = '--- a/x.txt\n+++ b/x.txt\n@@ -1,0 +2 @@\n+new\n'
    expect(await failureOf(workspace.apply(diff))).toMatchObject({ kind: 'conflict' })
    const baseSha256 = (await workspace.deps.folder.readFile('x.txt', { maxBytes: 10 })).sha256
    await workspace.apply(diff, { baseSha256 })
    expect(await workspace.text('x.txt')).toBe('a\nnew\nb\n')
  })

  it('refuses to create a file that exists and to delete lines that it does not have', async () => {
    const workspace = await openWorkspace({ 'x.txt': 'a\nb\n' })
    const create = '--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+new\n'
    const remove = '--- a/x.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n'
    expect(await failureOf(workspace.apply(create))).toMatchObject({
      kind: 'conflict',
      conflicts: [{ found: ['a', 'b', ''] }],
    })
    expect(await failureOf(workspace.apply(remove))).toMatchObject({
      kind: 'conflict',
      conflicts: [{ found: ['b', ''] }],
    })
  })

  it('renames a file to the path of another one that the patch renames', async () => {
    const workspace = await openWorkspace({ a: 'A\n', b: 'B\n' })
    expect(await failureOf(workspace.apply(rename('a', 'b')))).toMatchObject({ kind: 'conflict' })
    await workspace.apply(rename('a', 'b') + rename('b', 'a'))
    expect([await workspace.text('a'), await workspace.text('b')]).toEqual(['B\n', 'A\n'])
    await workspace.undo()
    expect([await workspace.text('a'), await workspace.text('b')]).toEqual(['A\n', 'B\n'])
  })
})

const refusedPaths: readonly (readonly [string, string])[] = [
  ['parent folders', '--- a/a/../../x\n+++ b/a/../../x\n'],
  ['an absolute path', '--- /etc/passwd\n+++ /etc/passwd\n'],
  ['a drive', '--- C:/x\n+++ C:/x\n'],
  ['backslashes', '--- a\\..\\x\n+++ a\\..\\x\n'],
  ['another device', '--- /dev/zero\n+++ b/x\n'],
  ['/dev/null for both', '--- /dev/null\n+++ /dev/null\n'],
  ['/dev/null by a detour', '--- /dev/../dev/null\n+++ b/x\n'],
  ['an octal escape', '--- "a/\\056\\056/x"\n+++ "b/\\056\\056/x"\n'],
  ['a broken escape', '--- "a/\\8"\n+++ "b/\\8"\n'],
  ['an open quote', '--- "a/x\n+++ "b/x\n'],
  ['an escaped newline', '--- "a/x\\ny"\n+++ "b/x\\ny"\n'],
  ['an escaped NUL', '--- "a/x\\000"\n+++ "b/x\\000"\n'],
  ['a NUL', '--- a/x\0\n+++ b/x\0\n'],
  ['invalid UTF-8', '--- "a/\\377"\n+++ "b/\\377"\n'],
  ['an empty segment', '--- a//x\n+++ b//x\n'],
  ['other names below', 'diff --git a/y b/y\n--- a/x\n+++ b/x\n'],
  ['a rename to outside', 'diff --git a/x b/../y\nrename from x\nrename to ../y\n'],
  ['a rename to an absolute path', 'diff --git a/x b/y\nrename from x\nrename to /tmp/y\n'],
  ['a rename to /dev/null', 'diff --git a/x b/x\nrename from x\nrename to /dev/null\n'],
  ['a rename from outside', 'diff --git a/x b/y\nrename from ../x\nrename to y\n'],
  ['a rename with other headers', 'diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/z\n'],
  ['a rename without a target', 'diff --git a/x b/y\nrename from x\n'],
  ['a copy to outside', 'diff --git a/x b/../y\ncopy from x\ncopy to ../y\n'],
  ['a link', 'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n'],
  ['a file that becomes a link', 'diff --git a/x b/x\nold mode 100644\nnew mode 120000\n'],
  ['the index line of a link', 'diff --git a/x b/x\nindex 1234567..89abcde 120000\n--- a/x\n+++ b/x\n'],
  ['a submodule', 'diff --git a/m b/m\nnew file mode 160000\n--- /dev/null\n+++ b/m\n'],
  ['a removed link', 'diff --git a/x b/x\ndeleted file mode 120000\n--- a/x\n+++ /dev/null\n'],
]

it.each(refusedPaths)('G16: refuses the whole patch with %s', async (_, header) => {
  const workspace = await openWorkspace({ 'x.txt': before, x: 'a\n' })
  const start = await workspace.tree()
  const failure = await failureOf(workspace.apply(`${patch}${header}@@ -1 +1 @@\n-a\n+b\n`))
  expect(['denied', 'invalid_arguments']).toContain(failure.kind)
  expect(new ToolError(failure).message).toMatch(/^(?:unifiedDiff: )?[A-Z].*\.$/)
  expect(await workspace.tree()).toEqual(start)
})

it.each([
  ['CR in a name', '--- a/x\r.txt\n+++ b/x\r.txt\n'],
  ['CR at the end of one name', '--- a/x.txt\r\n+++ b/x.txt\n'],
  ['U+2028', '--- a/x\u2028.txt\n+++ b/x\u2028.txt\n'],
  ['U+2029', '--- a/x\u2029.txt\n+++ b/x\u2029.txt\n'],
  ['1 MB of spaces', `--- a/x.txt${' '.repeat(2 ** 20)}\n+++ b/x.txt\n`],
  ['1 MB of spaces for git', `diff --git a/x.txt${' '.repeat(2 ** 20)} b/x.txt\n`],
  ['1 MB of spaces in a time stamp', `--- a/x.txt\t1970-01-01 ${' '.repeat(2 ** 20)}\n+++ b/x.txt\n`],
])('G17: refuses %s at once', async (_, header) => {
  const workspace = await openWorkspace({ 'x.txt': before })
  const startMs = performance.now()
  const failure = await failureOf(workspace.apply(`${header}${hunk.join('\n')}\n`))
  expect(['denied', 'invalid_arguments']).toContain(failure.kind)
  // A pattern that tries each space as a start takes minutes.
  expect(performance.now() - startMs).toBeLessThan(20_000)
})

it('G18: changes no file if the last of three does not match', async () => {
  const workspace = await openWorkspace({ 'x.txt': before, 'y.txt': before, 'z.txt': 'other\n' })
  const start = await workspace.tree()
  const three = ['x', 'y', 'z'].map((name) => patch.replaceAll('x.txt', `${name}.txt`)).join('')
  expect(await failureOf(workspace.apply(three))).toMatchObject({ kind: 'conflict', conflicts: [{ path: 'z.txt' }] })
  expect(await workspace.tree()).toEqual(start)
})

it('G18: restores files if a later one cannot be written', async () => {
  const workspace = await openWorkspace(
    { 'x.txt': before, 'y.txt': before },
    {
      folder: (plain) => ({
        ...plain,
        writeFile: async (path, ...rest) => {
          if (path === 'y.txt') throw new ToolError({ kind: 'failed', detail: 'The disk is full.' })
          await plain.writeFile(path, ...rest)
        },
      }),
    },
  )
  const start = await workspace.tree()
  const failure = await failureOf(workspace.apply(patch + patch.replaceAll('x.txt', 'y.txt')))
  expect(failure).toEqual({ kind: 'failed', detail: 'The disk is full.' })
  expect(await workspace.tree()).toEqual(start)
  expect(await workspace.deps.journal.entries()).toEqual([])
})

describe('G19: a file that has changed', () => {
  it('is a conflict if it does not have the stated hash', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    const sha256 = (await workspace.deps.folder.readFile('x.txt', { maxBytes: 1000 })).sha256
    await workspace.write('x.txt', `${before}more\n`)
    for (const baseSha256 of [sha256, { 'x.txt': sha256 }]) {
      expect(await failureOf(workspace.apply(patch, { baseSha256 }))).toMatchObject({
        kind: 'conflict',
        conflicts: [{ path: 'x.txt', expected: [`sha256 ${sha256}`] }],
      })
    }
    expect(await workspace.text('x.txt')).toBe(`${before}more\n`)
  })

  it('is a conflict if it changes while a person decides', async () => {
    const workspace = await openWorkspace({ 'x.txt': before, 'y.txt': before })
    const authorize = (): Promise<void> => workspace.write('y.txt', `${before}mine\n`)
    const both = patch + patch.replaceAll('x.txt', 'y.txt')
    expect(await failureOf(workspace.apply(both, {}, { ...allow, authorize }))).toMatchObject({ kind: 'conflict' })
    expect(await workspace.text('x.txt')).toBe(before)
    expect(await workspace.text('y.txt')).toBe(`${before}mine\n`)
  })

  it('is refused with an invalid hash', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    for (const baseSha256 of ['abc', { 'other.txt': '0'.repeat(64) }]) {
      const failure = await failureOf(workspace.apply(patch, { baseSha256 }))
      expect(failure).toMatchObject({ kind: 'invalid_arguments', path: 'baseSha256' })
    }
  })

  it('is not written by a dry run, which returns the result', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    const dry = await workspace.apply(patch, { dryRun: true }, neverAsked)
    expect(await workspace.text('x.txt')).toBe(before)
    const { id, ...real } = await workspace.apply(patch)
    expect(real).toEqual(dry)
    expect(await workspace.undo({ dryRun: true })).toMatchObject({ files: [{ path: 'x.txt' }] })
    expect(await workspace.text('x.txt')).toBe(after)
    expect(id).toBeTypeOf('string')
  })
})

describe('G22: bytes that are kept', () => {
  const bom = '\uFEFF'
  const crlf = before.replaceAll('\n', '\r\n')
  it.each([
    ['CR LF in the file only', crlf, patch, after.replaceAll('\n', '\r\n')],
    ['CR LF in the file and in the patch', crlf, patch.replaceAll('\n', '\r\n'), after.replaceAll('\n', '\r\n')],
    ['CR LF in the patch only', before, patch.replaceAll('\n', '\r\n'), after],
    [
      'a byte order mark that the patch lacks',
      bom + before,
      patch.replace('@@ -2,7 +2,7 @@', '@@ -1,8 +1,8 @@\n line 1'),
      bom + after,
    ],
    [
      'no final newline that the patch does not mention',
      before.trimEnd(),
      patch.replace('-2,7 +2,7', '-2,9 +2,10').replace(' line 8\n', ' line 8\n line 9\n line 10\n+line 11\n'),
      `${after}line 11`,
    ],
    ['mixed line ends', `a\r\n${before}`, patch.replace('-2,7 +2,7', '-3,7 +3,7'), `a\r\n${after}`],
    ['CR LF that becomes LF', 'a\r\nb\n', '--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n', 'a\nb\n'],
  ])('%s', async (_, old, diff, wanted) => {
    const workspace = await openWorkspace({ 'x.txt': old })
    await workspace.apply(diff)
    expect(await workspace.text('x.txt')).toBe(wanted)
    await workspace.undo()
    expect(await workspace.text('x.txt')).toBe(old)
  })

  it('bytes that are not UTF-8', async () => {
    const old = Buffer.concat([Buffer.from([0xff, 0xfe, 10]), Buffer.from(before)])
    const workspace = await openWorkspace({ 'x.txt': old })
    await workspace.apply(patch)
    const { bytes } = await workspace.deps.folder.readFile('x.txt', { maxBytes: 1000 })
    expect(bytes).toEqual(Buffer.concat([Buffer.from([0xff, 0xfe, 10]), Buffer.from(after)]))
  })

  it('a read-only file, which is refused before any other is written', async () => {
    const workspace = await openWorkspace({ 'x.txt': before, 'y.txt': before })
    await workspace.chmod('y.txt', 0o444)
    expect(await failureOf(workspace.apply(patch + patch.replaceAll('x.txt', 'y.txt')))).toEqual({
      kind: 'failed',
      detail: 'y.txt is read-only. No file was changed.',
    })
    expect(await workspace.text('x.txt')).toBe(before)
  })
})

describe('G23: two patches to one file at once', () => {
  it('run one after the other', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    const second = '--- a/x.txt\n+++ b/x.txt\n@@ -5,2 +5,2 @@\n line five\n-line 6\n+line six\n'
    await Promise.all([workspace.apply(patch), workspace.apply(second)])
    expect(await workspace.text('x.txt')).toBe(after.replace('line 6', 'line six'))
  })

  it('apply once if they are the same', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => workspace.apply(patch)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await workspace.text('x.txt')).toBe(after)
  })

  it('do not wait if the files differ, and leave the queue when cancelled', async () => {
    const workspace = await openWorkspace({ 'x.txt': before, 'y.txt': before })
    const asked = Promise.withResolvers<undefined>()
    const decision = Promise.withResolvers<undefined>()
    const first = workspace.apply(
      patch,
      {},
      {
        ...allow,
        authorize: async () => {
          asked.resolve(undefined)
          await decision.promise
        },
      },
    )
    await asked.promise
    await workspace.apply(patch.replaceAll('x.txt', 'y.txt'))
    const controller = new AbortController()
    const second = failureOf(workspace.apply(patch, {}, { ...allow, signal: controller.signal }))
    controller.abort()
    expect(await second).toEqual({ kind: 'cancelled' })
    decision.resolve(undefined)
    await first
    expect(await workspace.text('x.txt')).toBe(after)
  })
})

describe('authorisation', () => {
  it('names every file and shows the change with correct line numbers', async () => {
    const workspace = await openWorkspace({ 'x.txt': before, 'old.txt': 'o\n' })
    let seen: unknown
    const authorize = async (intent: unknown): Promise<void> => {
      seen = intent
    }
    const moved = 'diff --git a/old.txt b/new.txt\nrename from old.txt\nrename to new.txt\n'
    await workspace.apply(patch.replace('-2,7 +2,7', '-5,7 +5,7') + moved, {}, { ...allow, authorize })
    expect(seen).toMatchObject({
      writes: ['x.txt', 'new.txt', 'old.txt'],
      files: [
        { path: 'x.txt', change: 'modified' },
        { path: 'new.txt', change: 'renamed', from: 'old.txt' },
      ],
      diff: `diff --git a/x.txt b/x.txt\n${patch}${moved}`,
    })
  })

  it('comes before every change', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    const refused = new ToolError({ kind: 'approval_refused', detail: 'No.' })
    const authorize = (): Promise<void> => Promise.reject(refused)
    expect(await failureOf(workspace.apply(patch, {}, { ...allow, authorize }))).toEqual(refused.failure)
    expect(await workspace.text('x.txt')).toBe(before)
  })

  it('does not let a call that was cancelled meanwhile write', async () => {
    const workspace = await openWorkspace({ 'x.txt': before })
    const controller = new AbortController()
    const authorize = async (): Promise<void> => controller.abort()
    const context = { ...allow, authorize, signal: controller.signal }
    expect(await failureOf(workspace.apply(patch, {}, context))).toEqual({ kind: 'cancelled' })
    expect(await workspace.text('x.txt')).toBe(before)
  })
})
