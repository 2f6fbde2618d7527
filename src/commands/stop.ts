import { visible } from '../terminal/visible.ts'
import { askHealth, daemonUrl } from './ask-daemon.ts'
import { daemonDocument } from './background/describe.ts'
import { findRunningDaemon, openBackgroundPlace, withBackgroundLock } from './background/place.ts'
import type { CommandContext } from './context.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ReportFlags } from './flags.ts'
import { loadSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'
import { lockLimitMs } from './start-daemon.ts'
import { stopDaemon } from './stop-daemon.ts'
import { writeJson } from './write-json.ts'

/** Ends the background daemon, if there is one. */
export async function stop(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const place = await openBackgroundPlace(context)
  const stopped = await withBackgroundLock(context, place, lockLimitMs(settings), async () => {
    const record = await findRunningDaemon(context, place)
    if (record === undefined) return undefined
    if (!flags.json) context.stderr.write(`Stopping process ${record.pid}; answers on their way are finished first.\n`)
    return { record, ...(await stopDaemon(context, settings, record)) }
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

/** One that runs in a terminal is ended there. */
async function otherDaemonText(context: CommandContext, { config }: LoadedSettings): Promise<string> {
  const url = daemonUrl(config.server)
  const health = await askHealth(url, context.fetch)
  return health === undefined ? '' : ` One at ${url} was started in a terminal or by a service; end it there.`
}
