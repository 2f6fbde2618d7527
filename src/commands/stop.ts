import { visible } from '../terminal/visible.ts'
import { askHealth, daemonUrl } from './ask-daemon.ts'
import type { DaemonRecord } from './background/daemon-record.ts'
import { daemonDocument } from './background/describe.ts'
import { findRunningDaemon, openBackgroundPlace, withBackgroundLock } from './background/place.ts'
import type { CommandContext } from './context.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ReportFlags } from './flags.ts'
import { loadSettings, readSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'
import { lockLimitMs } from './start-daemon.ts'
import { stopDaemon } from './stop-daemon.ts'
import { writeJson } from './write-json.ts'

/** Ends the background daemon, if there is one. */
export async function stop(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const place = await openBackgroundPlace(context)
  const settings = await readableSettings(context, flags, await findRunningDaemon(context, place))
  const graceSeconds = settings?.config.server.shutdownGraceSeconds ?? defaultGraceSeconds
  const stopped = await withBackgroundLock(context, place, lockLimitMs(graceSeconds), async () => {
    const record = await findRunningDaemon(context, place)
    if (record === undefined) return undefined
    if (!flags.json) context.stderr.write(`Stopping process ${record.pid}; answers on their way are finished first.\n`)
    return { record, ...(await stopDaemon(context, graceSeconds, record)) }
  })
  if (flags.json) {
    const { record, killed = false } = stopped ?? {}
    writeJson(context, { stopped: record === undefined ? null : daemonDocument(record), killed })
    return exitCode.done
  }
  if (stopped === undefined) {
    context.stdout.write(`copilot-proxy does not run in the background.${await otherDaemonText(context, settings)}\n`)
    return exitCode.done
  }
  const { record, killed } = stopped
  const how = killed ? ' It did not end by itself and was killed.' : ''
  context.stdout.write(`copilot-proxy at ${visible(record.url)} has stopped.${how}\n`)
  return exitCode.done
}

/** That of `server.shutdown-grace-seconds`. */
const defaultGraceSeconds = 30

/** Those of the daemon that runs. Where they are not valid any more it goes on with older ones, and can be ended. */
async function readableSettings(
  context: CommandContext,
  flags: ReportFlags,
  record: DaemonRecord | undefined,
): Promise<LoadedSettings | undefined> {
  if (flags.config !== undefined) return loadSettings(context, flags.config)
  const result = await readSettings(context, record?.flags.config)
  return result.ok ? result.settings : undefined
}

/** One that runs in a terminal is ended there. */
async function otherDaemonText(context: CommandContext, settings: LoadedSettings | undefined): Promise<string> {
  if (settings === undefined) return ''
  const url = daemonUrl(settings.config.server)
  const health = await askHealth(url, context.fetch)
  return health === undefined ? '' : ` One at ${url} was started in a terminal or by a service; end it there.`
}
