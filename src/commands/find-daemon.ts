import { askHealth, daemonUrl } from './ask-daemon.ts'
import type { DaemonHealth } from './ask-daemon.ts'
import type { DaemonRecord } from './background/daemon-record.ts'
import { findBackgroundPlace, findRunningDaemon } from './background/place.ts'
import type { CommandContext } from './context.ts'
import { isForeignListener } from './port-holder.ts'
import type { LoadedSettings } from './settings.ts'

export interface FoundDaemon {
  readonly url: string
  /** Undefined: nothing of this user's answers there. */
  readonly health: DaemonHealth | undefined
}

export interface FindOptions {
  /** For who knows the background daemon already. */
  readonly findBackground?: () => Promise<DaemonRecord | undefined>
  /** For each address that is asked. */
  readonly timeoutMs?: number
}

/**
 * The daemon that a command talks to: the one that answers where the configuration says, else the one in the
 * background, which may have been started with a port of its own.
 */
export async function findDaemon(
  context: CommandContext,
  settings: LoadedSettings,
  { findBackground = () => findRunningDaemon(context, findBackgroundPlace(context)), timeoutMs }: FindOptions = {},
): Promise<FoundDaemon> {
  const { server } = settings.config
  const url = daemonUrl(server)
  // Port 0 is another one at each start; the record of the background daemon knows which.
  const health = server.port === 0 ? undefined : await askHealth(url, context.fetch, timeoutMs)
  // What is sent there, a key among it, is for a daemon of this user alone.
  if (health !== undefined && !(await isForeignListener(server.port))) return { url, health }
  const background = await findBackground()
  if (background === undefined || background.url === url || !isMeant(background, settings)) {
    return { url, health: undefined }
  }
  return { url: background.url, health: await askHealth(background.url, context.fetch, timeoutMs) }
}

/** Who names a configuration file does not mean a daemon that runs with another one. */
function isMeant({ flags }: DaemonRecord, { isNamed, configFile }: LoadedSettings): boolean {
  return !isNamed || flags.config === configFile
}
