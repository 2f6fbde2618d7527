import type { ProviderId } from '../executors/executor.ts'
import { visibleLines } from '../terminal/visible.ts'
import { askHealth, daemonUrl } from './ask-daemon.ts'
import type { DaemonHealth } from './ask-daemon.ts'
import type { CommandContext } from './context.ts'
import { ensureLogin } from './ensure-login.ts'
import type { LoadedSettings } from './settings.ts'
import { startBackgroundDaemon } from './start-daemon.ts'

export interface RunningDaemon {
  readonly url: string
  /** Whose own models it will list, at the latest a few seconds after its start. */
  readonly providers: readonly ProviderId[]
}

/**
 * The daemon of this configuration: the one that runs, else one that is started in the background. Logs in first where
 * nobody is.
 * @throws CommandFailure `notLoggedIn`; what kept it from starting
 */
export async function ensureDaemon(
  context: CommandContext,
  settings: LoadedSettings,
  configFlag: string | undefined,
): Promise<RunningDaemon> {
  const { server } = settings.config
  // Port 0 is another one at each start; the record of the background daemon knows which.
  const health = server.port === 0 ? undefined : await askHealth(daemonUrl(server), context.fetch)
  if (health !== undefined) {
    tellOdd(context, health)
    const providers = health.demo ? everybody : await ensureLogin(context, settings, configFlag)
    return { url: daemonUrl(server), providers }
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

export const everybody: readonly ProviderId[] = ['copilot', 'codex']

function tellOdd({ version, stderr }: CommandContext, health: DaemonHealth): void {
  if (health.demo) stderr.write('Note: the running copilot-proxy answers from a simulated Copilot (--demo).\n')
  if (health.version !== version) {
    const running = `copilot-proxy ${health.version} is running and this is ${version}`
    stderr.write(visibleLines(`Note: ${running}. To bring it up to date: copilot-proxy restart\n`))
  }
}
