import { execFileSync } from 'node:child_process'
import { access, appendFile, chmod, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readDiff, readLog, readStatus } from '../../../src/workspace/git/read-git.ts'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { guardFolder } from '../../../src/workspace/policy/guard-folder.ts'
import { createOwnPlaces } from '../../../src/workspace/policy/own-places.ts'
import { openPolicy } from '../../../src/workspace/policy/open-policy.ts'
import { createSandbox } from '../../../src/workspace/sandbox/create-sandbox.ts'
import { recordingLog } from '../../recording-log.ts'
import { makeFolder } from '../../tools/session.ts'
import { failureOf } from '../tree.ts'
import { confirming } from '../policy/confirm.ts'

const options = { signal: new AbortController().signal, timeoutMs: 60_000 }

function git(root: string, ...args: readonly string[]): string {
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'init.defaultBranch=main']
  return execFileSync('git', [...identity, ...args], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

async function openRepository(
  files: Readonly<Record<string, string>>,
  { mode = 'auto', commits = true }: { readonly mode?: 'auto' | 'off'; readonly commits?: boolean } = {},
) {
  const path = await makeFolder(files)
  git(path, 'init')
  git(path, 'add', '-A')
  if (commits) git(path, 'commit', '-m', 'First\n\nWith a reason')
  return { root: path, folder: await openGuarded(path, mode), git: (...args: readonly string[]) => git(path, ...args) }
}

async function openGuarded(path: string, mode: 'auto' | 'off' = 'auto') {
  const folder = await openFolder(path, {
    sandbox: (real) =>
      createSandbox(real, {
        mode: () => mode,
        folders: () => [],
        homeDir: () => '/nowhere',
        ownPlaces: createOwnPlaces({ folders: [], files: [] }),
        cacheDir: undefined,
      }),
  })
  const policy = openPolicy(folder, { consents: confirming(folder.root), log: recordingLog() })
  onTestFinished(policy.close)
  return guardFolder(folder, policy)
}

// The shells of macOS and Windows cannot limit memory.
test.runIf(process.platform === 'linux')('git takes little memory for a huge file of the folder', async () => {
  for (const mode of ['auto', 'off'] as const) {
    const { root, folder } = await openRepository({ 'a.txt': '1\n' }, { mode })
    await writeFile(join(root, 'sub.txt'), 'new\n')
    await writeFile(join(root, '.gitignore'), `${'x\n'.repeat(500_000)}sub.txt\n`)
    expect((await readStatus(folder, undefined, options)).changes).toEqual([
      { path: '.gitignore', unstaged: 'untracked' },
    ])
    await truncate(join(root, '.gitignore'), 3 * 1024 ** 3)
    expect(await failureOf(readStatus(folder, undefined, options))).toMatchObject({
      detail: expect.stringContaining('Out of memory'),
    })
  }
})

describe('the status', () => {
  test('has the branch and each change', async () => {
    const { root, folder, git: run } = await openRepository({ 'a b.txt': '1\n', 'b.txt': '2\n2\n2\n', 'c.txt': '3\n' })
    await writeFile(join(root, 'a b.txt'), 'changed\n')
    run('mv', 'b.txt', 'ü.txt')
    await rm(join(root, 'c.txt'))
    await mkdir(join(root, 'new'))
    await writeFile(join(root, 'new/d.txt'), '4\n')
    expect(await readStatus(folder, undefined, options)).toEqual({
      branch: 'main',
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      changes: [
        { path: 'a b.txt', unstaged: 'modified' },
        { path: 'c.txt', unstaged: 'deleted' },
        { path: 'ü.txt', from: 'b.txt', staged: 'renamed' },
        { path: 'new/d.txt', unstaged: 'untracked' },
      ],
      truncated: false,
    })
    expect((await readStatus(folder, 'new', options)).changes).toHaveLength(1)
  })

  test('before the first commit has no commit', async () => {
    const { folder } = await openRepository({ 'a.txt': '1\n' }, { commits: false })
    expect(await readStatus(folder, undefined, options)).toMatchObject({
      branch: 'main',
      commit: null,
      changes: [{ path: 'a.txt', staged: 'added' }],
    })
    expect((await readDiff(folder, undefined, options)).diff).toContain('+1\n')
    expect(await readLog(folder, {}, options)).toEqual({ commits: [], truncated: false })
  })

  test('of thousands of files is cut', async () => {
    const { root, folder } = await openRepository({ 'a.txt': '1\n' })
    await Promise.all(Array.from({ length: 1200 }, (_, index) => writeFile(join(root, `${index}.txt`), '')))
    const status = await readStatus(folder, undefined, options)
    expect([status.changes.length, status.truncated]).toEqual([1000, true])
  })
})

describe('the diff', () => {
  test('has staged and unstaged changes, and of one path if asked', async () => {
    const { root, folder, git: run } = await openRepository({ 'a.txt': '1\n', 'src/b.txt': '2\n' })
    await writeFile(join(root, 'a.txt'), 'one\n')
    await writeFile(join(root, 'src/b.txt'), 'two\n')
    run('add', 'a.txt')
    const { diff } = await readDiff(folder, undefined, options)
    expect(diff).toContain('diff --git a/a.txt b/a.txt\n')
    expect(diff).toContain('-1\n+one\n')
    expect(diff).toContain('-2\n+two\n')
    expect((await readDiff(folder, 'src', options)).diff).not.toContain('a.txt')
  })

  test('has neither secrets nor what the policy denies', async () => {
    const { root, folder } = await openRepository({
      '.env': 'KEY=one\n',
      'customers/a.txt': 'Ada\n',
      'a.txt': '1\n',
      '.agent-policy.yaml': 'reads: { deny: ["customers/**"] }\n',
    })
    for (const file of ['.env', 'customers/a.txt', 'a.txt']) await appendFile(join(root, file), 'more\n')
    const { diff, omitted } = await readDiff(folder, undefined, options)
    expect([diff.match(/^diff --git.*$/gm), omitted]).toEqual([['diff --git a/a.txt b/a.txt'], 2])
    const { changes } = await readStatus(folder, undefined, options)
    expect(changes.map(({ path }) => path)).toEqual(['.env', 'a.txt'])
  })

  test('of much text is cut', async () => {
    const { root, folder } = await openRepository({ 'a.txt': '1\n' })
    await writeFile(join(root, 'a.txt'), 'a line of text\n'.repeat(50_000))
    const { diff, truncated } = await readDiff(folder, undefined, options)
    expect(truncated).toBe(true)
    expect(diff.length).toBeLessThanOrEqual(256 * 1024)
    expect(diff).not.toContain('left out')
  })
})

test('the log has the newest commits', async () => {
  const { root, folder, git: run } = await openRepository({ 'a.txt': '1\n', 'b.txt': '1\n' })
  await writeFile(join(root, 'a.txt'), '2\n')
  run('commit', '-am', 'Second')
  expect(await readLog(folder, {}, options)).toEqual({
    commits: [
      {
        commit: expect.any(String),
        author: 'Ada',
        date: expect.any(String),
        refs: ['HEAD -> main'],
        message: 'Second',
      },
      {
        commit: expect.any(String),
        author: 'Ada',
        date: expect.any(String),
        refs: [],
        message: 'First\n\nWith a reason',
      },
    ],
    truncated: false,
  })
  expect(await readLog(folder, { limit: 1 }, options)).toMatchObject({
    commits: [{ message: 'Second' }],
    truncated: true,
  })
  expect((await readLog(folder, { path: 'b.txt' }, options)).commits).toHaveLength(1)
})

describe.each(['auto', 'off'] as const)('with the sandbox %s', (mode) => {
  test('no program of the repository runs, and nothing is written', async () => {
    const {
      root,
      folder,
      git: run,
    } = await openRepository({ 'a.txt': '1\n', '.gitattributes': '*.txt filter=x diff=x\n' }, { mode })
    const outside = await makeFolder()
    const program = join(root, 'trap.sh')
    await writeFile(program, `#!/bin/sh\necho ran >> ${root}/ran\necho ran >> ${outside}/ran\ncat\n`)
    await chmod(program, 0o755)
    for (const [key, value] of [
      ['core.fsmonitor', program],
      ['core.hooksPath', root],
      ['core.pager', program],
      ['pager.status', program],
      ['pager.diff', program],
      ['pager.log', program],
      ['core.sshCommand', program],
      ['diff.external', program],
      ['diff.x.textconv', program],
      ['diff.x.command', program],
      ['filter.x.clean', program],
      ['filter.x.smudge', program],
      ['filter.x.process', program],
      ['filter.x.required', 'true'],
      ['gpg.program', program],
      ['log.showSignature', 'true'],
      ['alias.status', `!${program}`],
    ] as const) {
      run('config', key, value)
    }
    await symlink(program, join(root, 'post-index-change'))
    await writeFile(join(root, 'a.txt'), '2\n')
    expect((await readStatus(folder, undefined, options)).changes).toContainEqual({
      path: 'a.txt',
      unstaged: 'modified',
    })
    expect((await readDiff(folder, undefined, options)).diff).toContain('-1\n+2\n')
    expect((await readLog(folder, {}, options)).commits).toHaveLength(1)
    for (const place of [root, outside]) await expect(access(join(place, 'ran'))).rejects.toThrow('ENOENT')
  })

  test('a linked worktree is read, and a folder that points to another repository is not', async () => {
    const { root } = await openRepository({ 'a.txt': 'private\n' })
    const linked = join(await makeFolder(), 'linked')
    git(root, 'worktree', 'add', linked)
    expect(await readStatus(await openGuarded(linked, mode), undefined, options)).toMatchObject({ branch: 'linked' })
    const pointer = await makeFolder({ '.git': `gitdir: ${root}/.git\n` })
    const link = await makeFolder()
    await symlink(join(root, '.git'), join(link, '.git'))
    const common = await openRepository({ 'b.txt': '1\n' })
    await writeFile(join(common.root, '.git/commondir'), `${root}/.git\n`)
    const tree = await openRepository({ 'b.txt': '1\n' })
    tree.git('config', 'core.worktree', root)
    for (const path of [pointer, link, common.root, tree.root]) {
      expect(await failureOf(readLog(await openGuarded(path, mode), {}, options))).toMatchObject({ kind: 'failed' })
    }
  })

  test('neither a folder inside a repository nor one that looks like a bare repository is read', async () => {
    const { root } = await openRepository({ 'src/a.txt': '1\n' })
    const bare = await makeFolder()
    await rename(join(root, '.git'), join(bare, 'repository'))
    for (const path of [join(root, 'src'), join(bare, 'repository'), await makeFolder()]) {
      expect(await failureOf(readStatus(await openGuarded(path, mode), undefined, options))).toEqual({
        kind: 'failed',
        detail: 'This workspace is not the folder of a git repository.',
      })
    }
  })
})

test('a path outside the workspace is denied, and one that looks like an option is a path', async () => {
  const { root, folder } = await openRepository({ 'a.txt': '1\n', '--output=x': '1\n' })
  await writeFile(join(root, '--output=x'), '2\n')
  expect(await failureOf(readDiff(folder, '../x', options))).toMatchObject({ kind: 'denied' })
  expect((await readDiff(folder, '--output=x', options)).diff).toContain('+2\n')
  expect((await readDiff(folder, '*', options)).diff).toBe('')
})
