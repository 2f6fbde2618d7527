import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  open as openCallback,
  read as readCallback,
  readlinkSync,
  type Stats,
} from 'node:fs'
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf } from '../auth/records/record-fs.ts'

/** A folder below a root, reached without following a link. */
export interface Directory {
  /** Returns the path of an entry, for calls that do not follow a link in the last segment. */
  readonly entry: (name: string) => string
  /** @throws LinkFound if a segment of the path to `name` has become a link and no descriptor holds the folder */
  readonly check: (name?: string) => Promise<void>
  readonly sync: () => Promise<void>
  readonly close: () => Promise<void>
}

/** A segment of the path is a link, which was not followed. */
export class LinkFound extends Error {
  /** The segments before the link, which are folders. */
  readonly folder: readonly string[]
  readonly link: string
  /** The content of the link. Undefined if the link has just replaced a folder, or the name is another spelling of the entry. */
  readonly target: string | undefined

  constructor(folder: readonly string[], link: string, target: string | undefined) {
    super('A segment of the path is a link.')
    this.folder = folder
    this.link = link
    this.target = target
  }
}

// Windows has neither flag, and `constants` lacks them there.
const noFollow: number = constants.O_NOFOLLOW ?? 0
/** Opening a FIFO then does not wait for its other end. */
export const nonBlocking: number = constants.O_NONBLOCK ?? 0

/** Opens the entry itself instead of a link's target, and does not wait for the other end of a FIFO. */
export const openFlags = constants.O_RDONLY | noFollow | nonBlocking

const directoryFlags = constants.O_RDONLY | noFollow | (constants.O_DIRECTORY ?? 0)

/** Linux: O_PATH, which `constants` lacks. It finds a file without opening it, which has no effect on a FIFO or device. */
const pathOnly = 0x20_0000

/** A file that was opened to be read. */
export interface OpenFile {
  /** The stats at the time of opening. */
  readonly stats: Stats
  /** Reads the next bytes into a part of a buffer. Returns the number of bytes. */
  readonly read: (buffer: Buffer, from: number, length: number) => Promise<number>
  readonly close: () => Promise<void>
}

const openDescriptor = promisify(openCallback)
const readDescriptor = promisify(readCallback)

/**
 * Linux: opens a file in fewer steps than a walk through its folders. Finds the file with O_PATH, asks the kernel for its real
 * path, and opens it only if that is `path`, so no segment is a link.
 * @param path absolute, below the real path of the root
 * @returns undefined if a segment is a link or the file cannot be opened: `openDirectory` then finds the reason
 */
export async function openDirectly(path: string): Promise<OpenFile | undefined> {
  // Uses descriptors, because garbage collection of a `FileHandle` takes a tenth of the time of a short read.
  const found = await openDescriptor(path, pathOnly | noFollow).catch(() => undefined)
  if (found === undefined) return undefined
  const place = `/proc/self/fd/${found}`
  try {
    // These calls may be synchronous, because they read the kernel's memory and not the disk.
    if (readlinkSync(place) !== path) return undefined
    const stats = fstatSync(found)
    const file = await openDescriptor(place, constants.O_RDONLY | nonBlocking)
    return {
      stats,
      read: async (buffer, from, length) => (await readDescriptor(file, buffer, from, length, null)).bytesRead,
      // Synchronous: the kernel has nothing to write, because the file was only read.
      close: async () => closeSync(file),
    }
  } catch {
    return undefined
  } finally {
    closeSync(found)
  }
}

/** Linux: `/proc/self/fd/N/name` is an entry of an open folder, even if the folder's path now leads elsewhere. */
export function hasDescriptorPaths(): boolean {
  return existsSync('/proc/self/fd')
}

/**
 * Opens a folder below `root`, segment by segment.
 * @param held whether a descriptor holds each folder while its entries are used, so that no race can lead outside the root.
 * Otherwise (macOS, Windows), the path is checked before and after each use. If a link replaces a folder in the microseconds
 * between check and use, only the second check detects it, which is too late for that use.
 * @param create creates missing folders
 * @throws LinkFound; errors of the file system
 */
export async function openDirectory(
  root: string,
  segments: readonly string[],
  { held, create }: { readonly held: boolean; readonly create: boolean },
): Promise<Directory> {
  return held ? openHeld(root, segments, create) : openChecked(root, segments, create)
}

async function openHeld(root: string, segments: readonly string[], create: boolean): Promise<Directory> {
  let folder = await open(root, directoryFlags)
  try {
    for (const [index, segment] of segments.entries()) {
      const next = await openChild(entryOf(folder, segment), create).catch(async (error: unknown) => {
        throw await explain(error, entryOf(folder, segment), segments.slice(0, index), segment)
      })
      const parent = folder
      folder = next
      await parent.close()
    }
  } catch (error) {
    await folder.close()
    throw error
  }
  return {
    entry: (name) => entryOf(folder, name),
    check: async () => {},
    sync: () => syncFolder(folder),
    close: () => folder.close(),
  }
}

function entryOf(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`
}

async function openChild(path: string, create: boolean): Promise<FileHandle> {
  try {
    return await open(path, directoryFlags)
  } catch (error) {
    if (!create || errnoOf(error) !== 'ENOENT') throw error
  }
  await makeFolder(path)
  return open(path, directoryFlags)
}

async function openChecked(root: string, segments: readonly string[], create: boolean): Promise<Directory> {
  for (const [index, segment] of segments.entries()) {
    const before = segments.slice(0, index)
    const path = join(root, ...before, segment)
    let stats = await lstat(path).catch((error: unknown) => {
      if (!create || errnoOf(error) !== 'ENOENT') throw error
    })
    if (stats === undefined) {
      await makeFolder(path)
      stats = await lstat(path)
    }
    if (stats.isSymbolicLink()) throw new LinkFound(before, segment, await readLink(path))
    if (!stats.isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' })
  }
  const path = join(root, ...segments)
  const directory: Directory = {
    entry: (name) => join(path, name),
    // The real path has the case and the Unicode form of the disk, so it differs from another spelling of a name.
    check: async (name = '') => {
      const expected = join(path, name)
      if ((await realpath(expected)) !== expected) throw new LinkFound(segments, name, undefined)
    },
    sync: async () => {
      const folder = await open(path, directoryFlags).catch(() => undefined)
      if (folder === undefined) return
      await syncFolder(folder)
      await folder.close()
    },
    close: async () => {},
  }
  await directory.check()
  return directory
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path).catch((error: unknown) => {
    if (errnoOf(error) !== 'EEXIST') throw error
  })
}

/** Returns a LinkFound if a link caused the error of opening `path`, otherwise the error itself. */
export async function explain(error: unknown, path: string, folder: readonly string[], name: string): Promise<unknown> {
  const code = errnoOf(error)
  // For a link, O_NOFOLLOW causes ELOOP, and O_DIRECTORY causes ENOTDIR.
  if (code !== 'ELOOP' && code !== 'ENOTDIR') return error
  const target = await readLink(path)
  return target === undefined && code === 'ENOTDIR' ? error : new LinkFound(folder, name, target)
}

async function readLink(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined)
}

/** Makes a rename durable. Ignores failures, because some systems cannot sync a folder; the file is complete even there. */
async function syncFolder(folder: FileHandle): Promise<void> {
  await folder.sync().catch(() => {})
}
