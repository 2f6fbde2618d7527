import * as fs from 'node:fs/promises'
import { posix } from 'node:path'
import { errnoOf } from '../auth/records/record-fs.ts'
import { hasDescriptorPaths, LinkFound, openDirectory, openFlags, type Directory } from './directory.ts'
import type { Folder } from './folder.ts'

// ripgrep opens files by their paths. If a folder is swapped for a link between its look at the folder and its opening it,
// ripgrep reads what is outside. So whatever it says of a file is confirmed here through folders that are opened safely.

/** Bytes at a place of a file. */
export interface FilePart {
  readonly offset: number
  readonly bytes: Buffer
}

/** Parts that are so near each other are read at once. Bytes. */
const maxGap = 4096

/** Read at once. Bytes. */
const maxSpan = 256 * 1024

/** Whether there is a regular file at the path, with these bytes at these places. Follows no link. */
export async function hasParts(folder: Folder, path: string, parts: readonly FilePart[]): Promise<boolean> {
  return inDirectory(folder, posix.dirname(path), false, async (directory) => {
    const name = posix.basename(path)
    const file = await fs.open(directory.entry(name), openFlags)
    try {
      await directory.check(name)
      if (!(await file.stat()).isFile()) return false
      for (const span of spansOf(parts)) if (!(await hasSpan(file, span))) return false
      return true
    } finally {
      await file.close()
    }
  })
}

/** Those of the names at which a folder has a regular file. Follows no link. */
export async function filesIn(folder: Folder, path: string, names: readonly string[]): Promise<readonly string[]> {
  return inDirectory(folder, path, [], async (directory) => {
    const found = await Promise.all(
      names.map(async (name) => {
        const stats = await fs.lstat(directory.entry(name)).catch(() => undefined)
        return stats?.isFile() === true ? [name] : []
      }),
    )
    await directory.check()
    return found.flat()
  })
}

/** `otherwise` if the folder or something in it cannot be opened. */
async function inDirectory<T>(
  folder: Folder,
  path: string,
  otherwise: T,
  use: (directory: Directory) => Promise<T>,
): Promise<T> {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  try {
    const directory = await openDirectory(folder.root, segments, { held: hasDescriptorPaths(), create: false })
    try {
      return await use(directory)
    } finally {
      await directory.close()
    }
  } catch (error) {
    if (error instanceof LinkFound || errnoOf(error) !== '') return otherwise
    throw error
  }
}

interface Span {
  readonly start: number
  end: number
  readonly parts: FilePart[]
}

function spansOf(parts: readonly FilePart[]): readonly Span[] {
  const spans: Span[] = []
  for (const part of parts.toSorted((a, b) => a.offset - b.offset)) {
    const end = part.offset + part.bytes.length
    const last = spans.at(-1)
    if (last !== undefined && part.offset - last.end <= maxGap && end - last.start <= maxSpan) {
      last.end = Math.max(last.end, end)
      last.parts.push(part)
    } else spans.push({ start: part.offset, end, parts: [part] })
  }
  return spans
}

async function hasSpan(file: fs.FileHandle, { start, end, parts }: Span): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(end - start), 0, end - start, start)
  return bytesRead === end - start && includesParts(buffer, start, parts)
}

/** @param start the place of the first byte of `bytes` */
export function includesParts(bytes: Buffer, start: number, parts: readonly FilePart[]): boolean {
  return parts.every((part) => {
    const at = part.offset - start
    return bytes.subarray(at, at + part.bytes.length).equals(part.bytes)
  })
}
