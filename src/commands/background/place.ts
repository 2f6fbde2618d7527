import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { acquireLock, LOCK_TIMES } from '../../auth/file-lock.ts'
import { adviceFor, errnoOf } from '../../auth/record-fs.ts'
import type { CommandContext } from '../context.ts'
import { CommandFailure, exitCode } from '../exit-code.ts'
import { findStateDir } from '../settings.ts'
import { readDaemonRecord } from './daemon-record.ts'
import type { DaemonRecord } from './daemon-record.ts'
import { findProcessStart } from './process-start.ts'

/** The files of the background daemon of this user. */
export interface BackgroundPlace {
  readonly dir: string
  readonly recordFile: string
  readonly logFile: string
}

/** Creates nothing. @throws CommandFailure where there is no home for it */
export function findBackgroundPlace(context: CommandContext): BackgroundPlace {
  const dir = findStateDir(context)
  return { dir, recordFile: join(dir, 'daemon.json'), logFile: join(dir, 'daemon.log') }
}

/** As `findBackgroundPlace`; the folder is there then, and this user's alone where it was not there before. */
export async function openBackgroundPlace(context: CommandContext): Promise<BackgroundPlace> {
  const place = findBackgroundPlace(context)
  await tellingFileErrors(place, () => nodeFs.mkdir(place.dir, { recursive: true, mode: 0o700 }))
  return place
}

/** @throws CommandFailure `failed` in place of a file system's error */
export async function tellingFileErrors<T>({ dir }: BackgroundPlace, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = errnoOf(error)
    // A system's own names only: Node has codes of other forms, for an abort among others.
    if (!/^E[A-Z0-9]+$/.test(code) || error instanceof CommandFailure) throw error
    throw new CommandFailure(exitCode.failed, `${dir} cannot be used: ${adviceFor(code)}.`, { cause: error })
  }
}

/** The background daemon that runs now; undefined where there is none, whatever a daemon that was killed left behind. */
export async function findRunningDaemon(
  context: CommandContext,
  place: BackgroundPlace,
): Promise<DaemonRecord | undefined> {
  const record = await tellingFileErrors(place, () => readDaemonRecord(place.recordFile))
  return record !== undefined && (await isRunning(context, record)) ? record : undefined
}

export async function isRunning(context: CommandContext, record: DaemonRecord): Promise<boolean> {
  return (await findProcessStart(record.pid, context)) === record.process_start
}

/**
 * Does something to the background daemon while no other command does.
 * @param longestMs what another command may take with it
 */
export async function withBackgroundLock<T>(
  context: CommandContext,
  place: BackgroundPlace,
  longestMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const times = { ...LOCK_TIMES, waitLimitMs: longestMs }
  const lock = await tellingFileErrors(place, () =>
    acquireLock(nodeFs, join(place.dir, 'daemon.lock'), times, context.signal),
  )
  try {
    return await work()
  } finally {
    await lock.release()
  }
}
