import * as fs from 'node:fs/promises'
import type { Stats } from 'node:fs'
import { isAbsolute, join, posix, relative, resolve, sep } from 'node:path'
import { platform as hostPlatform } from 'node:os'
import { sweepStrayFiles, temporaryName } from '../auth/records/atomic-file.ts'
import { errnoOf } from '../auth/records/record-fs.ts'
import {
  explain,
  hasDescriptorPaths,
  LinkFound,
  openDirectly,
  openDirectory,
  openFlags,
  type Directory,
  type OpenFile,
} from './directory.ts'
import { existingPath } from './existing-path.ts'
import { describeError } from './file-errors.ts'
import type { FileContent, FileStart, Folder, Reading, ReadLimits } from './folder.ts'
import { hasHiddenCharacter, linkTarget, normalPath } from './paths.ts'
import { noPlaces, type FoundPlaces, type OwnPlaces } from './policy/own-places.ts'
import { createLanes } from './lanes.ts'
import { createQueue } from './queue.ts'
import { readBytes, readerOf, refuseCancelled } from './read-bytes.ts'
import { readLines } from './read-lines.ts'
import { checkHash, existingFile, existsAlready, missing, moveIfFree, writeTemporary } from './replace-file.ts'
import type { Existing, Place } from './replace-file.ts'
import { createSandbox } from './sandbox/create-sandbox.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { denied, failed, quote, ToolError } from './tool-error.ts'

/** Temporary files are named `.copilot-proxy.<process id>-<random>.tmp` and are in the folder of the file that they replace. */
export const temporaryPrefix = '.copilot-proxy'

/** Maximum number of links in a path, as in Linux. */
const maxLinks = 40

/** Files that are read at the same time, because each has its memory from the start. Node reads four at once. */
const maxReads = 16

/** Number of folders whose stray temporary files are removed. More than a session writes to. */
const maxSweptFolders = 1000

interface OpenFolderOptions {
  /** The option `held` of `openDirectory`. Default: true if the system supports it. */
  readonly held?: boolean
  /** The files of this program, which the folder's functions refuse. Default: none. */
  readonly ownPlaces?: OwnPlaces
  /** Creates the sandbox of the programs that start in the folder. Default: they have none. */
  readonly sandbox?: (root: string) => Sandbox
}

/**
 * Opens a folder. Reading follows links that stay inside the root; writing follows none.
 * @throws ToolError `failed` if it is missing or not a folder
 */
export async function openFolder(
  rootPath: string,
  { held = hasDescriptorPaths(), ownPlaces = noPlaces, sandbox = createSandbox }: OpenFolderOptions = {},
): Promise<Folder> {
  const root = await realFolder(rootPath)
  const roots = [root, resolve(rootPath)]
  const platform = hostPlatform()
  const oneAtATime = createQueue()
  const fewAtATime = createLanes({ perKey: maxReads, total: maxReads })
  const swept = new Set<string>()

  function relativePath(given: string): string {
    const normal = normalPath(given, { roots, platform })
    if (!normal.ok) throw denied(`The path ${quote(given)} ${normal.reason}.`)
    return normal.path
  }

  function placeOf(given: string): Place {
    const normal = relativePath(given)
    const folder = normal.split('/')
    const name = folder.pop() ?? ''
    if (name === '') throw failed('The path is the workspace itself, which is a folder.')
    return { path: normal, folder, name }
  }

  /** What `isOwn` found for folders. The places are sought again after a second, and so are these. */
  const ownFolders = new WeakMap<FoundPlaces, Map<string, Promise<boolean>>>()

  /**
   * Returns whether a path belongs to this program. The path has no links. It is compared by inode too, and so is each of its
   * folders, which finds bind mounts and other spellings.
   */
  async function isOwn(path: string, places: FoundPlaces): Promise<boolean> {
    if (places.paths.length === 0) return false
    if (places.covers(join(root, path))) return true
    if (await isOwnFolder(posix.dirname(path), places)) return true
    const stats = await fs.lstat(join(root, path)).catch(() => undefined)
    return stats !== undefined && places.has(stats)
  }

  async function isOwnFolder(folder: string, places: FoundPlaces): Promise<boolean> {
    if (folder === '' || folder === '.') return false
    const known = ownFolders.get(places) ?? new Map<string, Promise<boolean>>()
    ownFolders.set(places, known)
    const isFound = known.get(folder) ?? isOwn(folder, places)
    known.set(folder, isFound)
    return isFound
  }

  async function refuseOwn(path: string): Promise<void> {
    if (await isOwn(path, await ownPlaces.find())) throw ownFile(path)
  }

  /** For a file that is read: it is compared by inode when it is open. */
  async function refuseInOwn(path: string): Promise<void> {
    const places = await ownPlaces.find()
    if (places.covers(join(root, path)) || (await isOwnFolder(posix.dirname(path), places))) throw ownFile(path)
  }

  async function placeOnDisk(given: string): Promise<Place> {
    return placeOf(await existingPath(root, relativePath(given), held))
  }

  /** Returns the place of a file that will be written. Its name must be the one that the policy has judged. */
  async function placeToWrite(given: string): Promise<Place> {
    const place = placeOf(given)
    const { path } = await placeOnDisk(place.path)
    if (path !== place.path) throw denied(`${quote(place.path)} exists in another Unicode form: ${quote(path)}.`)
    await refuseOwn(path)
    return place
  }

  /** Opens a file. Follows links inside the root. `path` is the file's own, without links. */
  async function openFile(given: string): Promise<{ readonly file: OpenFile; readonly path: string }> {
    // Some file systems ignore hidden characters, so such a name is sought first.
    let place = hasHiddenCharacter(given) ? await placeOnDisk(given) : placeOf(given)
    await refuseInOwn(place.path)
    const direct = held ? await openDirectly(join(root, place.path)) : undefined
    if (direct !== undefined) return { file: direct, path: place.path }
    for (let links = 0; links < maxLinks; links += 1) {
      try {
        return { file: await openItself(place), path: place.path }
      } catch (error) {
        const existing = await placeOnDisk(place.path)
        if (existing.path !== place.path) {
          place = existing
          await refuseInOwn(place.path)
          continue
        }
        if (!(error instanceof LinkFound)) throw describeError(error, given)
        const target = error.target === undefined ? undefined : linkTarget(error.folder, error.target, roots)
        if (target === undefined) throw denied(`${quote(given)} leads outside the workspace through a link.`)
        const remainder = [...place.folder, place.name].slice(error.folder.length + 1)
        const segments = [...target.split('/'), ...remainder].filter((segment) => segment !== '')
        const name = segments.pop()
        if (name === undefined) throw failed(`${quote(given)} is a folder.`)
        place = { path: [...segments, name].join('/'), folder: segments, name }
        await refuseInOwn(place.path)
      }
    }
    throw failed(`${quote(given)} is a link that leads back to itself.`)
  }

  async function openItself({ folder, name }: Place): Promise<OpenFile> {
    const directory = await openDirectory(root, folder, { held, create: false })
    try {
      const entry = directory.entry(name)
      const file = await fs.open(entry, openFlags).catch(async (error: unknown) => {
        throw await explain(error, entry, folder, name)
      })
      try {
        await directory.check(name)
        return { stats: await file.stat(), read: readerOf(file), close: () => file.close() }
      } catch (error) {
        await file.close()
        throw error
      }
    } finally {
      await directory.close()
    }
  }

  async function readStart(given: string, { maxBytes, lines, signal, admit }: ReadLimits): Promise<FileStart> {
    refuseCancelled(signal)
    const { file, path } = await openFile(given)
    try {
      const { stats } = file
      if (await isOwnFile(stats)) throw ownFile(given)
      await admit?.(path)
      if (stats.isDirectory()) throw failed(`${quote(given)} is a folder.`)
      if (!stats.isFile()) throw failed(`${quote(given)} is not a regular file.`)
      const mode = stats.mode & 0o777
      if (lines !== undefined && stats.size > maxBytes) {
        const found = await readLines(file.read, lines, maxBytes, lines.check, signal)
        return { bytes: found.bytes, sha256: undefined, size: stats.size, mode, found }
      }
      const { bytes, sha256 } = await fewAtATime('', signal ?? new AbortController().signal, () =>
        readBytes(file.read, Math.min(stats.size, maxBytes), maxBytes, signal),
      )
      return { bytes, sha256, size: Math.max(stats.size, bytes.length), mode }
    } catch (error) {
      throw describeError(error, given)
    } finally {
      await file.close()
    }
  }

  /** Returns whether a file is one of this program's under another path: a hard link or a bind mount. */
  async function isOwnFile(stats: Stats): Promise<boolean> {
    const places = await ownPlaces.find()
    return places.has(stats) || (stats.isFile() && stats.nlink > 1 && (await places.hasLinked(stats)))
  }

  async function readFile(given: string, limits: ReadLimits): Promise<FileContent> {
    const { sha256, ...content } = await readStart(given, limits)
    if (sha256 === undefined) {
      const detail = `${quote(given)} has ${sizeText(content.size)}; the limit is ${sizeText(limits.maxBytes)}.`
      throw new ToolError({ kind: 'too_large', detail })
    }
    return { ...content, sha256 }
  }

  /** Calls `change` in the folder of the file. Changes of the same file run one after the other. */
  async function changeFile(
    given: string,
    { create }: { readonly create: boolean },
    change: (place: Place, directory: Directory, existing: Existing | undefined) => Promise<void>,
  ): Promise<void> {
    const place = await placeToWrite(given)
    await oneAtATime([place.path], undefined, async () => {
      try {
        const directory = await openDirectory(root, place.folder, { held, create })
        try {
          await change(place, directory, await existingFile(directory, place))
          await directory.sync()
        } finally {
          await directory.close()
        }
      } catch (error) {
        throw describeError(error, place.path)
      }
    })
  }

  async function sweep(folder: string, directory: Directory): Promise<void> {
    if (swept.has(folder) || swept.size >= maxSweptFolders) return
    swept.add(folder)
    const names = await fs.readdir(directory.entry('.')).catch(() => [])
    const own = names.filter((name) => name.startsWith(`${temporaryPrefix}.`))
    if (own.length > 0) await sweepStrayFiles(fs, directory.entry('.'), own, Date.now())
  }

  return {
    root,
    sandbox: sandbox(root),
    relativePath,
    existingPath: (given) => existingPath(root, relativePath(given), held),
    readFile,
    readStart,
    refuseOwn: (given) => refuseOwn(relativePath(given)),

    async reading() {
      const places = await ownPlaces.find()
      const hiddenIn: Reading['hiddenIn'] = async (folder) => {
        const isHidden = await isOwnFolder(folder, places)
        return (path) => isHidden || places.covers(join(root, path))
      }
      return {
        excludes: places.paths.flatMap((path) => excludeBelow(root, path)),
        isHidden: () => false,
        hiddenIn,
        async maySearch(path) {
          if ((await hiddenIn(posix.dirname(path)))(path)) return false
          const stats = await fs.lstat(join(root, path)).catch(() => undefined)
          return stats !== undefined && !(await isOwnFile(stats))
        },
      } satisfies Reading
    },

    writeFile: (given, bytes, { ifSha256, mode } = {}) =>
      // If the file must have a hash, its folder exists and needs no creation.
      changeFile(given, { create: typeof ifSha256 !== 'string' }, async (place, directory, existing) => {
        if (ifSha256 === null && existing !== undefined) throw existsAlready(place)
        if (typeof ifSha256 === 'string' && existing === undefined) throw missing(place)
        await sweep(place.folder.join('/'), directory)
        const temp = temporaryName(directory.entry(temporaryPrefix))
        try {
          await writeTemporary(temp, bytes, existing, mode)
          if (typeof ifSha256 === 'string') await checkHash(place, directory, ifSha256)
          await directory.check()
          if (ifSha256 === null) await moveIfFree(temp, directory.entry(place.name), place)
          else await fs.rename(temp, directory.entry(place.name))
        } catch (error) {
          await fs.unlink(temp).catch(() => {})
          throw error
        }
        await directory.check(place.name)
      }),

    async checkWritable(given) {
      const place = await placeToWrite(given)
      try {
        const directory = await openDirectory(root, place.folder, { held, create: false })
        try {
          await existingFile(directory, place)
        } finally {
          await directory.close()
        }
      } catch (error) {
        // A missing folder is no problem, because a write creates it.
        if (errnoOf(error) !== 'ENOENT') throw describeError(error, place.path)
      }
    },

    async missingFolders(given) {
      const { folder } = placeOf(given)
      for (const index of folder.keys()) {
        try {
          await (await openDirectory(root, folder.slice(0, index + 1), { held, create: false })).close()
        } catch (error) {
          if (errnoOf(error) !== 'ENOENT') return []
          return folder.slice(index).map((_, inner) => folder.slice(0, index + inner + 1).join('/'))
        }
      }
      return []
    },

    async removeEmptyFolder(given) {
      const place = placeOf(given)
      await refuseOwn(place.path)
      try {
        const directory = await openDirectory(root, place.folder, { held, create: false })
        try {
          await fs.rmdir(directory.entry(place.name))
        } finally {
          await directory.close()
        }
      } catch (error) {
        // Ignore a folder that is in use, missing or replaced by a link: it is no loss to keep an empty folder.
        if (!(error instanceof LinkFound) && errnoOf(error) === '') throw error
      }
    },

    removeFile: (given, { ifSha256 } = {}) =>
      changeFile(given, { create: false }, async (place, directory, existing) => {
        if (existing === undefined) {
          throw ifSha256 === undefined ? failed(`${quote(place.path)} does not exist.`) : missing(place)
        }
        if (ifSha256 !== undefined) await checkHash(place, directory, ifSha256)
        await directory.check(place.name)
        await fs.unlink(directory.entry(place.name))
      }),
  }
}

/** Returns the glob that excludes an absolute path from a search below the root. */
function excludeBelow(root: string, path: string): readonly string[] {
  const below = relative(root, path)
  if (below === '' || below.startsWith('..') || isAbsolute(below)) return []
  return [`!/${below.replaceAll(sep, '/').replaceAll(/[*?[\]{}\\!]/g, String.raw`\$&`)}`]
}

async function realFolder(path: string): Promise<string> {
  try {
    const root = await fs.realpath(path)
    if ((await fs.stat(root)).isDirectory()) return root
  } catch (error) {
    throw describeError(error, path)
  }
  throw failed(`${quote(path)} is not a folder.`)
}

function ownFile(path: string): ToolError {
  return denied(
    `${quote(path)} belongs to copilot-proxy: its configuration, logins or data. No tool reads or changes it, whatever the policy says.`,
  )
}

function sizeText(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${Math.round(value * 10) / 10} ${units[unit]}`
}
