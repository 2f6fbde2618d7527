import * as nodeFs from 'node:fs/promises'
import { removeIfThere } from '../../auth/atomic-file.ts'
import { errnoOf } from '../../auth/record-fs.ts'

export interface LogFile {
  readonly fd: number
  /** Told of every write; undefined as long as nothing has to wait. */
  readonly onWritten: (bytes: number) => Promise<void> | undefined
  readonly close: () => Promise<void>
}

export interface LogLimits {
  /** From here on the file is set aside and a new one begun. */
  readonly maxBytes: number
  /** How many older files stay: `<path>.1` is the latest of them. */
  readonly kept: number
}

/** 30 MB at most, which is weeks of ordinary use. */
export const logLimits: LogLimits = { maxBytes: 10_000_000, kept: 2 }

/**
 * Opens the log for more lines, readable by its owner alone. A file that has grown too large is copied and emptied, not
 * renamed: standard error of the process may be the same file, and on Windows a file that is open cannot be renamed.
 */
export async function openLogFile(path: string, { maxBytes, kept }: LogLimits): Promise<LogFile> {
  const file = await nodeFs.open(path, 'a', 0o600)
  await file.chmod(0o600)
  let size = (await file.stat()).size

  async function rotate(): Promise<void> {
    try {
      for (let at = kept; at > 1; at -= 1) {
        await nodeFs.rename(`${path}.${at - 1}`, `${path}.${at}`).catch(ignoreMissing)
      }
      await nodeFs.copyFile(path, `${path}.1`)
    } catch {
      // A full disk, most likely. That the log stays bounded matters more than what is lost of it.
      await removeIfThere(nodeFs, `${path}.1`).catch(() => {})
    } finally {
      await file.truncate(0).catch(() => {})
      size = 0
    }
  }

  if (size >= maxBytes) await rotate()
  return {
    fd: file.fd,
    onWritten(bytes) {
      size += bytes
      return size < maxBytes ? undefined : rotate()
    },
    close: () => file.close(),
  }
}

function ignoreMissing(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error
}
