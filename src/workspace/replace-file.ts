import * as fs from 'node:fs/promises'
import { errnoOf } from '../auth/records/record-fs.ts'
import { LinkFound, openFlags, type Directory } from './directory.ts'
import { readBytes, readerOf } from './read-bytes.ts'
import { failed, quote, ToolError } from './tool-error.ts'

/** A path with its folder and name. */
export interface Place {
  readonly path: string
  readonly folder: readonly string[]
  readonly name: string
}

export interface Existing {
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

/** Returns the file that a write would replace. Checks its permissions, because a rename needs only those of the folder. */
export async function existingFile(directory: Directory, { path, folder, name }: Place): Promise<Existing | undefined> {
  const entry = directory.entry(name)
  const stats = await fs.lstat(entry).catch((error: unknown) => {
    if (errnoOf(error) !== 'ENOENT') throw error
  })
  if (stats === undefined) return undefined
  if (stats.isSymbolicLink()) throw new LinkFound(folder, name, undefined)
  if (stats.isDirectory()) throw failed(`${quote(path)} is a folder.`)
  if (!stats.isFile()) throw failed(`${quote(path)} is not a regular file.`)
  await directory.check(name)
  const isWritable = await fs.access(entry, fs.constants.W_OK).then(
    () => true,
    () => false,
  )
  // For the superuser, `access` allows everything, so also respect a mode without any write bit.
  if (!isWritable || (stats.mode & 0o222) === 0) throw failed(`${quote(path)} is read-only.`)
  return stats
}

export async function writeTemporary(
  temp: string,
  bytes: Uint8Array,
  existing: Existing | undefined,
  mode: number | undefined,
): Promise<void> {
  const wanted = mode ?? (existing === undefined ? undefined : existing.mode & 0o777)
  const file = await fs.open(temp, 'wx', wanted === undefined ? 0o666 : 0o600)
  try {
    await file.writeFile(bytes)
    if (existing !== undefined) {
      const own = await file.stat()
      // Only the superuser can change the owner. For others, the new file stays their own.
      if (own.uid !== existing.uid || own.gid !== existing.gid)
        await file.chown(existing.uid, existing.gid).catch(() => {})
    }
    if (wanted !== undefined) await file.chmod(wanted)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Renames a file, but fails if the target exists. */
export async function moveIfFree(temp: string, target: string, place: Place): Promise<void> {
  try {
    await fs.link(temp, target)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw existsAlready(place)
    // The file system has no hard links. A rename could replace a target, but `existingFile` has just found none.
    await fs.rename(temp, target)
    return
  }
  await fs.unlink(temp)
}

export async function checkHash(place: Place, directory: Directory, expected: string): Promise<void> {
  const file = await fs.open(directory.entry(place.name), openFlags)
  try {
    const { sha256 } = await readBytes(readerOf(file), 0, Infinity, undefined)
    if (sha256 !== expected)
      throw conflict(place.path, `${quote(place.path)} has changed since it was read. Read it again.`)
  } finally {
    await file.close()
  }
}

export function existsAlready({ path }: Place): ToolError {
  return conflict(path, `${quote(path)} exists already.`)
}

export function missing({ path }: Place): ToolError {
  return conflict(path, `${quote(path)} does not exist any more.`)
}

function conflict(path: string, detail: string): ToolError {
  return new ToolError({ kind: 'conflict', detail, conflicts: [{ path, expected: [], found: [] }] })
}
