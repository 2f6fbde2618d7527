import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { removeIfThere, replaceFile } from '../../auth/records/atomic-file.ts'
import { acquireLock, LOCK_TIMES } from '../../auth/records/file-lock.ts'
import { findProcessStart } from '../../auth/records/process-start.ts'
import { errnoOf } from '../../auth/records/record-fs.ts'
import { visible } from '../../terminal/visible.ts'
import type { CommandContext } from '../shared/command.ts'
import { withFileErrors } from '../shared/edit-file.ts'
import { findStateDir } from '../shared/settings.ts'
import { parseJson } from '../../json/json.ts'

/** Files of this user's background daemon. */
export interface StateFiles {
  readonly dir: string
  readonly recordFile: string
  readonly logFile: string
}

export interface StartedDaemon {
  /** It accepts connections at `record.url`. */
  readonly record: DaemonRecord
  /** This user's background daemon was running already. */
  readonly wasRunning: boolean
}

/** Creates nothing. @throws CommandFailure if there is no home folder */
export function findStateFiles(context: CommandContext): StateFiles {
  const dir = findStateDir(context)
  return { dir, recordFile: join(dir, 'daemon.json'), logFile: join(dir, 'daemon.log') }
}

/** As `findStateFiles`, and creates the folder for this user alone. */
export async function openStateFiles(context: CommandContext): Promise<StateFiles> {
  const files = findStateFiles(context)
  await reportFileErrors(files, () => nodeFs.mkdir(files.dir, { recursive: true, mode: 0o700 }))
  return files
}

/** @throws CommandFailure `failed` in place of an error of the file system */
export function reportFileErrors<T>({ dir }: StateFiles, work: () => Promise<T>): Promise<T> {
  return withFileErrors((advice) => `${dir} cannot be used: ${advice}.`, work)
}

/** Undefined also if only the record of a killed daemon is left. */
export async function findRunningDaemon(context: CommandContext, files: StateFiles): Promise<DaemonRecord | undefined> {
  const record = await reportFileErrors(files, () => readDaemonRecord(files.recordFile))
  return record !== undefined && (await isRunning(context, record)) ? record : undefined
}

export async function isRunning(context: CommandContext, record: DaemonRecord): Promise<boolean> {
  return (await findProcessStart(record.pid, context)) === record.process_start
}

/** Ms. */
export const limits = {
  /** For a daemon to accept connections, on a busy machine. */
  startMs: 60_000,
  /** For the daemon to end streams, store a renewed login and write its log after the grace period. */
  endMs: 10_000,
  /** For a killed process to disappear. */
  killedMs: 5000,
}

/**
 * Serialises commands that start or stop the background daemon.
 * @param graceSeconds `server.shutdown-grace-seconds`: another command may hold the lock for a stop and a start
 */
export async function withBackgroundLock<T>(
  context: CommandContext,
  files: StateFiles,
  graceSeconds: number,
  work: () => Promise<T>,
): Promise<T> {
  const waitLimitMs = limits.startMs + graceSeconds * 1000 + limits.endMs + limits.killedMs
  const times = { ...LOCK_TIMES, waitLimitMs }
  const lock = await reportFileErrors(files, () =>
    acquireLock(nodeFs, join(files.dir, 'daemon.lock'), times, context.signal),
  )
  try {
    return await work()
  } finally {
    await lock.release()
  }
}

/** The options that the daemon was started with, none of them secret. */
const daemonFlags = z.object({
  config: z.string().optional(),
  port: z.string().optional(),
  host: z.string().optional(),
  demo: z.literal(true).optional(),
  logLevel: z.string().optional(),
  workspace: z.array(z.string()).optional(),
})

/** `daemon.json`, which exists while the daemon runs. */
const daemonRecord = z.object({
  /** To `kill`, 1 is the system's own process and lower numbers are groups. */
  pid: z.int().min(2),
  /** From `findProcessStart`: detects that the pid was reused. */
  process_start: z.string().min(1),
  url: z.url(),
  version: z.string(),
  /** ISO 8601. */
  started_at: z.iso.datetime(),
  starter: z.enum(['detach', 'service']),
  flags: daemonFlags,
})
export type DaemonRecord = z.infer<typeof daemonRecord>

/** Undefined if the file is missing or invalid. */
export async function readDaemonRecord(path: string): Promise<DaemonRecord | undefined> {
  try {
    return daemonRecord.safeParse(parseJson(await nodeFs.readFile(path, 'utf8'))).data
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return undefined
    throw error
  }
}

export async function writeDaemonRecord(path: string, record: DaemonRecord): Promise<void> {
  await replaceFile(nodeFs, path, `${JSON.stringify(record, null, 2)}\n`)
}

/** Keeps the record of a daemon that has replaced this one. */
export async function removeDaemonRecord(path: string, { pid, process_start }: DaemonRecord): Promise<void> {
  const now = await readDaemonRecord(path)
  if (now?.pid === pid && now.process_start === process_start) await removeIfThere(nodeFs, path)
}

export function runningText(record: DaemonRecord): string {
  return (
    `copilot-proxy ${visible(record.version)} is already running at ${visible(record.url)} (process ${record.pid}` +
    `${record.flags.demo ? ', with --demo' : ''}).`
  )
}

export function daemonDocument({ pid, url, version, started_at, starter }: DaemonRecord) {
  return { pid, url, version, started_at, starter }
}
