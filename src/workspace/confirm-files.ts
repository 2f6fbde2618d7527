import * as fs from 'node:fs/promises'
import { posix } from 'node:path'
import { errnoOf } from '../auth/records/record-fs.ts'
import { hasDescriptorPaths, LinkFound, openDirectory, openFlags, type Directory } from './directory.ts'
import type { Folder } from './folder.ts'

// ripgrep opens files by path. If another program replaces a folder with a link between ripgrep's check and its open, ripgrep
// reads files outside the workspace. Therefore this module confirms each result in folders that it opens safely.

/** Bytes at an offset of a file. */
export interface FilePart {
  readonly offset: number
  readonly bytes: Buffer
}

/** One read covers parts with at most this gap between them. Bytes. */
const maxGap = 4096

/** Maximum size of one read. Bytes. */
const maxSpan = 256 * 1024

/** Returns whether the path is a regular file with these bytes at these offsets. Follows no link. */
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

/** Returns those names that are regular files in a folder. Follows no link. */
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

/** Returns `otherwise` if the folder or an entry cannot be opened. */
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

/** @param start the offset of `bytes` in the file */
export function includesParts(bytes: Buffer, start: number, parts: readonly FilePart[]): boolean {
  return parts.every((part) => {
    const at = part.offset - start
    return bytes.subarray(at, at + part.bytes.length).equals(part.bytes)
  })
}
