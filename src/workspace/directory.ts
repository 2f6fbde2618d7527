import {
  close as closeCallback,
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
  /** The path of an entry, for calls that do not follow a link in the last segment. */
  readonly entry: (name: string) => string
  /** @throws LinkFound if a segment of the way to `name` has become a link, where the folder is not held by a descriptor */
  readonly check: (name?: string) => Promise<void>
  readonly sync: () => Promise<void>
  readonly close: () => Promise<void>
}

/** A link on the way, of which nothing was followed. */
export class LinkFound extends Error {
  /** The segments before the link: folders. */
  readonly folder: readonly string[]
  readonly link: string
  /** What the link contains; undefined if it was swapped in a moment ago, or if another name led to this place. */
  readonly target: string | undefined

  constructor(folder: readonly string[], link: string, target: string | undefined) {
    super('A segment of the path is a link.')
    this.folder = folder
    this.link = link
    this.target = target
  }
}

// Windows has neither flag: `constants` lacks them there.
const noFollow: number = constants.O_NOFOLLOW ?? 0
const nonBlocking: number = constants.O_NONBLOCK ?? 0

/** Opens the file itself: not what a link points to, and without waiting for the other end of a FIFO. */
export const openFlags = constants.O_RDONLY | noFollow | nonBlocking

const directoryFlags = constants.O_RDONLY | noFollow | (constants.O_DIRECTORY ?? 0)

/** Linux: O_PATH, which `constants` lacks. It finds a file without opening it, so that no FIFO or device notices. */
const pathOnly = 0x20_0000

/** A file that was opened to be read. */
export interface OpenFile {
  /** Of the moment in which it was opened. */
  readonly stats: Stats
  /** From where the last read ended, into a part of a buffer. Returns how many bytes were there. */
  readonly read: (buffer: Buffer, from: number, length: number) => Promise<number>
  readonly close: () => Promise<void>
}

const openDescriptor = promisify(openCallback)
const readDescriptor = promisify(readCallback)

/**
 * Linux: opens a file in fewer steps than a walk through its folders. The system says where the file that it found really
 * is; the file is opened only if that is the path itself, so that no link is on the way.
 * @param path absolute, below the real path of the root
 * @returns undefined if there is a link on the way, or the file cannot be opened: a walk finds out why
 */
export async function openDirectly(path: string): Promise<OpenFile | undefined> {
  // Descriptors instead of `FileHandle`: a tenth of the time of a short read goes into its collection.
  const found = await openDescriptor(path, pathOnly | noFollow).catch(() => undefined)
  if (found === undefined) return undefined
  const place = `/proc/self/fd/${found}`
  try {
    // Synchronous, because the answers are in the memory of the system: no disk is read.
    if (readlinkSync(place) !== path) return undefined
    const stats = fstatSync(found)
    const file = await openDescriptor(place, constants.O_RDONLY | nonBlocking)
    return {
      stats,
      read: async (buffer, from, length) => (await readDescriptor(file, buffer, from, length, null)).bytesRead,
      // Nobody waits until a file that was only read is closed: what was read is sent first.
      close: async () => void setImmediate(() => closeCallback(file)),
    }
  } catch {
    return undefined
  } finally {
    closeSync(found)
  }
}

/** Linux: `/proc/self/fd/N/name` names an entry of an open folder, wherever the folder's path leads by now. */
export function hasDescriptorPaths(): boolean {
  return existsSync('/proc/self/fd')
}

/**
 * Opens a folder below `root`, segment by segment.
 * @param held whether each folder is held by a descriptor while its entries are used: no race can lead outside then.
 * Otherwise (macOS, Windows) the path is checked before and after each use. A folder swapped for a link between a check
 * and the use a few microseconds later is found by the check after it: too late for what was opened in between.
 * @param create makes missing folders
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
    // The real path has the case and the normal form of the disk, so another spelling of a name differs from it.
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

/** The error of opening `path`, or the link that caused it. */
export async function explain(error: unknown, path: string, folder: readonly string[], name: string): Promise<unknown> {
  const code = errnoOf(error)
  // A link is ELOOP to O_NOFOLLOW, and ENOTDIR to O_DIRECTORY.
  if (code !== 'ELOOP' && code !== 'ENOTDIR') return error
  const target = await readLink(path)
  return target === undefined && code === 'ENOTDIR' ? error : new LinkFound(folder, name, target)
}

async function readLink(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined)
}

/** Makes a rename durable. Some systems cannot sync a folder: the file is complete even there. */
async function syncFolder(folder: FileHandle): Promise<void> {
  await folder.sync().catch(() => {})
}
