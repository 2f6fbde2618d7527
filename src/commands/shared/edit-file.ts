import * as nodeFs from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { replaceFile, sweepStrayFiles } from '../../auth/records/atomic-file.ts'
import { acquireLock, LOCK_TIMES } from '../../auth/records/file-lock.ts'
import type { FileLock } from '../../auth/records/file-lock.ts'
import { adviceFor, errnoOf } from '../../auth/records/record-fs.ts'
import { formatConfigError } from '../../config/problem.ts'
import { maxConfigBytes, readConfigFile } from '../../config/read-config-file.ts'
import { CommandFailure, exitCode } from './command.ts'

export interface ChangeOptions {
  /** A symbolic link is followed and kept. */
  readonly path: string
  readonly signal: AbortSignal
  /** Ms since epoch. */
  readonly now: () => number
  /** Runs before the file is replaced; the file stays as it is if this throws. */
  readonly beforeReplace?: (() => Promise<void>) | undefined
}

/**
 * Replaces the text of the configuration file atomically by the result of `change` ('' if there is no file). The new
 * file is readable by its owner alone.
 * @throws CommandFailure if the file cannot be changed, and what `change` throws; RecordStoreError `busy`
 */
export async function changeConfigFile(options: ChangeOptions, change: (text: string) => string): Promise<void> {
  const { path, signal, now, beforeReplace } = options
  await withFileErrors(
    (advice) => `${path} could not be changed: ${advice}.`,
    async () => {
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
    },
  )
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
    // This program would refuse to read a larger file.
    throw failure(`${target} was not changed, because it would become larger than 64 KiB.`)
  }
  await beforeReplace?.()
  // Editors ignore the lock.
  if ((await readText(target)) !== text || !(await lock.isHeld())) {
    throw failure(`${target} was not changed, because another program changed it at the same time. Try again.`)
  }
  await replaceFile(nodeFs, target, changed)
}

/** @throws CommandFailure `failed` with `message(advice)` in place of an error of the file system */
export async function withFileErrors<T>(message: (advice: string) => string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = errnoOf(error)
    // Handles system errors only. Node's own codes, for example that of an abort, look different.
    if (!/^E[A-Z0-9]+$/.test(code)) throw error
    throw failure(message(adviceFor(code)), error)
  }
}

/** Undefined if there is no file. */
async function readText(target: string): Promise<string | undefined> {
  const read = await readConfigFile(target, { required: false })
  if (!read.ok) throw new CommandFailure(exitCode.usage, formatConfigError(read.error))
  return read.file?.text
}

/** The target of a symbolic link, which people use to keep settings under version control. */
export async function targetOf(path: string): Promise<string> {
  try {
    return await nodeFs.realpath(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    const isLink = await nodeFs.readlink(path).then(
      () => true,
      () => false,
    )
    if (isLink) throw failure(`${path} links to a file that does not exist. Create that file, or remove the link.`)
    return path
  }
}

/** Replacing a file changes its owner, who could then no longer read it. */
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
