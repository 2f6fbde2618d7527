import { quietLog } from './account.ts'
import type { CommandContext } from './context.ts'
import { everybody } from './ensure-daemon.ts'
import type { RunningDaemon } from './ensure-daemon.ts'
import type { LoadedSettings } from './settings.ts'

/** A daemon within this process that answers from the simulated Copilot, on a port of its own and without a key. */
export async function openDemo(
  context: CommandContext,
  { config, authDir }: LoadedSettings,
): Promise<RunningDaemon & { readonly close: () => Promise<void> }> {
  const { env, version } = context
  const [{ startDaemon }] = await Promise.all([import('../daemon.ts'), context.prepareFetch()])
  const daemon = await startDaemon({
    config: { ...config, server: { ...config.server, host: '127.0.0.1', port: 0, apiKeys: [] } },
    authDir,
    codexHome: undefined,
    version,
    // The terminal is the client's.
    log: quietLog,
    demo: true,
    githubToken: undefined,
    env,
    secrets: context.secrets,
  })
  return { url: daemon.url, providers: everybody, close: () => daemon.close(0) }
}
