import { posix } from 'node:path'
import type { Folder, Reading } from '../folder.ts'
import { openGit, type Git, type GitOptions } from './run-git.ts'

type FileState = 'added' | 'copied' | 'deleted' | 'modified' | 'renamed' | 'type changed' | 'unmerged' | 'untracked'

interface GitChange {
  readonly path: string
  /** The old path of a renamed file, or the original of a copied one. */
  readonly from?: string
  /** What is staged for the next commit. Absent: nothing. */
  readonly staged?: FileState
  /** What the working tree has beyond that. Absent: nothing. */
  readonly unstaged?: FileState
}

export interface GitStatus {
  /** Null if no branch is checked out. */
  readonly branch: string | null
  /** Null before the first commit. */
  readonly commit: string | null
  readonly upstream?: string
  /** Commits that the upstream branch does not have, and commits of it that are not here. */
  readonly ahead?: number
  readonly behind?: number
  readonly changes: readonly GitChange[]
  readonly truncated: boolean
}

export interface GitDiff {
  /** What differs from the last commit, staged or not, without untracked files. */
  readonly diff: string
  /** Number of changed files whose contents the policy hides. */
  readonly omitted: number
  readonly truncated: boolean
}

export interface GitLog {
  /** Newest first. */
  readonly commits: readonly {
    readonly commit: string
    readonly author: string
    /** ISO 8601. */
    readonly date: string
    /** Branches and tags. */
    readonly refs: readonly string[]
    readonly message: string
  }[]
  readonly truncated: boolean
}

/** More changes are left out. */
const maxChanges = 1000

/** Longer commit messages are cut. Characters. */
const maxMessage = 2000

export const defaultLogLimit = 20

/** `--submodule`: git would read the files of a submodule in its folder, and run what the configuration there names. */
const quiet = [
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--ignore-submodules=dirty',
  '--submodule=short',
] as const

const stateOf: Readonly<Record<string, FileState>> = {
  A: 'added',
  C: 'copied',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type changed',
  U: 'unmerged',
}

/** @throws ToolError those of `openGit`; `denied` */
export async function readStatus(folder: Folder, path: string | undefined, options: GitOptions): Promise<GitStatus> {
  const git = await openGit(folder, options)
  const args = ['status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all', '--ignore-submodules=dirty']
  const { text, truncated } = await git.run([...args, ...only(folder, path)])
  const rows = text.split('\0').slice(0, truncated ? -1 : undefined)
  const facts = new Map<string, string>()
  const found: GitChange[] = []
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at] ?? ''
    const [, name, value] = /^# branch\.(\S+) (.*)$/.exec(row) ?? []
    if (name !== undefined && value !== undefined) facts.set(name, value)
    else if (row.startsWith('2 ')) found.push(changeOf(row, rows[(at += 1)]))
    else if (/^[1u?] /.test(row)) found.push(changeOf(row, undefined))
  }
  const visible = await withoutHidden(await folder.reading(), found)
  const [, ahead, behind] = /^\+(\d+) -(\d+)$/.exec(facts.get('ab') ?? '') ?? []
  const upstream = facts.get('upstream')
  const branch = facts.get('head')
  const commit = facts.get('oid')
  return {
    branch: branch === undefined || branch === '(detached)' ? null : branch,
    commit: commit === undefined || commit === '(initial)' ? null : commit,
    ...(upstream !== undefined && { upstream }),
    ...(ahead !== undefined && behind !== undefined && { ahead: Number(ahead), behind: Number(behind) }),
    changes: visible.slice(0, maxChanges),
    truncated: truncated || visible.length > maxChanges,
  }
}

/** Reads a row of `git status --porcelain=v2`. Source: git-status(1), "Porcelain Format Version 2". */
function changeOf(row: string, from: string | undefined): GitChange {
  if (row.startsWith('? ')) return { path: row.slice(2), unstaged: 'untracked' }
  const fields = { '1': 8, '2': 9, u: 10 }[row.charAt(0)] ?? 8
  const path = row.split(' ').slice(fields).join(' ')
  const [staged, unstaged] = [stateOf[row.charAt(2)], stateOf[row.charAt(3)]]
  return {
    path,
    ...(from !== undefined && { from }),
    ...(staged !== undefined && { staged }),
    ...(unstaged !== undefined && { unstaged }),
  }
}

/** @throws ToolError those of `openGit`; `denied` */
export async function readDiff(folder: Folder, path: string | undefined, options: GitOptions): Promise<GitDiff> {
  const git = await openGit(folder, options)
  const changed = await changedFiles(git, only(folder, path))
  const reading = await folder.reading()
  const shown: string[] = []
  for (const file of changed.slice(0, maxChanges)) {
    const [visible] = await withoutHidden(reading, [{ path: file }])
    if (visible !== undefined && (await reading.maySearch(file))) shown.push(file)
  }
  const omitted = Math.min(changed.length, maxChanges) - shown.length
  if (shown.length === 0) return { diff: '', omitted, truncated: false }
  const prefixes = ['--src-prefix=a/', '--dst-prefix=b/']
  const { text, truncated } = await git.run(['diff', ...base(git), ...quiet, ...prefixes, '-M', '--', ...shown])
  return { diff: text, omitted, truncated: truncated || changed.length > maxChanges }
}

async function changedFiles(git: Git, paths: readonly string[]): Promise<readonly string[]> {
  const args = ['diff', ...base(git), ...quiet, '--name-only', '--no-renames', '-z', ...paths]
  const { text, truncated } = await git.run(args)
  return text
    .split('\0')
    .slice(0, truncated ? -1 : undefined)
    .filter((file) => file !== '')
}

/** Before the first commit, everything that is staged is new. */
function base({ hasCommits }: Git): readonly string[] {
  return hasCommits ? ['HEAD'] : ['--cached']
}

/** @throws ToolError those of `openGit`; `denied` */
export async function readLog(
  folder: Folder,
  { path, limit = defaultLogLimit }: { readonly path?: string | undefined; readonly limit?: number | undefined },
  options: GitOptions,
): Promise<GitLog> {
  const git = await openGit(folder, options)
  if (!git.hasCommits) return { commits: [], truncated: false }
  const args = ['log', '-z', `--max-count=${limit + 1}`, '--no-color', '--no-notes', '--no-patch', '--decorate=short']
  const output = await git.run([...args, '--format=%H%x1f%an%x1f%aI%x1f%D%x1f%B', ...only(folder, path)])
  const rows = output.text.split('\0').slice(0, output.truncated ? -1 : undefined)
  const commits = rows.flatMap((row) => {
    const [commit = '', author = '', date = '', refs = '', message = ''] = row.split('\x1f')
    if (commit === '') return []
    return [
      { commit, author, date, refs: refs === '' ? [] : refs.split(', '), message: message.trim().slice(0, maxMessage) },
    ]
  })
  return { commits: commits.slice(0, limit), truncated: output.truncated || commits.length > limit }
}

/** @throws ToolError `denied` for a path outside the workspace */
function only(folder: Folder, path: string | undefined): readonly string[] {
  if (path === undefined) return []
  const normal = folder.relativePath(path)
  return normal === '' ? [] : ['--', normal]
}

/** Removes files that a list must not have. */
async function withoutHidden<Changed extends GitChange>(
  reading: Reading,
  changes: readonly Changed[],
): Promise<readonly Changed[]> {
  const visible: Changed[] = []
  for (const change of changes) {
    const paths = [change.path, change.from ?? change.path]
    const hidden = await Promise.all(
      paths.map(async (path) => {
        const folderOf = posix.dirname(path)
        return (await reading.hiddenIn(folderOf === '.' ? '' : folderOf))(path)
      }),
    )
    if (!hidden.includes(true)) visible.push(change)
  }
  return visible
}
