import { constants, existsSync, readlinkSync, realpathSync } from 'node:fs'
import { lstat, open, readdir, realpath, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { nonBlocking } from '../directory.ts'
import { readBytes, readerOf } from '../read-bytes.ts'
import type { Mount } from './bubblewrap-arguments.ts'
import { isAt, pinsBetween } from './find-mounts.ts'
import { pathsIn, usesWorktreeConfig } from './git-config.ts'

/** In a git folder, git runs or obeys these. `commondir` and `gitdir` exist in the folders of linked worktrees. */
const obeyedByGit = ['config', 'config.worktree', 'hooks', 'commondir', 'gitdir']

/** The name of a submodule may have slashes, and a submodule may have submodules. */
const maxModuleDepth = 16

/** More are not searched. */
export const maxGitFolders = 200

interface GitPlaces {
  readonly mounts: readonly Mount[]
  /** The folder and those of its submodules. */
  readonly folders: readonly string[]
  /** What git runs or obeys behind links, or with ordinary names, by its path. The value of a link is its target, else ''. */
  readonly obeyed: ReadonlyMap<string, string>
}

/**
 * Finds the obeyed parts of a git folder, which are read-only in the sandbox, and those of its submodules and worktrees.
 * @param root the workspace: what git runs in it is read-only too
 */
export async function findGitPlaces(git: string, root: string): Promise<GitPlaces> {
  const mounts: Mount[] = []
  const folders: string[] = []
  const obeyed = new Map<string, string>()

  /** Protects what a path leads to, because a link itself cannot be protected. */
  async function protect(path: string, isOrdinary: boolean): Promise<void> {
    const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink()
    if (isLink === undefined) return
    if (isLink || isOrdinary) obeyed.set(path, isLink ? targetOf(path) : '')
    const target = await realpath(path).catch(() => '/')
    const isAround = isAt(target, root) || isAt(target, git)
    if (!isAround && (isAt(root, target) || isAt(git, target))) mounts.push({ kind: 'read', path: target })
  }

  /** Protects a folder of hooks, and the files that its links lead to. */
  async function protectHooks(path: string, isOrdinary: boolean): Promise<void> {
    await protect(path, isOrdinary)
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) if (entry.isSymbolicLink()) await protect(join(path, entry.name), true)
  }

  async function look(folder: string, kind: 'git' | 'worktree' | 'modules', depth: number): Promise<void> {
    const names = new Set(await readdir(folder).catch(() => []))
    // A folder of `modules` is a git folder, or a part of the name of one.
    const isGit = kind === 'git' || (kind === 'modules' && (names.has('HEAD') || names.has('config')))
    if (isGit) folders.push(folder)
    if (isGit || kind === 'worktree') {
      for (const name of obeyedByGit) {
        if (names.has(name)) await (name === 'hooks' ? protectHooks : protect)(join(folder, name), false)
      }
    }
    const owner = kind === 'worktree' ? dirname(dirname(folder)) : folder
    const text = isGit || kind === 'worktree' ? await textOf(join(owner, 'config')) : ''
    // Where git would obey the file, it has to exist to be protected. git reads an empty one like none.
    if (!names.has('config.worktree') && usesWorktreeConfig(text)) {
      const path = join(folder, 'config.worktree')
      await writeFile(path, '', { flag: 'wx' }).then(
        () => mounts.push({ kind: 'read', path }),
        () => {},
      )
    }
    const settings = `${text}\n${await textOf(join(folder, 'config.worktree'))}`
    // git takes the path from the working tree, or from the folder of a bare repository.
    const tops = [
      ...pathsIn(settings, 'worktree').map((path) => resolve(folder, path)),
      basename(owner) === '.git' ? dirname(owner) : owner,
      ...(isAt(root, git) ? [] : [root]),
    ]
    for (const path of pathsIn(settings, 'hooksPath')) {
      for (const top of tops) await protectHooks(resolve(top, path), true)
    }
    // bubblewrap creates this empty folder, in which a command then finds no way to leave a hook.
    if (isGit && names.has('config') && !names.has('hooks')) {
      mounts.push({ kind: 'hidden folder', path: join(folder, 'hooks') })
    }
    if (depth >= maxModuleDepth || folders.length >= maxGitFolders) return
    if (kind === 'modules' && !isGit) {
      for (const inner of await foldersIn(folder)) await look(inner, 'modules', depth + 1)
      return
    }
    if (isGit) for (const inner of await foldersIn(join(folder, 'worktrees'))) await look(inner, 'worktree', depth + 1)
    // Those of a linked worktree are in the folder of that worktree.
    if (names.has('modules')) await look(join(folder, 'modules'), 'modules', depth + 1)
  }

  await look(git, 'git', 0)
  return { mounts, folders, obeyed }
}

/** Returns the text of a link and where it leads, because a folder on the way can be replaced, or a missing target be made. */
export function targetOf(link: string): string {
  try {
    const text = readlinkSync(link)
    return existsSync(link) ? `${text} ${realpathSync(link)}` : text
  } catch {
    return ''
  }
}

/** No configuration of git is longer. Bytes. */
const maxText = 256 * 1024

/** Returns the start of a file, or ''. A repository or a command has made it: opening a FIFO may never end, nor reading a device. */
async function textOf(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | nonBlocking).catch(() => undefined)
  if (file === undefined) return ''
  try {
    if (!(await file.stat()).isFile()) return ''
    const { bytes } = await readBytes(readerOf(file), 0, maxText, undefined)
    return bytes.toString()
  } catch {
    return ''
  } finally {
    await file.close()
  }
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))
}

const noPlaces: GitPlaces = { mounts: [], folders: [], obeyed: new Map() }

/**
 * Returns the places for a workspace that is a linked worktree of git: its `.git` is a file, and the history is outside. A
 * repository can bring any `.git` file. Therefore a worktree counts only if git's own file outside the workspace points back.
 */
export async function findWorktreePlaces(root: string): Promise<GitPlaces> {
  const link = join(root, '.git')
  try {
    if (!(await lstat(link)).isFile()) return noPlaces
    const git = await realpath(resolve(root, await pointerIn(link, 'gitdir: ')))
    // A repository can bring both pointers. They would open one of its protected folders.
    if (isAt(root, git)) return noPlaces
    const pointsBack = (await realpath(resolve(git, await pointerIn(join(git, 'gitdir'), '')))) === link
    const common = await realpath(resolve(git, await pointerIn(join(git, 'commondir'), '')))
    const isWorktree = dirname(git) === join(common, 'worktrees') && (await stat(join(common, 'objects'))).isDirectory()
    if (!pointsBack || !isWorktree) return noPlaces
    const [others, parts] = await Promise.all([findOtherEntries(common, root), findGitPlaces(common, root)])
    const mounts: Mount[] = [
      { kind: 'write', path: common },
      ...others.mounts,
      // The others stay readable: git looks there which branches are checked out.
      { kind: 'read', path: dirname(git) },
      { kind: 'write', path: git },
    ]
    for (const mount of parts.mounts)
      mounts.push(mount, ...pinsBetween(isAt(root, mount.path) ? root : common, mount.path))
    return { mounts, folders: parts.folders, obeyed: new Map([...parts.obeyed, ...others.obeyed]) }
  } catch {
    return noPlaces
  }
}

/**
 * What git writes in the common folder for a linked worktree (gitrepository-layout(5)). It makes lock files beside them, so the
 * folder itself is writable.
 */
const writtenByGit =
  /^(?:objects|refs|logs|reftable|rr-cache|lost-found|lfs|packed-refs|shallow|gc\.(?:pid|log)|.*\.(?:lock|new))$/

/** What git only reads there. */
const readByGit = /^(?:HEAD|index|info|branches|remotes|description)$/

/**
 * Returns mounts that close the entries of the common folder that git does not write for a linked worktree. The folder of a bare
 * repository may hold other worktrees, which are hidden.
 */
async function findOtherEntries(common: string, root: string): Promise<Pick<GitPlaces, 'mounts' | 'obeyed'>> {
  const mounts: Mount[] = []
  const obeyed = new Map<string, string>()
  for (const entry of await readdir(common, { withFileTypes: true })) {
    const { name } = entry
    const path = join(common, name)
    if (writtenByGit.test(name) || obeyedByGit.includes(name) || name === 'worktrees' || path === root) continue
    if (!readByGit.test(name)) obeyed.set(path, '')
    // bubblewrap would follow a link.
    if (entry.isSymbolicLink()) continue
    const isKept = readByGit.test(name) || isAt(path, root) || entry.isFile()
    mounts.push({ kind: isKept ? 'read' : entry.isDirectory() ? 'hidden folder' : 'hidden file', path })
  }
  return { mounts, obeyed }
}

async function pointerIn(file: string, start: string): Promise<string> {
  const text = (await textOf(file)).trimEnd()
  if (!text.startsWith(start) || text.length > 4096) throw new Error('no pointer of git')
  return text.slice(start.length)
}
