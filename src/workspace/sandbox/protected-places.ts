import type { Dirent } from 'node:fs'
import { existsSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { mayHoldObeyed, obeyedOf, secretOf } from '../policy/protected-names.ts'
import type { Mount } from './bubblewrap-arguments.ts'
import { isAt } from './find-mounts.ts'

/** Larger workspaces exist. Their folders nearest to the root are searched. */
const maxFolders = 5000

/**
 * Each place needs a mount, and bubblewrap needs about a second for some hundred mounts. A workspace with more places runs no
 * commands: otherwise a command could create so many that the places of the next one are not protected.
 */
const maxPlaces = 400

/** Reading a folder takes some ten microseconds, and ten times as long on another thread. */
const foldersPerTurn = 100

interface SeenFolder {
  readonly ctimeMs: number
  readonly inner: readonly string[]
  readonly found: readonly Dirent[]
  /** Links that are not protected themselves. */
  readonly links: readonly string[]
}

/** What earlier searches have found. */
export interface SeenFolders {
  /** What folders had in them, by path. */
  readonly entries: Map<string, SeenFolder>
  /** Folders with protected files. They come first, so that a command cannot hide them behind thousands of new folders. */
  readonly holders: Set<string>
}

export function createSeenFolders(): SeenFolders {
  return { entries: new Map(), holders: new Set() }
}

/** More than the clock of a file system needs for its next value. Ms. */
const clockTickMs = 100

/** Names in the longest pattern of protected files. */
const longestPattern = 3

/** Programs of packages run only with the commands of the workspace, and honest commands write there: caches of test runners. */
const ordinaryFolders: ReadonlySet<string> = new Set(['node_modules', '.venv'])

export interface ProtectedPlaces {
  readonly mounts: readonly Mount[]
  /** The git folders of the workspace, in which git would obey a file `commondir`. */
  readonly gitFolders: readonly string[]
  /**
   * The files and folders that other programs execute or obey, relative to the root, with `/`. The value of a link is its target,
   * because a link itself cannot be protected; else ''.
   */
  readonly obeyed: ReadonlyMap<string, string>
  /** Not all of the places have a mount. */
  readonly hasTooMany: boolean
  /** Some folders were not searched. */
  readonly isPartial: boolean
}

/**
 * Finds the files that other programs execute or obey, the policies, and the parts of git that it executes or obeys. They are
 * read-only in the sandbox, and the folders around them cannot be renamed: a copy in their place would not be read-only.
 * @param hidesSecrets whether secrets are hidden: the workspace is the home folder
 * @param seen what an earlier call has found
 */
export async function findProtectedPlaces(
  root: string,
  hidesSecrets: boolean,
  seen: SeenFolders,
): Promise<ProtectedPlaces> {
  const places: Mount[] = []
  const gitFolders: string[] = []
  const later: (() => Promise<void>)[] = []
  const obeyed = new Map<string, string>()

  /** Takes a protected entry of a folder. @param via the target of a link through which it was found */
  function take(folder: string, entry: Dirent, via = ''): void {
    const path = join(folder, entry.name)
    const name = nameIn(root, path)
    const isHidden = hidesSecrets && secretOf(name) !== undefined
    if (!isHidden) obeyed.set(name, entry.isSymbolicLink() ? targetOf(path) : via)
    if (entry.name === '.git' && entry.isDirectory()) {
      later.push(async () => {
        const { mounts: parts, folders } = await findGitPlaces(path)
        gitFolders.push(...folders)
        places.push({ kind: 'pin', path }, ...parts)
      })
      return
    }
    later.push(async () => {
      const target = await realpath(path).catch(() => root)
      if (!target.startsWith(withSlash(root))) return
      const isFolder = isHidden && (await stat(target)).isDirectory()
      places.push({ kind: isHidden ? (isFolder ? 'hidden folder' : 'hidden file') : 'read', path: target })
    })
  }

  const queue = new Set([root, ...seen.holders])
  let searched = 0
  for (const folder of queue) {
    if (searched >= maxFolders) break
    searched += 1
    if (searched % foldersPerTurn === 0) await nextTurn()
    const { inner, found, links } = list(root, folder, hidesSecrets, seen.entries)
    for (const each of inner) queue.add(each)
    for (const entry of found) take(folder, entry)
    if (found.length === 0) seen.holders.delete(folder)
    else if (seen.holders.size < maxPlaces) seen.holders.add(folder)
    // A folder may have its name by a link: `.vscode -> editor` makes `editor/tasks.json` an obeyed file.
    for (const link of links) {
      for (const entry of entriesBehind(root, link)) {
        const tail = nameIn(root, join(link, entry.name)).split('/').slice(-longestPattern).join('/')
        if (obeyedOf(tail) !== undefined) take(link, entry, targetOf(link))
      }
    }
  }
  for (const found of later) await found()
  return {
    mounts: withPins(root, places.slice(0, maxPlaces)),
    gitFolders,
    obeyed,
    hasTooMany: places.length > maxPlaces || gitFolders.length >= maxGitFolders,
    isPartial: searched < queue.size,
  }
}

/** Adds the folders between the root and the places. */
function withPins(root: string, places: readonly Mount[]): readonly Mount[] {
  return [...places, ...places.flatMap(({ path }) => pinsBetween(root, path))]
}

/** Returns what is in a folder. Nothing can change in it without a new time, which no program can set back (`ctime`). */
function list(root: string, folder: string, hidesSecrets: boolean, seen: SeenFolders['entries']): SeenFolder {
  try {
    const { ctimeMs } = statSync(folder)
    const known = seen.get(folder)
    if (known?.ctimeMs === ctimeMs) return known
    const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !ordinaryFolders.has(name))
    const found = entries.filter((entry) => {
      // The names before were looked at with their own folders.
      const tail = nameIn(root, join(folder, entry.name)).split('/').slice(-longestPattern).join('/')
      return obeyedOf(tail) !== undefined || (hidesSecrets && secretOf(tail) !== undefined)
    })
    const inner = entries
      .filter((entry) => entry.isDirectory() && !found.includes(entry))
      .map((entry) => join(folder, entry.name))
    const links = entries
      .filter((entry) => entry.isSymbolicLink() && !found.includes(entry) && mayHoldObeyed(entry.name))
      .map((entry) => join(folder, entry.name))
    const listed = { ctimeMs, inner, found, links }
    // A change in the same tick of the clock as this look would have the same time.
    if (Date.now() - ctimeMs > clockTickMs) seen.set(folder, listed)
    if (seen.size > 2 * maxFolders) seen.clear()
    return listed
  } catch {
    // It cannot be read, or has just gone.
    return { ctimeMs: 0, inner: [], found: [], links: [] }
  }
}

/** Returns the entries of the folder that a link leads to, if it is in the workspace. */
function entriesBehind(root: string, link: string): readonly Dirent[] {
  try {
    if (!`${realpathSync(link)}/`.startsWith(withSlash(root))) return []
    return readdirSync(link, { withFileTypes: true })
  } catch {
    return []
  }
}

/** Returns the text of a link and where it leads, because a folder on the way can be replaced, or a missing target be made. */
function targetOf(link: string): string {
  try {
    const text = readlinkSync(link)
    return existsSync(link) ? `${text} ${realpathSync(link)}` : text
  } catch {
    return ''
  }
}

function nameIn(root: string, path: string): string {
  return relative(root, path).split(sep).join('/')
}

/** Returns the folders between two paths. A mount point cannot be renamed, and its parent can. */
function pinsBetween(root: string, path: string): readonly Mount[] {
  const folder = dirname(path)
  if (folder === root || !folder.startsWith(withSlash(root))) return []
  return [{ kind: 'pin', path: folder }, ...pinsBetween(root, folder)]
}

/** In a git folder, git runs or obeys these. `commondir` and `gitdir` exist in the folders of linked worktrees. */
const obeyedByGit = ['config', 'config.worktree', 'hooks', 'commondir', 'gitdir']

/** The name of a submodule may have slashes, and a submodule may have submodules. */
const maxModuleDepth = 16

/** More are not searched. */
const maxGitFolders = 200

interface GitPlaces {
  readonly mounts: readonly Mount[]
  /** The folder and those of its submodules. */
  readonly folders: readonly string[]
}

/** Finds the obeyed parts of a git folder, which are read-only in the sandbox, and those of its submodules and worktrees. */
async function findGitPlaces(git: string): Promise<GitPlaces> {
  const mounts: Mount[] = []
  const folders: string[] = []

  async function look(folder: string, kind: 'git' | 'worktree' | 'modules', depth: number): Promise<void> {
    const names = new Set(await readdir(folder).catch(() => []))
    // A folder of `modules` is a git folder, or a part of the name of one.
    const isGit = kind === 'git' || (kind === 'modules' && (names.has('HEAD') || names.has('config')))
    if (isGit) folders.push(folder)
    if (isGit || kind === 'worktree') {
      for (const name of obeyedByGit) if (names.has(name)) mounts.push({ kind: 'read', path: join(folder, name) })
    }
    // bubblewrap creates this empty folder, in which a command then finds no way to leave a hook.
    if (isGit && names.has('config') && !names.has('hooks')) {
      mounts.push({ kind: 'hidden folder', path: join(folder, 'hooks') })
    }
    if (depth >= maxModuleDepth || folders.length >= maxGitFolders || kind === 'worktree') return
    if (isGit) {
      for (const inner of await foldersIn(join(folder, 'worktrees'))) await look(inner, 'worktree', depth + 1)
      if (names.has('modules')) await look(join(folder, 'modules'), 'modules', depth + 1)
    } else {
      for (const inner of await foldersIn(folder)) await look(inner, 'modules', depth + 1)
    }
  }

  await look(git, 'git', 0)
  return { mounts, folders }
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))
}

const noPlaces: GitPlaces = { mounts: [], folders: [] }

/**
 * Returns the places for a workspace that is a linked worktree of git: its `.git` is a file, and the history is outside. git
 * itself must confirm it by a file outside of the workspace that points back, because a repository can bring any `.git`.
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
    const mounts: Mount[] = [{ kind: 'write', path: common }]
    const { mounts: parts, folders } = await findGitPlaces(common)
    for (const mount of parts) mounts.push(mount, ...pinsBetween(common, mount.path))
    return { mounts, folders }
  } catch {
    return noPlaces
  }
}

async function pointerIn(file: string, start: string): Promise<string> {
  const text = (await readFile(file, 'utf8')).trimEnd()
  if (!text.startsWith(start) || text.length > 4096) throw new Error('no pointer of git')
  return text.slice(start.length)
}

function withSlash(path: string): string {
  return path.endsWith(sep) ? path : path + sep
}
