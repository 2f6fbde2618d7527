import type { Dirent } from 'node:fs'
import { readdirSync, statSync } from 'node:fs'
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { obeyedOf, secretOf } from '../policy/protected-names.ts'
import type { Mount } from './bubblewrap-arguments.ts'

/** Larger workspaces exist. Their folders nearest to the root are searched. */
const maxFolders = 2000

/** Each needs a mount. The kernel makes a thousand in some ten milliseconds. */
const maxPlaces = 300

/** Reading a folder takes some ten microseconds, and ten times as long on another thread. */
const foldersPerTurn = 100

interface SeenFolder {
  readonly ctimeMs: number
  readonly inner: readonly string[]
  readonly found: readonly Dirent[]
}

/** What folders had in them, by path. */
export type SeenFolders = Map<string, SeenFolder>

/** More than the clock of a file system needs for its next value. Ms. */
const clockTickMs = 100

/** Names in the longest pattern of protected files. */
const longestPattern = 3

/** Programs of packages run only with the commands of the workspace, and honest commands write there: caches of test runners. */
const ordinaryFolders: ReadonlySet<string> = new Set(['node_modules', '.venv'])

export interface ProtectedPlaces {
  readonly mounts: readonly Mount[]
  /** The `.git` folders of the workspace, in which git would obey a file `commondir`. */
  readonly gitFolders: readonly string[]
  /** The files and folders that other programs execute or obey. Relative to the root, with `/`. */
  readonly obeyed: ReadonlySet<string>
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
  const mounts: Mount[] = []
  const gitFolders: string[] = []
  const later: (() => Promise<void>)[] = []
  const obeyed = new Set<string>()

  function protect(...places: readonly Mount[]): void {
    for (const place of places) {
      if (mounts.length < maxPlaces) mounts.push(place, ...pinsBetween(root, place.path))
    }
  }

  /** Takes a protected entry of a folder. */
  function take(folder: string, entry: Dirent): void {
    const path = join(folder, entry.name)
    const name = nameIn(root, path)
    const isHidden = hidesSecrets && secretOf(name) !== undefined
    if (!isHidden) obeyed.add(name)
    if (entry.name === '.git' && entry.isDirectory()) {
      gitFolders.push(path)
      later.push(async () => protect({ kind: 'write', path }, ...(await gitMounts(path))))
      return
    }
    later.push(async () => {
      const target = entry.isSymbolicLink() ? await realpath(path).catch(() => root) : path
      if (!target.startsWith(withSlash(root))) return
      const isFolder = isHidden && (await stat(target)).isDirectory()
      protect({ kind: isHidden ? (isFolder ? 'hidden folder' : 'hidden file') : 'read', path: target })
    })
  }

  const queue = [root]
  for (let at = 0; at < queue.length && at < maxFolders; at += 1) {
    if (at % foldersPerTurn === foldersPerTurn - 1) await nextTurn()
    const folder = queue[at] ?? root
    const { inner, found } = list(root, folder, hidesSecrets, seen)
    queue.push(...inner)
    for (const entry of found) take(folder, entry)
  }
  for (const found of later) await found()
  return {
    mounts,
    gitFolders,
    obeyed,
  }
}

/** Returns what is in a folder. Nothing can change in it without a new time, which no program can set back (`ctime`). */
function list(root: string, folder: string, hidesSecrets: boolean, seen: SeenFolders): SeenFolder {
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
    const listed = { ctimeMs, inner, found }
    // A change in the same tick of the clock as this look would have the same time.
    if (Date.now() - ctimeMs > clockTickMs) seen.set(folder, listed)
    if (seen.size > 2 * maxFolders) seen.clear()
    return listed
  } catch {
    // It cannot be read, or has just gone.
    return { ctimeMs: 0, inner: [], found: [] }
  }
}

function nameIn(root: string, path: string): string {
  return relative(root, path).split(sep).join('/')
}

/** Returns mounts for the folders between two paths. A mount point cannot be renamed, and its parent can. */
function pinsBetween(root: string, path: string): readonly Mount[] {
  const folder = dirname(path)
  if (folder === root || !folder.startsWith(withSlash(root))) return []
  return [{ kind: 'write', path: folder }, ...pinsBetween(root, folder)]
}

/** In a git folder, git runs or obeys these. `commondir` and `gitdir` exist in the folders of linked worktrees. */
const obeyedByGit = ['config', 'config.worktree', 'hooks', 'commondir', 'gitdir']

/** Deeper submodules of submodules are rare. */
const maxModuleDepth = 3

/** Returns the mounts that make the obeyed parts of a git folder read-only, and those of its submodules and worktrees. */
async function gitMounts(git: string, depth = 0): Promise<readonly Mount[]> {
  const names = new Set(await readdir(git).catch(() => []))
  const own = obeyedByGit
    .filter((name) => names.has(name))
    .map((name): Mount => ({ kind: 'read', path: join(git, name) }))
  // bubblewrap creates this empty folder, in which a command then finds no way to leave a hook.
  if (names.has('config') && !names.has('hooks')) own.push({ kind: 'hidden folder', path: join(git, 'hooks') })
  const inner = ['worktrees', ...(depth < maxModuleDepth ? ['modules'] : [])].filter((name) => names.has(name))
  const within = await Promise.all(
    inner.map(async (name) => {
      const folders = await readdir(join(git, name), { withFileTypes: true }).catch(() => [])
      return Promise.all(
        folders.filter((each) => each.isDirectory()).map((each) => gitMounts(join(git, name, each.name), depth + 1)),
      )
    }),
  )
  return [...own, ...within.flat(2)]
}

/**
 * Returns the mounts for a workspace that is a linked worktree of git: its `.git` is a file, and the history is outside. git
 * itself must confirm it by a file outside of the workspace that points back, because a repository can bring any `.git`.
 */
export async function findWorktreeMounts(root: string): Promise<readonly Mount[]> {
  const link = join(root, '.git')
  try {
    if (!(await lstat(link)).isFile()) return []
    const git = await realpath(resolve(root, await pointerIn(link, 'gitdir: ')))
    const pointsBack = (await realpath(resolve(git, await pointerIn(join(git, 'gitdir'), '')))) === link
    const common = await realpath(resolve(git, await pointerIn(join(git, 'commondir'), '')))
    const isWorktree = dirname(git) === join(common, 'worktrees') && (await stat(join(common, 'objects'))).isDirectory()
    if (!pointsBack || !isWorktree) return []
    const mounts: Mount[] = [{ kind: 'write', path: common }]
    for (const mount of await gitMounts(common)) mounts.push(mount, ...pinsBetween(common, mount.path))
    return mounts
  } catch {
    return []
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
