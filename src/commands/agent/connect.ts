import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { sessionList } from '../../api/sessions.ts'
import type { SessionEntry } from '../../api/sessions.ts'
import { readOnlyModeOf } from '../../config/schema.ts'
import type { ReadOnlyMode } from '../../config/setting-types.ts'
import { silentLog } from '../../logging/logger.ts'
import { loginAdvice, tokenOfEnvironment } from '../shared/accounts.ts'
import { findLogins } from '../shared/logins.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { AgentFlags, CommandContext } from '../shared/command.ts'
import { refuseWrongKey } from '../shared/find-daemon.ts'
import { findCodexHome, findOwnPaths, homeOf, loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { getterAt, openDaemonView, RouteRefused } from '../shared/view.ts'
import type { DaemonView, RemoteView } from '../shared/view.ts'
import { findWorkspace, innermost, openWorkspaceFolder, realPathOf } from '../shared/workspace-folder.ts'
import type { Workspace } from '../shared/workspace-folder.ts'

/** A daemon that serves the folder. */
export interface Connection {
  readonly url: string
  readonly key: string
  readonly sessionId: string
  /** The folder. */
  readonly root: string
  readonly isDemo: boolean
  /** `read-only` of the workspace. */
  readonly readOnly: ReadOnlyMode
  /** Ends a daemon of this process; leaves others alone. */
  readonly close: () => Promise<void>
}

type ConnectFlags = Pick<AgentFlags, 'config' | 'workspace' | 'demo' | 'maxSteps'>

/**
 * The running daemon if it serves the folder, else one in this process.
 * @throws CommandFailure
 */
export async function connect(
  context: CommandContext,
  flags: ConnectFlags,
  { needsModel }: { readonly needsModel: boolean },
): Promise<Connection> {
  const settings = await loadSettings(context, flags.config)
  const path = resolve(context.workingDir(), flags.workspace ?? '.')
  const workspace = await findWorkspace(context, settings.config, path)
  const { root } = await openWorkspaceFolder(context, settings, workspace)
  const daemon = await openDaemonView(context, settings)
  // A demo must not use an account, so it does not use a daemon that has one.
  const isUsable = daemon !== undefined && (!flags.demo || daemon.health.demo)
  const running = !isUsable
    ? undefined
    : await useRunning(context, settings, daemon, { path: await realPathOf(path), needsModel })
  if (running !== undefined) return running
  if (flags.demo) {
    const own = { workspace: { ...workspace, path: root }, isDemo: true, keepsSessions: false, flags } as const
    return openOwn(context, settings, own)
  }
  if (needsModel && (await findLogins(context, settings)).length === 0) {
    const message = `${loginAdvice}\nTo try it without an account: copilot-proxy agent --demo "…"`
    throw new CommandFailure(exitCode.notLoggedIn, message)
  }
  return openOwn(context, settings, {
    workspace: { ...workspace, path: root },
    isDemo: false,
    keepsSessions: daemon === undefined && 'if-free',
    flags,
  })
}

async function useRunning(
  context: CommandContext,
  settings: LoadedSettings,
  { address: { url, key }, ownerToken, health, get }: RemoteView,
  wanted: { /** A real path. */ readonly path: string; readonly needsModel: boolean },
): Promise<Connection | undefined> {
  if (ownerToken === undefined) await refuseWrongKey(context, url, settings.config)
  if (key === undefined) return undefined
  const session = await findSession(get, wanted.path)
  if (session === undefined) return undefined
  const { demo: isDemo, copilot, codex } = health
  if (wanted.needsModel && !isDemo && copilot !== 'ok' && codex !== 'ok') {
    throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  }
  return {
    url,
    key,
    sessionId: session.id,
    root: session.path,
    isDemo,
    readOnly: session.readOnly,
    close: async () => {},
  }
}

/** Returns the session of the innermost workspace that holds the folder. */
async function findSession(get: DaemonView['get'], path: string): Promise<SessionEntry | undefined> {
  const list = await get('/sessions', sessionList).catch((error: unknown) => {
    if (error instanceof RouteRefused) return undefined
    throw error
  })
  const sessions = list?.sessions ?? []
  const root = innermost(
    sessions.map((session) => session.path),
    path,
  )
  return sessions.find((session) => session.path === root)
}

interface OwnDaemon {
  /** `path` is the real path of the folder. */
  readonly workspace: Workspace
  readonly isDemo: boolean
  /** False: another process uses the file of sessions. `if-free`: use the file unless another process does. */
  readonly keepsSessions: false | 'if-free'
  readonly flags: ConnectFlags
}

/** A daemon in this process, on a free port. It has a key that nobody knows, so that other programs are refused. */
async function openOwn(
  context: CommandContext,
  { config, configFile, authDir, usageFile, workspacesDir }: LoadedSettings,
  { workspace, isDemo, keepsSessions, flags }: OwnDaemon,
): Promise<Connection> {
  const { env, version, secrets, keychain } = context
  const { path: root } = workspace
  const [{ startDaemon }] = await Promise.all([import('../../daemon.ts'), context.prepareFetch()])
  const maxSteps = Math.max(config.agent.maxSteps, Number(flags.maxSteps ?? 0))
  const daemon = await startDaemon({
    config: {
      ...config,
      server: { ...config.server, host: '127.0.0.1', port: 0, apiKeys: [randomBytes(24).toString('base64url')] },
      workspaces: [workspace],
      agent: { ...config.agent, maxSteps },
    },
    authDir,
    ...(!isDemo && { usageFile, keychain }),
    workspacesDir,
    keepsSessions,
    homeDir: () => homeOf(context),
    ownPaths: findOwnPaths(context, configFile),
    codexHome: isDemo ? undefined : findCodexHome(context),
    version,
    // Log lines would disturb the output on the terminal.
    log: silentLog,
    demo: isDemo,
    githubToken: isDemo ? undefined : tokenOfEnvironment(context),
    env,
    secrets,
    ...(context.beforeExit && { beforeExit: context.beforeExit }),
  })
  // The owner's token, so that what the command does is the owner's: the next run of the command can continue it.
  const { url, ownerToken: key } = daemon
  const close = (): Promise<void> => daemon.close(0)
  try {
    const sessionId = (await findSession(getterAt(context, { url, key }), root))?.id
    if (sessionId === undefined) throw new CommandFailure(exitCode.failed, `${root} cannot be opened as a workspace.`)
    return { url, key, sessionId, root, isDemo, readOnly: readOnlyModeOf(config, workspace), close }
  } catch (error) {
    await close()
    throw error
  }
}
