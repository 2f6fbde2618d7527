import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { sessionList } from '../../api/sessions.ts'
import type { SessionEntry } from '../../api/sessions.ts'
import { readOnlyModeOf } from '../../config/schema.ts'
import type { Config } from '../../config/schema.ts'
import type { ReadOnlyMode } from '../../config/setting-types.ts'
import { silentLog } from '../../logging/logger.ts'
import type { LogMethod } from '../../logging/logger.ts'
import { loginAdvice } from '../shared/accounts.ts'
import { findLogins, noteLogins } from '../shared/logins.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { AgentFlags, CommandContext } from '../shared/command.ts'
import { refuseWrongKey } from '../shared/find-daemon.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { startHere } from '../shared/start-here.ts'
import { getterAt, openDaemonView, RouteRefused } from '../shared/view.ts'
import type { DaemonView, RemoteView } from '../shared/view.ts'
import { findWorkspace, innermost, openWorkspaceFolder, realPathOf } from '../shared/workspace-folder.ts'
import type { Workspace } from '../shared/workspace-folder.ts'

/** A folder that a daemon serves. */
export interface Place {
  readonly url: string
  readonly key: string
  readonly sessionId: string
  /** The folder. */
  readonly root: string
  readonly isDemo: boolean
  /** `read-only` of the workspace. */
  readonly readOnly: ReadOnlyMode
}

export interface Connection extends Place {
  readonly close: Connector['close']
}

type ConnectFlags = Pick<AgentFlags, 'config' | 'demo' | 'maxSteps'>

/** Finds the daemons of folders. */
export interface Connector {
  /**
   * The running daemon if it serves the folder, else one in this process, which serves every folder that it is asked for.
   * @param folder relative to the working folder
   * @throws CommandFailure
   */
  readonly open: (folder: string) => Promise<Place>
  /** Ends a daemon of this process; leaves others alone. */
  readonly close: () => Promise<void>
}

/** @throws CommandFailure */
export async function connect(
  context: CommandContext,
  flags: ConnectFlags & Pick<AgentFlags, 'workspace'>,
  needs: ConnectNeeds,
): Promise<Connection> {
  const { open, close } = createConnector(context, flags, needs)
  try {
    return { ...(await open(flags.workspace ?? '.')), close }
  } catch (error) {
    await close()
    throw error
  }
}

interface ConnectNeeds {
  readonly needsModel: boolean
}

export function createConnector(context: CommandContext, flags: ConnectFlags, { needsModel }: ConnectNeeds): Connector {
  let own: OwnDaemon | undefined

  async function open(folder: string): Promise<Place> {
    const settings = await loadSettings(context, flags.config)
    const path = resolve(context.workingDir(), folder)
    const found = await findWorkspace(context, settings.config, path)
    const { root } = await openWorkspaceFolder(context, settings, found)
    const workspace = { ...found, path: root }
    // What this process has begun to serve has its conversations here.
    if (own?.serves(root) === true) return await own.serve(workspace)
    const daemon = await openDaemonView(context, settings)
    // A demo must not use an account, so it does not use a daemon that has one.
    const isUsable = daemon !== undefined && (!flags.demo || daemon.health.demo)
    const running = !isUsable
      ? undefined
      : await useRunning(context, settings, daemon, { path: await realPathOf(path), needsModel })
    if (running !== undefined) return running
    if (needsModel && !flags.demo && (await findLogins(context, settings)).length === 0) {
      const message = `${loginAdvice}\nTo try it without an account: copilot-proxy agent --demo "…"`
      throw new CommandFailure(exitCode.notLoggedIn, message)
    }
    const keepsSessions = !flags.demo && daemon === undefined && 'if-free'
    own ??= await startOwn(context, settings, { workspace, keepsSessions, needsModel, flags })
    return await own.serve(workspace)
  }

  let last: Promise<unknown> = Promise.resolve()
  return {
    // One after the other, so that only one daemon is started.
    open(folder) {
      const opened = last.then(() => open(folder))
      last = opened.catch(() => {})
      return opened
    },
    close: async () => own?.close(),
  }
}

async function useRunning(
  context: CommandContext,
  settings: LoadedSettings,
  { address: { url, key }, ownerToken, health, get }: RemoteView,
  wanted: { /** A real path. */ readonly path: string; readonly needsModel: boolean },
): Promise<Place | undefined> {
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
  readonly serves: (root: string) => boolean
  /** Serves another workspace too. */
  readonly serve: (workspace: Workspace) => Promise<Place>
  readonly close: () => Promise<void>
}

interface OwnOptions {
  /** The first one. `path` is a real path. */
  readonly workspace: Workspace
  /** False: another process uses the file of sessions. `if-free`: use the file unless another process does. */
  readonly keepsSessions: false | 'if-free'
  /** False: it reads no login and asks no provider. */
  readonly needsModel: boolean
  readonly flags: ConnectFlags
}

/** A daemon in this process, on a free port. It has a key that nobody knows, so that other programs are refused. */
async function startOwn(
  context: CommandContext,
  settings: LoadedSettings,
  { workspace: first, keepsSessions, needsModel, flags }: OwnOptions,
): Promise<OwnDaemon> {
  const { config: given, usageFile } = settings
  const isDemo = flags.demo === true
  /** Why workspaces cannot be opened, by path. */
  const reasons = new Map<unknown, unknown>()
  const maxSteps = Math.max(given.agent.maxSteps, Number(flags.maxSteps ?? 0))
  let config: Config = {
    ...given,
    server: { ...given.server, host: '127.0.0.1', port: 0, apiKeys: [randomBytes(24).toString('base64url')] },
    workspaces: [first],
    agent: { ...given.agent, maxSteps },
    codex: { ...given.codex, enabled: given.codex.enabled && needsModel },
  }
  if (!needsModel) await noteLogins(context, settings)
  // Log lines would disturb the output on the terminal.
  const log = {
    ...silentLog,
    error(fields: Parameters<LogMethod>[0] | string) {
      if (typeof fields !== 'string') reasons.set(fields['path'], fields['reason'])
    },
  }
  const daemon = await startHere(context, settings, {
    config,
    demo: isDemo,
    log,
    usageFile,
    keepsSessions,
    ...(!needsModel && { withoutLogins: true, githubToken: undefined }),
  })
  // The owner's token, so that what the command does is the owner's: the next run of the command can continue it.
  const { url, ownerToken: key } = daemon
  const get = getterAt(context, { url, key })

  const serves = (root: string): boolean => config.workspaces.some(({ path }) => path === root)

  return {
    serves,
    async serve(workspace) {
      const root = workspace.path
      if (!serves(root)) {
        config = { ...config, workspaces: [...config.workspaces, workspace] }
        daemon.reconfigure(config)
        await daemon.openWorkspaces()
      }
      const { sessions } = await get('/sessions', sessionList)
      const session = sessions.find(({ path }) => path === root)
      if (session === undefined) {
        const reason = reasons.get(root)
        const sentence = typeof reason === 'string' ? reason : `${root} cannot be opened as a workspace.`
        throw new CommandFailure(exitCode.failed, sentence)
      }
      return { url, key, sessionId: session.id, root, isDemo, readOnly: readOnlyModeOf(config, workspace) }
    },
    close: () => daemon.close(0),
  }
}
