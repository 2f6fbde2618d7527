import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pathsIn, usesWorktreeConfig } from '../../../src/workspace/sandbox/git-config.ts'
import { findGitPlaces } from '../../../src/workspace/sandbox/git-places.ts'
import { makeFolder } from '../../tools/session.ts'
import { createEnclosed, describeEnclosed, type Person } from './enclosed.ts'

const git = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;'

/** Creates a bare repository with a worktree `tree` and others in and beside it, and returns the paths. */
async function createBare(person: Person, tree: string) {
  const of = await createEnclosed(person)
  const work = join(of.base, 'work')
  const repository = join(work, 'repo.git')
  const root = join(work, tree)
  await of.scripts(
    [
      `${git} git init -q -b main seed && cd seed && echo x > file.txt && git add . && git commit -q -m first && cd .. && ` +
        `git clone -q --bare seed repo.git && cd repo.git && git worktree add -q -b own ${root} && ` +
        'git worktree add -q -b inner inner && git worktree add -q -b deep sub/deep && git worktree add -q -b beside ../beside && ' +
        'git config extensions.worktreeConfig true && git config --unset core.bare && git config --worktree core.bare true',
    ],
    { root: work },
  )
  return { ...of, work, repository, root, scripts: (texts: readonly string[]) => of.scripts(texts, { root }) }
}

describeEnclosed('a linked worktree of a bare repository', (person) => {
  test.each(['repo.git/own', 'repo.git/sub/own', 'own'])(
    'at %s changes no other worktree, and nothing that git runs or obeys',
    async (tree) => {
      const { work, repository, scripts } = await createBare(person, tree)
      const others = [join(repository, 'inner'), join(repository, 'sub/deep'), join(work, 'beside')]
      const paths = [
        ...others.flatMap((folder) => [join(folder, 'file.txt'), join(folder, '.git'), join(folder, 'new')]),
        ...['hooks/pre-commit', 'config', 'config.worktree', 'HEAD', 'info/attributes'].map((name) =>
          join(repository, name),
        ),
        ...[
          'inner/HEAD',
          'inner/gitdir',
          'inner/index',
          'inner/config.worktree',
          'own/commondir',
          'own/config.worktree',
        ].map((name) => join(repository, 'worktrees', name)),
      ]
      const [attack, made] = await scripts([
        `cat ${others.map((folder) => `${folder}/file.txt`).join(' ')}; ` +
          `for each in ${paths.join(' ')}; do echo evil >> $each; rm -f $each; done; ` +
          `mv ${repository}/worktrees ${repository}/w; mv ${repository}/inner ${repository}/i; mv ${repository}/sub ${repository}/s; true`,
        `echo evil > ${repository}/.envrc; echo x > ${repository}/commondir`,
      ])
      if (tree !== 'repo.git/sub/own') expect(attack?.stdout).toBe('')
      for (const path of paths.filter((each) => existsSync(each))) {
        expect(readFileSync(path, 'utf8'), path).not.toContain('evil')
      }
      for (const folder of others) {
        expect(existsSync(join(folder, 'new')), folder).toBe(false)
        expect(readFileSync(join(folder, 'file.txt'), 'utf8'), folder).toBe('x\n')
      }
      expect(made?.notes.join()).toContain(`${repository}/.envrc`)
      expect(existsSync(join(repository, 'commondir'))).toBe(false)
    },
  )

  test.each(['repo.git/own', 'own'])('at %s commits, fetches, deletes branches and packs', async (tree) => {
    const { scripts } = await createBare(person, tree)
    const [commit, fetched, packed] = await scripts([
      `${git} echo y > new.txt && git add new.txt && git commit -q -m second && git log --format=%s && git status --short`,
      `${git} git init -q -b main other && git -C other commit -q --allow-empty -m third && ` +
        'git fetch -q ./other main:refs/heads/imported && git log -1 --format=%s imported && rm -rf other',
      'git branch -q topic && git pack-refs --all && git branch -q -D topic && git repack -q -a -d && git branch --format="%(refname:short)" && ' +
        'git checkout -q -b next && git stash list && git status --short',
    ])
    expect([commit, fetched].map((each) => each?.stderr)).toEqual(['', ''])
    expect(commit).toMatchObject({ exitCode: 0, stdout: 'second\nfirst\n', notes: [] })
    expect(fetched).toMatchObject({ exitCode: 0, stdout: 'third\n', notes: [] })
    expect(packed).toMatchObject({ exitCode: 0, stdout: 'beside\ndeep\nimported\ninner\nmain\nown\n', notes: [] })
  })

  test('has submodules whose hooks and configuration stay', async () => {
    const { repository, scripts } = await createBare(person, 'own')
    const module = join(repository, 'worktrees/own/modules/sub')
    const [, attack] = await scripts([
      `git init -q --bare ${module}`,
      `echo evil >> ${module}/config; echo evil > ${module}/hooks/post-checkout; mv ${module} ${module}2`,
    ])
    expect(attack?.stderr.match(/Read-only file system/g)).toHaveLength(2)
    expect(readFileSync(join(module, 'config'), 'utf8')).not.toContain('evil')
  })
})

describeEnclosed('files that git runs under ordinary names', (person) => {
  test('are read-only behind links in .git/hooks and in core.hooksPath, and others stay writable', async () => {
    const { scripts, root } = await createEnclosed(person, {
      'scripts/check': '1',
      'scripts/build': '1',
      'tools/git/pre-push': '1',
      'lib/post-merge': '1',
    })
    await scripts(['git init -q . && rm -rf .git/hooks && mkdir .git/hooks && git config core.hooksPath tools/git'])
    symlinkSync('../../scripts/check', join(root, '.git/hooks/pre-commit'))
    symlinkSync('../../scripts/later', join(root, '.git/hooks/post-commit'))
    symlinkSync('../../lib/post-merge', join(root, 'tools/git/post-merge'))
    const targets = ['scripts/check', 'tools/git/pre-push', 'tools/git/new', 'lib/post-merge']
    const [hostile, later, honest] = await scripts([
      `for each in ${targets.join(' ')}; do echo 2 > $each; rm -f $each; done; mv scripts s; mv tools t; mv lib l; true`,
      'echo 2 > scripts/later',
      'echo 2 > scripts/build && echo 2 > tools/own && git status --short',
    ])
    for (const path of targets.filter((each) => !each.endsWith('new'))) {
      expect(readFileSync(join(root, path), 'utf8'), path).toBe('1')
    }
    expect(existsSync(join(root, 'tools/git/new'))).toBe(false)
    expect(hostile?.notes).toEqual([])
    expect(later?.notes.join()).toContain('".git/hooks/post-commit"')
    expect(honest).toMatchObject({ exitCode: 0, notes: [] })
    expect(readFileSync(join(root, 'scripts/build'), 'utf8')).toBe('2\n')
  })

  test('a folder of hooks that is a link does not stop commands, and a replaced one is named', async () => {
    const { scripts, root } = await createEnclosed(person, { 'checks/pre-commit': '1' })
    await scripts(['git init -q . && rm -rf .git/hooks'])
    symlinkSync('../checks', join(root, '.git/hooks'))
    const [hostile] = await scripts([
      'echo 2 > checks/pre-commit; rm .git/hooks; mkdir .git/hooks; echo 2 > .git/hooks/pre-push',
    ])
    expect(hostile?.stderr).toContain('Read-only')
    expect(hostile?.notes.join()).toContain('".git/hooks"')
  })

  test('a folder of hooks that is the workspace itself does not close it', async () => {
    const { scripts, root } = await createEnclosed(person, { 'a.txt': '1' })
    await scripts(['git init -q . && git config core.hooksPath .', 'echo 2 > a.txt'])
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('2\n')
  })
})

describeEnclosed('a bare repository in an ordinary folder', (person) => {
  test('is named if a command makes it, and then its hooks and configuration stay', async () => {
    const { scripts, root } = await createEnclosed(person, { 'data/HEAD': 'x', 'data/a.txt': '1' })
    const [honest, made, hostile] = await scripts([
      'echo 2 > data/a.txt',
      'git init -q --bare store',
      'echo evil >> store/config; echo evil > store/hooks/pre-receive; mv store moved',
    ])
    expect(honest).toMatchObject({ exitCode: 0, notes: [] })
    expect(made?.notes.join()).toContain('"store"')
    expect(hostile?.stderr.match(/Read-only file system/g)).toHaveLength(2)
    expect(readFileSync(join(root, 'store/config'), 'utf8')).not.toContain('evil')
  })

  test('beside its worktrees in the workspace lets commands commit', async () => {
    const { scripts } = await createEnclosed(person)
    const [made, commit] = await scripts([
      `${git} git init -q -b main seed && git -C seed commit -q --allow-empty -m first && git clone -q --bare seed .bare && ` +
        'git -C .bare worktree add -q -b own ../own',
      `cd own && ${git} git commit -q --allow-empty -m second && git log -1 --format=%s`,
    ])
    expect(made?.notes.join()).toContain('".bare"')
    expect(commit).toMatchObject({ exitCode: 0, stdout: 'second\n' })
  })
})

describe('the configuration of git', () => {
  test.runIf(process.platform === 'linux')('is read in a moment and with little memory, whatever it is', async () => {
    const folder = await makeFolder({ HEAD: 'ref: refs/heads/main\n' })
    const config = join(folder, 'config')
    const before = process.memoryUsage().rss
    const make = {
      'a FIFO': () => execFileSync('mkfifo', [config]),
      'an endless device': () => symlinkSync('/dev/zero', config),
      '250,000 line ends': () => writeFileSync(config, '\n'.repeat(250_000)),
      'a sparse file of a gigabyte': () => {
        writeFileSync(config, '')
        truncateSync(config, 1024 ** 3)
      },
      'a folder': () => mkdirSync(config),
    }
    for (const [kind, makeIt] of Object.entries(make)) {
      makeIt()
      expect((await findGitPlaces(folder, folder)).folders, kind).toEqual([folder])
      rmSync(config, { recursive: true })
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
    writeFileSync(config, '[core]\n\thooksPath = own\n')
    writeFileSync(join(folder, 'own'), '')
    expect((await findGitPlaces(folder, folder)).mounts).toContainEqual({ kind: 'read', path: join(folder, 'own') })
  })

  test.each([
    ['[core]\n\thooksPath = a/b # a comment\n', ['a/b']],
    ['[core] HooksPath="a b"\n', ['a b']],
    [String.raw`[core]` + '\n  hookspath = "a\\"b" ; x\n', ['a"b']],
    ['[core]\n\thooksPath = ~/hooks\n\thooksPath =\n# hooksPath = x\n', []],
  ])('%j names folders of hooks', (text, paths) => {
    expect(pathsIn(text, 'hooksPath')).toEqual(paths)
  })

  test.each(['[extensions]\n\tworktreeConfig = true\n', '[extensions] worktreeconfig=true'])(
    '%j uses config.worktree',
    (text) => {
      expect(usesWorktreeConfig(text)).toBe(true)
      expect(usesWorktreeConfig('[core]\n\tbare = true\n')).toBe(false)
    },
  )
})
