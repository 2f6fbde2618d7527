import { restartService } from '../service/control.ts'
import { exitCode } from '../shared/command.ts'
import type { CommandContext, ExitCode } from '../shared/command.ts'
import type { ReportFlags, ServeFlags } from '../shared/flags.ts'
import { toConfigFlags, loadSettings } from '../shared/settings.ts'
import { findStateFiles, findRunningDaemon, openStateFiles, withBackgroundLock } from './background-daemon.ts'
import { reportStarted } from './detach.ts'
import { startUnderLock } from './start-daemon.ts'
import { stopDaemon } from './stop.ts'

/**
 * Stops the background daemon and starts it again with its options; starts one where none runs. With invalid settings
 * the old one keeps running.
 */
export async function restart(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const before = await findRunningDaemon(context, findStateFiles(context))
  const serveFlags: ServeFlags = { ...before?.flags, ...(flags.config !== undefined && { config: flags.config }) }
  const settings = await loadSettings(context, serveFlags.config, toConfigFlags(serveFlags))
  const { shutdownGraceSeconds } = settings.config.server
  const files = await openStateFiles(context)
  const started = await withBackgroundLock(context, files, shutdownGraceSeconds, async () => {
    const running = await findRunningDaemon(context, files)
    if (running?.starter === 'service') return restartService(context, files, running)
    if (running !== undefined) {
      if (!flags.json)
        context.stderr.write(`Stopping process ${running.pid}; answers on their way are finished first.\n`)
      await stopDaemon(context, shutdownGraceSeconds, running)
    }
    return startUnderLock(context, files, settings, serveFlags)
  })
  await reportStarted(context, settings, started, flags.json)
  return exitCode.done
}
