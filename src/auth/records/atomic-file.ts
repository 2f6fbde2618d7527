import { randomBytes } from 'node:crypto'
import { dirname, basename, join } from 'node:path'
import { kill, pid } from 'node:process'
import { errnoOf, type RecordFs } from './record-fs.ts'

/** A temporary file whose writer is unknown is removed after this. Ms. */
const STRAY_AFTER_MS = 60_000

const TEMP_NAME = /\.(\d+)-[0-9a-f]{12}\.tmp$/

/**
 * Replaces `path` by `text` atomically: readers see the complete old file or the complete new one, also after a crash.
 * The file has mode 0600 when it is created, and `mode` before it is in place. On failure the old file is unchanged,
 * the temporary file is removed, and the file system's own error is thrown.
 */
export async function replaceFile(fs: RecordFs, path: string, text: string, mode = 0o600): Promise<void> {
  const temp = temporaryName(path)
  try {
    const file = await fs.open(temp, 'wx', 0o600)
    try {
      await file.writeFile(text)
      if (mode !== 0o600) await file.chmod(mode)
      await file.sync()
    } finally {
      await file.close()
    }
    await fs.rename(temp, path)
  } catch (error) {
    await removeIfThere(fs, temp).catch(() => {})
    throw error
  }
  await syncFolder(fs, dirname(path))
}

/** A unique name beside `path`. It contains the writer's process id for `sweepStrayFiles`. */
export function temporaryName(path: string): string {
  return `${path}.${pid}-${randomBytes(6).toString('hex')}.tmp`
}

/** Removes temporary files whose writer was killed. Leaves those of a live writer, which exist for milliseconds. */
export async function sweepStrayFiles(
  fs: RecordFs,
  dir: string,
  names: readonly string[],
  nowMs: number,
): Promise<void> {
  const strays = names.map((name) => ({ path: join(dir, name), writer: TEMP_NAME.exec(basename(name))?.[1] }))
  await Promise.all(
    strays.map(async ({ path, writer }) => {
      if (writer === undefined) return
      try {
        const old = nowMs - (await fs.lstat(path)).mtimeMs > STRAY_AFTER_MS
        if (old || !isAlive(Number(writer))) await removeIfThere(fs, path)
      } catch {
        // Another process removed the file, or this one may not remove it. The next start tries again.
      }
    }),
  )
}

/** Whether a process of this machine still runs; true if unknown. Signal 0 only checks. */
export function isAlive(processId: number): boolean {
  try {
    return kill(processId, 0)
  } catch (error) {
    return errnoOf(error) !== 'ESRCH'
  }
}

export async function removeIfThere(fs: RecordFs, path: string): Promise<boolean> {
  try {
    await fs.unlink(path)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

/** Makes the rename durable. Some systems cannot sync a folder; the record is complete even there. */
async function syncFolder(fs: RecordFs, dir: string): Promise<void> {
  try {
    const folder = await fs.open(dir, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  } catch {
    // The new file is in place and readable. Only its durability across a power cut is unknown.
  }
}
