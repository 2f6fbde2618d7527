import type { Daemon, DaemonOptions } from '../../daemon.ts'
import { tokenOfEnvironment } from './accounts.ts'
import type { CommandContext } from './command.ts'
import { findCodexHome, findOwnPaths, homeOf } from './settings.ts'
import type { LoadedSettings } from './settings.ts'

/**
 * Starts a daemon in this process, with the logins and the workspaces of this user.
 * @throws the error of `listen`, unchanged
 */
export async function startHere(
  context: CommandContext,
  { authDir, workspacesDir, configFile }: LoadedSettings,
  own: Pick<DaemonOptions, 'config' | 'demo' | 'log'> & Partial<DaemonOptions>,
): Promise<Daemon> {
  const { env, version, secrets, keychain, beforeExit } = context
  const [{ startDaemon }] = await Promise.all([import('../../daemon.ts'), context.prepareFetch()])
  return startDaemon({
    authDir,
    workspacesDir,
    homeDir: () => homeOf(context),
    keychain,
    ownPaths: findOwnPaths(context, configFile),
    codexHome: findCodexHome(context),
    version,
    githubToken: tokenOfEnvironment(context),
    env,
    secrets,
    ...(beforeExit && { beforeExit }),
    ...own,
  })
}
