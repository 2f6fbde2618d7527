import type { ProviderId } from '../../executors/executor.ts'
import { visibleLines } from '../../terminal/visible.ts'
import type { CommandContext } from '../shared/command.ts'
import { ensureLogin } from '../shared/ensure-login.ts'
import { findDaemon } from '../shared/find-daemon.ts'
import type { DaemonHealth } from '../shared/find-daemon.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { findStateFiles, findRunningDaemon } from './background-daemon.ts'
import { startBackgroundDaemon } from './start-daemon.ts'

export interface RunningDaemon {
  readonly url: string
  /** Providers whose live models the daemon lists, at the latest a few seconds after its start. */
  readonly providers: readonly ProviderId[]
}

/**
 * The running daemon of this configuration, else a new one in the background. Logs in first where nobody is.
 * @throws CommandFailure `notLoggedIn`, or why the daemon did not start
 */
export async function ensureDaemon(
  context: CommandContext,
  settings: LoadedSettings,
  configFlag: string | undefined,
): Promise<RunningDaemon> {
  const { url, health } = await findDaemon(context, settings)
  if (health !== undefined) {
    await noteMismatch(context, url, health)
    const providers = health.demo ? allProviders : await ensureLogin(context, settings, configFlag)
    return { url, providers: listingProviders(providers, health) }
  }
  const providers = await ensureLogin(context, settings, configFlag)
  const { record, wasRunning } = await startBackgroundDaemon(context, settings, {
    ...(configFlag !== undefined && { config: configFlag }),
  })
  if (!wasRunning) {
    context.stderr.write(`copilot-proxy now runs in the background at ${record.url}. To stop it: copilot-proxy stop\n`)
  }
  return { url: record.url, providers }
}

export const allProviders: readonly ProviderId[] = ['copilot', 'codex']

/** A provider that the daemon cannot use never lists live models. */
function listingProviders(providers: readonly ProviderId[], health: DaemonHealth): readonly ProviderId[] {
  const usable = providers.filter((provider) => health[provider] === 'ok')
  return usable.length > 0 ? usable : providers
}

async function noteMismatch(context: CommandContext, url: string, health: DaemonHealth): Promise<void> {
  const { version, stderr } = context
  if (health.demo) stderr.write('Note: the running copilot-proxy answers from a simulated Copilot (--demo).\n')
  if (health.version !== version) {
    const running = `copilot-proxy ${health.version} is running and this is ${version}`
    const record = await findRunningDaemon(context, findStateFiles(context))
    const isBackground = record?.url === url
    const fix = isBackground ? 'copilot-proxy restart' : 'end it where it runs, and start it again'
    stderr.write(visibleLines(`Note: ${running}. To bring it up to date: ${fix}\n`))
  }
}
