import type { OpenFile } from './directory.ts'
import { refuseCancelled } from './read-bytes.ts'

/** Lines of a file, 1-based, including `end`. */
export interface LineRange {
  readonly start: number
  readonly end: number
}

/** Lines of a file that is too large to be read whole. */
export interface FoundLines {
  readonly bytes: Buffer
  /** The number of lines of the file, if it has fewer than `start`. */
  readonly total: number | undefined
  /** Whether the limit left out some of the bytes. */
  readonly isCut: boolean
}

/** A file is read in parts, whose lines are counted without a pause. Bytes. */
const partBytes = 1024 * 1024

const lineFeed = 0x0a

/**
 * Reads some lines and keeps at most `maxBytes` of them. Reads no further than their end.
 * @param check called with each part of the file up to there. @throws an error to refuse the file
 */
export async function readLines(
  read: OpenFile['read'],
  { start, end }: LineRange,
  maxBytes: number,
  check: (part: Buffer) => void,
  signal: AbortSignal | undefined,
): Promise<FoundLines> {
  const buffer = Buffer.allocUnsafe(partBytes)
  const kept: Buffer[] = []
  let size = 0
  let line = 1
  let last = lineFeed
  for (;;) {
    refuseCancelled(signal)
    const part = buffer.subarray(0, await read(buffer, 0, buffer.length))
    if (part.length === 0) break
    check(part)
    let at = 0
    for (; line < start; line += 1) {
      const next = part.indexOf(lineFeed, at) + 1
      if (next === 0) break
      at = next
    }
    last = part.at(-1) ?? lineFeed
    if (line < start) continue
    const from = at
    for (at = from; line <= end; line += 1) {
      const next = part.indexOf(lineFeed, at) + 1
      at = next === 0 ? part.length : next
      if (next === 0) break
    }
    const wanted = part.subarray(from, at)
    kept.push(Buffer.from(wanted.subarray(0, maxBytes - size)))
    size += wanted.length
    if (size > maxBytes) return { bytes: Buffer.concat(kept), total: undefined, isCut: true }
    if (line > end) return { bytes: Buffer.concat(kept), total: undefined, isCut: false }
  }
  // A line end at the end of the file starts no line.
  const total = last === lineFeed ? line - 1 : line
  return { bytes: Buffer.concat(kept), total: size === 0 ? total : undefined, isCut: false }
}
