import type { Dirent } from 'node:fs'
import { readdirSync, realpathSync, statSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { mayHoldObeyed, obeyedOf, secretOf } from '../policy/protected-names.ts'
import type { Mount } from './bubblewrap-arguments.ts'
import { pinsBetween } from './find-mounts.ts'
import { findGitPlaces, maxGitFolders, targetOf } from './git-places.ts'

/** Larger workspaces exist. Their folders nearest to the root are searched. */
const maxFolders = 5000

/**
 * Each place needs a mount, and bubblewrap needs about a second for some hundred mounts. A workspace with more places runs no
 * commands: otherwise a command could create so many that the places of the next one are not protected.
 */
export const maxPlaces = 400

/** Reading a folder takes some ten microseconds, and ten times as long on another thread. */
const foldersPerTurn = 100

interface SeenFolder {
  readonly ctimeMs: number
  readonly inner: readonly string[]
  readonly found: readonly Dirent[]
  /** Links that are not protected themselves. */
  readonly links: readonly string[]
  /** Whether it is the folder of a bare repository of git, whatever its name. */
  readonly isGit: boolean
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
      later.push(() => takeGit(path))
      return
    }
    later.push(async () => {
      const target = await realpath(path).catch(() => root)
      if (!target.startsWith(withSlash(root))) return
      const isFolder = isHidden && (await stat(target)).isDirectory()
      places.push({ kind: isHidden ? (isFolder ? 'hidden folder' : 'hidden file') : 'read', path: target })
    })
  }

  async function takeGit(path: string): Promise<void> {
    const { mounts: parts, folders, obeyed: others } = await findGitPlaces(path, root)
    gitFolders.push(...folders)
    places.push({ kind: 'pin', path }, ...parts)
    for (const [other, target] of others) obeyed.set(nameIn(root, other), target)
  }

  const queue = new Set([root, ...seen.holders])
  let searched = 0
  for (const folder of queue) {
    if (searched >= maxFolders) break
    searched += 1
    if (searched % foldersPerTurn === 0) await nextTurn()
    const { inner, found, links, isGit } = list(root, folder, hidesSecrets, seen.entries)
    for (const each of inner) queue.add(each)
    for (const entry of found) take(folder, entry)
    if (isGit) {
      obeyed.set(nameIn(root, folder) || '.', '')
      later.push(() => takeGit(folder))
    }
    if (found.length === 0 && !isGit) seen.holders.delete(folder)
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
    const names = new Set(entries.map(({ name }) => name))
    const isGit = ['HEAD', 'objects', 'refs'].every((name) => names.has(name))
    const listed = { ctimeMs, inner, found, links, isGit }
    // A change in the same tick of the clock as this look would have the same time.
    if (Date.now() - ctimeMs > clockTickMs) seen.set(folder, listed)
    if (seen.size > 2 * maxFolders) seen.clear()
    return listed
  } catch {
    // It cannot be read, or has just gone.
    return { ctimeMs: 0, inner: [], found: [], links: [], isGit: false }
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

function nameIn(root: string, path: string): string {
  return relative(root, path).split(sep).join('/')
}

function withSlash(path: string): string {
  return path.endsWith(sep) ? path : path + sep
}
