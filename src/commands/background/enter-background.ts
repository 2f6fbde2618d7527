import * as nodeFs from 'node:fs/promises'
import { removeIfThere } from '../../auth/records/atomic-file.ts'
import { findProcessStart } from '../../auth/records/process-start.ts'
import { errnoOf } from '../../auth/records/record-fs.ts'
import type { LogTarget } from '../../logging/create-log.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext, BackgroundStarter, ServeFlags } from '../shared/command.ts'
import {
  removeDaemonRecord,
  writeDaemonRecord,
  runningText,
  findRunningDaemon,
  openStateFiles,
  reportFileErrors,
} from './background-daemon.ts'
import type { DaemonRecord } from './background-daemon.ts'

/** This process as the background daemon. */
export interface Background {
  readonly log: LogTarget
  /** Writes the record, once the daemon accepts connections. */
  readonly announce: (url: string) => Promise<void>
  /** Called after the last log entry. */
  readonly leave: () => Promise<void>
}

/** A pid alone is not enough to stop a process safely. */
const noProcessStart =
  'copilot-proxy cannot run in the background, because this system does not report when a process started. ' +
  'Run: copilot-proxy serve'

/** @throws CommandFailure `failed` if another background daemon runs, or the state folder is unusable */
export async function enterBackground(
  context: CommandContext,
  starter: BackgroundStarter,
  flags: ServeFlags,
): Promise<Background> {
  const files = await openStateFiles(context)
  const other = await findRunningDaemon(context, files)
  if (other !== undefined) throw new CommandFailure(exitCode.failed, runningText(other))
  const log = await reportFileErrors(files, () => openLogFile(files.logFile, logLimits))
  let record: DaemonRecord | undefined
  return {
    log,
    async announce(url) {
      const started = await findProcessStart(context.pid, context)
      if (started === undefined) {
        // The service manager tracks the processes of its services.
        if (starter === 'service') return
        throw new CommandFailure(exitCode.failed, noProcessStart)
      }
      record = {
        pid: context.pid,
        process_start: started,
        url,
        version: context.version,
        started_at: new Date(context.now()).toISOString(),
        starter,
        flags: {
          config: flags.config,
          port: flags.port,
          host: flags.host,
          demo: flags.demo,
          logLevel: flags.logLevel,
          workspace: flags.workspace?.slice(),
        },
      }
      const written = record
      await reportFileErrors(files, () => writeDaemonRecord(files.recordFile, written))
    },
    async leave() {
      if (record !== undefined) await removeDaemonRecord(files.recordFile, record).catch(() => {})
      await log.close().catch(() => {})
    },
  }
}

export interface LogFile {
  readonly fd: number
  /** Called after every write; returns a promise to wait for during a rotation. */
  readonly onWritten: (bytes: number) => Promise<void> | undefined
  readonly close: () => Promise<void>
}

export interface LogLimits {
  /** Size at which the log is rotated. */
  readonly maxBytes: number
  /** Number of rotated files; `<path>.1` is the newest. */
  readonly kept: number
}

/** At most 30 MB, weeks of ordinary use. */
export const logLimits: LogLimits = { maxBytes: 10_000_000, kept: 2 }

/**
 * Opens the log for appending, readable by its owner alone. Rotation copies and truncates the file: standard error may
 * be the same file, and Windows cannot rename an open file.
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
      // Probably a full disk. A bounded log matters more than lost entries.
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
