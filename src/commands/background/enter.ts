import type { LogTarget } from '../../create-log.ts'
import type { CommandContext } from '../context.ts'
import { CommandFailure, exitCode } from '../exit-code.ts'
import type { BackgroundStarter, ServeFlags } from '../flags.ts'
import { removeDaemonRecord, writeDaemonRecord } from './daemon-record.ts'
import type { DaemonRecord } from './daemon-record.ts'
import { runningText } from './describe.ts'
import { logLimits, openLogFile } from './log-file.ts'
import { findRunningDaemon, openBackgroundPlace, tellingFileErrors } from './place.ts'
import { findProcessStart } from './process-start.ts'

/** This process as the background daemon. */
export interface Background {
  readonly log: LogTarget
  /** Tells the other commands of it, once it accepts connections. */
  readonly announce: (url: string) => Promise<void>
  /** Last of all, when nothing is logged any more. */
  readonly leave: () => Promise<void>
}

/** Nothing may be ended by its number alone. */
const untellable =
  'This system does not say when a process started, so that a background one could not be told from others. ' +
  'Use copilot-proxy serve.'

/** @throws CommandFailure `failed` where another background daemon runs, or the state folder cannot be used */
export async function enterBackground(
  context: CommandContext,
  starter: BackgroundStarter,
  flags: ServeFlags,
): Promise<Background> {
  const place = await openBackgroundPlace(context)
  const other = await findRunningDaemon(context, place)
  if (other !== undefined) throw new CommandFailure(exitCode.failed, runningText(other))
  const log = await tellingFileErrors(place, () => openLogFile(place.logFile, logLimits))
  let record: DaemonRecord | undefined
  return {
    log,
    async announce(url) {
      const started = await findProcessStart(context.pid, context)
      if (started === undefined) {
        // A service is looked after by the system, which knows its processes.
        if (starter === 'service') return
        throw new CommandFailure(exitCode.failed, untellable)
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
        },
      }
      const written = record
      await tellingFileErrors(place, () => writeDaemonRecord(place.recordFile, written))
    },
    async leave() {
      if (record !== undefined) await removeDaemonRecord(place.recordFile, record).catch(() => {})
      await log.close().catch(() => {})
    },
  }
}
