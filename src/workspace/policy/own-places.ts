import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import type { OwnPaths } from '../../config/paths.ts'
import { foldCase } from '../paths.ts'

/**
 * The folders and files of this program: configuration, logins, data, tokens. No tool reads, lists, searches or changes them in
 * any workspace, whatever a policy says.
 */
export interface OwnPlaces {
  /** Returns where the places are now. */
  readonly find: () => Promise<FoundPlaces>
}

/** A file or folder on disk: its device and inode, which all its paths share. */
interface FileId {
  readonly dev: number
  readonly ino: number
}

export interface FoundPlaces {
  /** The real paths of folders and files, and of the folders alone. Places that do not exist yet are included. */
  readonly paths: readonly string[]
  readonly folders: readonly string[]
  /** Whether an absolute path without links is one of the places or below one. Ignores case, because a file system may. */
  readonly covers: (path: string) => boolean
  /** Whether the file or folder is one of the places, also under another path: a bind mount or another case. */
  readonly has: (id: FileId) => boolean
  /** Whether a file with several hard links is one of the files in the folders. */
  readonly hasLinked: (id: FileId) => Promise<boolean>
}

/** Places are sought on disk again after this time. A daemon creates its folders once, and links to them are rare. Ms. */
const freshMs = 1000

/** Hard links to deeper files are not detected. Logins, configuration and old contents of changed files are at most this deep. */
const maxDepth = 4

/** Maximum number of files that are compared with a hard link. */
const maxFiles = 2000

export function createOwnPlaces({ folders, files }: OwnPaths): OwnPlaces {
  let found: Promise<FoundPlaces> | undefined
  let foundAtMs = 0
  return {
    find() {
      const nowMs = performance.now()
      if (found === undefined || nowMs - foundAtMs > freshMs) {
        foundAtMs = nowMs
        found = findPlaces(folders, files)
      }
      return found
    },
  }
}

export const noPlaces = createOwnPlaces({ folders: [], files: [] })

async function findPlaces(folders: readonly string[], files: readonly string[]): Promise<FoundPlaces> {
  const realFolders = await Promise.all(folders.map(realPathOf))
  // A file may be a link, e.g. into a folder of settings. Protect the link and its target.
  const realFiles = await Promise.all(
    files.flatMap((file) => [realPathOf(file), realPathOf(dirname(file)).then((dir) => join(dir, basename(file)))]),
  )
  const paths = [...new Set([...realFolders, ...realFiles])]
  const ids = new Set((await Promise.all(paths.map(idAt))).filter((id) => id !== undefined))
  const folded = paths.map(foldPath)
  let linked: Promise<ReadonlySet<string>> | undefined
  return {
    paths,
    folders: realFolders,
    covers(path) {
      const given = foldPath(path)
      return folded.some((place) => given === place || given.startsWith(`${place}/`))
    },
    has: (id) => ids.has(toKey(id)),
    async hasLinked(id) {
      linked ??= findLinked(realFolders)
      return (await linked).has(toKey(id))
    },
  }
}

/** Returns the real path of the part that exists, with the remainder. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await realPathOf(parent), basename(path))
  }
}

async function idAt(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined)
  return stats && toKey(stats)
}

/** Returns the ids of the files in the folders that have several hard links. */
async function findLinked(folders: readonly string[]): Promise<ReadonlySet<string>> {
  const linked = new Set<string>()
  let left = maxFiles
  const visit = async (folder: string, depth: number): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (left === 0) return
      left -= 1
      const path = join(folder, entry.name)
      if (entry.isDirectory() && depth < maxDepth) await visit(path, depth + 1)
      if (!entry.isFile()) continue
      const stats = await lstat(path).catch(() => undefined)
      if (stats !== undefined && stats.nlink > 1) linked.add(toKey(stats))
    }
  }
  for (const folder of folders) await visit(folder, 1)
  return linked
}

function toKey({ dev, ino }: FileId): string {
  return `${dev}:${ino}`
}

function foldPath(path: string): string {
  return foldCase(sep === '/' ? path : path.replaceAll(sep, '/'))
}
