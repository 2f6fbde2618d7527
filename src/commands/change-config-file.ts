import * as nodeFs from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { replaceFile, sweepStrayFiles } from '../auth/atomic-file.ts'
import { acquireLock, LOCK_TIMES } from '../auth/file-lock.ts'
import type { FileLock } from '../auth/file-lock.ts'
import { adviceFor, errnoOf, RecordStoreError } from '../auth/record-fs.ts'
import { formatConfigError } from '../config/problem.ts'
import { maxConfigBytes, readConfigFile } from '../config/read-config-file.ts'
import { CommandFailure, exitCode } from './exit-code.ts'

export interface ChangeOptions {
  /** As the user knows it; a symbolic link is followed and stays. */
  readonly path: string
  readonly signal: AbortSignal
  /** Ms since epoch. */
  readonly now: () => number
  /** Runs once the new text is known and can be stored; when it throws, nothing is changed. */
  readonly beforeReplace?: (() => Promise<void>) | undefined
}

/**
 * Replaces the configuration file by what `change` makes of its text, '' where there is none yet: at any moment there
 * is the old file or the new one, whole, and the new one can be read by its owner alone.
 * @throws CommandFailure where the file cannot be changed, and what `change` throws; RecordStoreError `busy`
 */
export async function changeConfigFile(options: ChangeOptions, change: (text: string) => string): Promise<void> {
  const { path, signal, now, beforeReplace } = options
  try {
    const target = await targetOf(path)
    const folder = dirname(target)
    await nodeFs.mkdir(folder, { recursive: true, mode: 0o700 })
    const lockPath = `${target}.lock`
    const lock = await acquireLock(nodeFs, lockPath, LOCK_TIMES, signal)
    try {
      await refuseForeign(target, lockPath)
      const names = (await nodeFs.readdir(folder)).filter((name) => name.startsWith(`${basename(target)}.`))
      await sweepStrayFiles(nodeFs, folder, names, now())
      await changeLocked({ target, lock, beforeReplace }, change)
    } finally {
      await lock.release()
    }
  } catch (error) {
    const code = errnoOf(error)
    if (code === '' || error instanceof CommandFailure || error instanceof RecordStoreError) throw error
    throw failure(`${path} could not be changed: ${adviceFor(code)}.`, error)
  }
}

interface LockedFile extends Pick<ChangeOptions, 'beforeReplace'> {
  readonly target: string
  readonly lock: FileLock
}

async function changeLocked(
  { target, lock, beforeReplace }: LockedFile,
  change: (text: string) => string,
): Promise<void> {
  const text = await readText(target)
  const changed = change(text ?? '')
  if (Buffer.byteLength(changed) > maxConfigBytes) {
    // A larger one would be refused by whoever reads it, this program among them.
    throw failure(`Nothing is changed: ${target} would be larger than 64 KiB, and not be read any more.`)
  }
  await beforeReplace?.()
  // Editors know nothing of the lock.
  if ((await readText(target)) !== text || !(await lock.isHeld())) {
    throw failure(`Another program has changed ${target} in this very moment; nothing was done. Try again.`)
  }
  await replaceFile(nodeFs, target, changed)
}

/** Undefined where there is no file. */
async function readText(target: string): Promise<string | undefined> {
  const read = await readConfigFile(target, { required: false })
  if (!read.ok) throw new CommandFailure(exitCode.usage, formatConfigError(read.error))
  return read.file?.text
}

/** The file that a link leads to, as those who keep their settings under version control have one. */
export async function targetOf(path: string): Promise<string> {
  try {
    return await nodeFs.realpath(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    const isLink = await nodeFs.readlink(path).then(
      () => true,
      () => false,
    )
    if (isLink) throw failure(`${path} is a link to a file that does not exist. Create that file, or remove the link.`)
    return path
  }
}

/** A file that is put in the place of another one belongs to whoever puts it there, and its old owner could not read it. */
async function refuseForeign(target: string, lockPath: string): Promise<void> {
  const { uid } = await nodeFs.stat(target).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return { uid: undefined }
    throw error
  })
  const ours = await nodeFs.stat(lockPath)
  if (uid === undefined || uid === ours.uid) return
  throw failure(`${target} belongs to another user. Run this as that user.`)
}

function failure(message: string, cause?: unknown): CommandFailure {
  return new CommandFailure(exitCode.failed, message, { cause })
}
