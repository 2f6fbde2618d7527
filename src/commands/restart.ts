import { findBackgroundPlace, findRunningDaemon, openBackgroundPlace, withBackgroundLock } from './background/place.ts'
import { toConfigFlags } from './config-flags.ts'
import type { CommandContext } from './context.ts'
import { tellStarted } from './detach.ts'
import { exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ReportFlags, ServeFlags } from './flags.ts'
import { restartService } from './service/control.ts'
import { loadSettings } from './settings.ts'
import { lockLimitMs, startUnderLock } from './start-daemon.ts'
import { stopDaemon } from './stop-daemon.ts'

/**
 * Ends the background daemon and starts it again with the options it had; starts one where there is none. Settings that
 * are not valid leave the old one running.
 */
export async function restart(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const before = await findRunningDaemon(context, findBackgroundPlace(context))
  const serveFlags: ServeFlags = { ...before?.flags, ...(flags.config !== undefined && { config: flags.config }) }
  const settings = await loadSettings(context, serveFlags.config, toConfigFlags(serveFlags))
  const { shutdownGraceSeconds } = settings.config.server
  const place = await openBackgroundPlace(context)
  const started = await withBackgroundLock(context, place, lockLimitMs(shutdownGraceSeconds), async () => {
    const running = await findRunningDaemon(context, place)
    if (running?.starter === 'service') return restartService(context, place, running)
    if (running !== undefined) {
      if (!flags.json)
        context.stderr.write(`Stopping process ${running.pid}; answers on their way are finished first.\n`)
      await stopDaemon(context, shutdownGraceSeconds, running)
    }
    return startUnderLock(context, place, settings, serveFlags)
  })
  await tellStarted(context, settings, started, flags.json)
  return exitCode.done
}
