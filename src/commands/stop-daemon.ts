import { kill } from 'node:process'
import { errnoOf } from '../auth/record-fs.ts'
import type { DaemonRecord } from './background/daemon-record.ts'
import { isRunning } from './background/place.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'

/** For what a daemon does after the grace period: ending streams, storing a renewed login, writing its log. Ms. */
const marginMs = 10_000
/** For a process that was killed to be gone. Ms. */
const killedMs = 5000
/** Between two looks at whether it still runs. It is no child of ours, so nobody tells. Ms. */
const pollMs = 50

/** How long stopping may take altogether. Ms. */
export function stopLimitMs(graceSeconds: number): number {
  return patienceMs(graceSeconds) + killedMs
}

function patienceMs(graceSeconds: number): number {
  return graceSeconds * 1000 + marginMs
}

export interface StoppedDaemon {
  /** It did not end by itself. */
  readonly killed: boolean
}

/**
 * Ends a background daemon: it finishes the answers on their way, as long as `server.shutdown-grace-seconds` of its
 * settings allows.
 * On Windows, which has no signals, it ends at once.
 * @throws CommandFailure `failed` where it cannot be ended
 */
export async function stopDaemon(
  context: CommandContext,
  graceSeconds: number,
  record: DaemonRecord,
): Promise<StoppedDaemon> {
  // Looked at again right before: between then and the signal no time passes in which the number could change hands.
  if (!(await isRunning(context, record))) return { killed: false }
  send(record, 'SIGTERM')
  if (await ended(context, record, patienceMs(graceSeconds))) return { killed: false }
  send(record, 'SIGKILL')
  if (await ended(context, record, killedMs)) return { killed: true }
  throw new CommandFailure(exitCode.failed, `Process ${record.pid} does not end, not even when it is killed.`)
}

function send({ pid }: DaemonRecord, signal: NodeJS.Signals): void {
  try {
    kill(pid, signal)
  } catch (error) {
    // It has ended by itself in this very moment.
    if (errnoOf(error) === 'ESRCH') return
    throw new CommandFailure(exitCode.failed, `Process ${pid} could not be ended: ${errnoOf(error)}.`, { cause: error })
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
