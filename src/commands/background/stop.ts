import { kill } from 'node:process'
import { errnoOf } from '../../auth/records/record-fs.ts'
import { visible } from '../../terminal/visible.ts'
import { exitCode, writeJson, CommandFailure } from '../shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from '../shared/command.ts'
import { askHealth, daemonUrl } from '../shared/find-daemon.ts'
import { loadSettings, readSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import {
  daemonDocument,
  findRunningDaemon,
  openStateFiles,
  withBackgroundLock,
  isRunning,
  limits,
} from './background-daemon.ts'
import type { DaemonRecord } from './background-daemon.ts'

export async function stop(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const files = await openStateFiles(context)
  const settings = await readableSettings(context, flags, await findRunningDaemon(context, files))
  const graceSeconds = settings?.config.server.shutdownGraceSeconds ?? defaultGraceSeconds
  const stopped = await withBackgroundLock(context, files, graceSeconds, async () => {
    const record = await findRunningDaemon(context, files)
    if (record === undefined) return undefined
    if (!flags.json) context.stderr.write(stoppingText(record))
    return { record, ...(await stopDaemon(context, graceSeconds, record)) }
  })
  if (flags.json) {
    const { record, killed = false } = stopped ?? {}
    writeJson(context, { stopped: record === undefined ? null : daemonDocument(record), killed })
    return exitCode.done
  }
  if (stopped === undefined) {
    context.stdout.write(`copilot-proxy is not running in the background.${await otherDaemonText(context, settings)}\n`)
    return exitCode.done
  }
  const { record, killed } = stopped
  const how = killed ? ' It did not stop in time and was killed.' : ''
  context.stdout.write(`Stopped copilot-proxy at ${visible(record.url)}.${how}\n`)
  return exitCode.done
}

export function stoppingText({ pid }: DaemonRecord): string {
  return `Stopping copilot-proxy (process ${pid}) after the running requests…\n`
}

/** The default of `server.shutdown-grace-seconds`. */
const defaultGraceSeconds = 30

/**
 * The settings of the running daemon; undefined if they are no longer valid, which must not prevent it from being
 * stopped.
 */
async function readableSettings(
  context: CommandContext,
  flags: ReportFlags,
  record: DaemonRecord | undefined,
): Promise<LoadedSettings | undefined> {
  if (flags.config !== undefined) return loadSettings(context, flags.config)
  const result = await readSettings(context, record?.flags.config)
  return result.ok ? result.settings : undefined
}

/** A daemon in a terminal is stopped there. */
async function otherDaemonText(context: CommandContext, settings: LoadedSettings | undefined): Promise<string> {
  if (settings === undefined) return ''
  const url = daemonUrl(settings.config.server)
  const health = await askHealth(url, context.fetch)
  return health === undefined ? '' : ` The one at ${url} runs in a terminal or a container; stop it there.`
}

/** Polling interval: a process that is not a child sends no event. Ms. */
const pollMs = 50

/**
 * Stops a background daemon, which first finishes its open requests within `server.shutdown-grace-seconds`. On
 * Windows, which has no signals, it ends at once.
 * @returns `killed`: the daemon did not end by itself
 * @throws CommandFailure `failed` if it cannot be stopped
 */
export async function stopDaemon(
  context: CommandContext,
  graceSeconds: number,
  record: DaemonRecord,
): Promise<{ readonly killed: boolean }> {
  // Checked right before the signal, so that the pid cannot have been reused.
  if (!(await isRunning(context, record))) return { killed: false }
  send(record, 'SIGTERM')
  if (await ended(context, record, graceSeconds * 1000 + limits.endMs)) return { killed: false }
  send(record, 'SIGKILL')
  if (await ended(context, record, limits.killedMs)) return { killed: true }
  throw new CommandFailure(exitCode.failed, `Process ${record.pid} is still running after SIGKILL.`)
}

function send({ pid }: DaemonRecord, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal)
  } catch (error) {
    // It has ended by itself in the meantime.
    if (errnoOf(error) === 'ESRCH') return
    throw new CommandFailure(exitCode.failed, `Process ${pid} could not be stopped: ${errnoOf(error)}.`, {
      cause: error,
    })
  }
}

async function ended(context: CommandContext, record: DaemonRecord, withinMs: number): Promise<boolean> {
  const untilMs = performance.now() + withinMs
  while (await isRunning(context, record)) {
    if (performance.now() > untilMs) return false
    await context.sleep(pollMs, context.signal)
  }
  return true
}
