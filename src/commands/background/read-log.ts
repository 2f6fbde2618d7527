import { open } from 'node:fs/promises'
import { errnoOf } from '../../auth/record-fs.ts'
import { logLimits } from './log-file.ts'

/** How far a log has been read. */
interface LogPosition {
  /** Bytes of the file. */
  readonly offset: number
}

export interface LastLines extends LogPosition {
  /** Without their line ends. */
  readonly lines: readonly string[]
}

/**
 * The last `count` lines, from older files too where the newest has fewer. Undefined where there is no log at all.
 */
export async function readLastLines(path: string, count: number): Promise<LastLines | undefined> {
  const newest = await readFrom(path, 0)
  if (newest === undefined) return undefined
  let lines = linesIn(newest)
  for (let at = 1; at <= logLimits.kept && lines.length < count; at += 1) {
    const older = await readFrom(`${path}.${at}`, 0)
    if (older === undefined) break
    lines = linesIn(older).concat(lines)
  }
  return { lines: count === 0 ? [] : lines.slice(-count), offset: newest.length }
}

function linesIn(bytes: Buffer): readonly string[] {
  const lines = bytes.toString().split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/**
 * The lines that are written from `position` on, as they come; never ends by itself. A log that was set aside and begun
 * anew in between is read on without a gap.
 * @param pause between two looks; what it throws ends this
 */
export async function* followLines(
  path: string,
  { offset }: LogPosition,
  pause: () => Promise<void>,
): AsyncGenerator<readonly string[]> {
  let rest: Buffer = Buffer.alloc(0)
  for (;;) {
    const { bytes, end } = await readOn(path, offset)
    offset = end
    rest = Buffer.concat([rest, bytes])
    const lineEnd = rest.lastIndexOf('\n')
    if (lineEnd >= 0) {
      yield linesIn(rest.subarray(0, lineEnd + 1))
      rest = rest.subarray(lineEnd + 1)
    }
    await pause()
  }
}

async function readOn(path: string, offset: number): Promise<{ readonly bytes: Buffer; readonly end: number }> {
  const bytes = await readFrom(path, offset)
  if (bytes !== undefined) return { bytes, end: offset + bytes.length }
  // It was emptied; what we have not seen of it is at the end of the copy.
  const missed = offset === 0 ? undefined : await readFrom(`${path}.1`, offset)
  const begun = (await readFrom(path, 0)) ?? Buffer.alloc(0)
  return { bytes: Buffer.concat([missed ?? Buffer.alloc(0), begun]), end: begun.length }
}

/** What stands from there to the end; undefined where the file is not there, or is shorter. */
async function readFrom(path: string, offset: number): Promise<Buffer | undefined> {
  try {
    const file = await open(path, 'r')
    try {
      const { size } = await file.stat()
      if (size < offset) return undefined
      const bytes = Buffer.alloc(size - offset)
      let filled = 0
      while (filled < bytes.length) {
        const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return bytes.subarray(0, filled)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}
