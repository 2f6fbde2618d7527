import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { sessionList } from '../../api/sessions.ts'
import type { SessionEntry } from '../../api/sessions.ts'
import { readOnlyModeOf } from '../../config/schema.ts'
import type { ReadOnlyMode } from '../../config/setting-types.ts'
import { loginAdvice, silentLog, tokenOfEnvironment } from '../shared/accounts.ts'
import { findLogins } from '../shared/logins.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { AgentFlags, CommandContext } from '../shared/command.ts'
import { findCallerKey, findDaemon, findOwnerToken, getFromDaemon, refuseWrongKey } from '../shared/find-daemon.ts'
import type { FoundDaemon } from '../shared/find-daemon.ts'
import { findCodexHome, findOwnPaths, homeOf, loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
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

const answerTimeoutMs = 5000

/**
 * The running daemon if it serves the folder, else one in this process.
 * @throws CommandFailure
 */
export async function connect(context: CommandContext, flags: AgentFlags): Promise<Connection> {
  const settings = await loadSettings(context, flags.config)
  const path = resolve(context.workingDir(), flags.workspace ?? '.')
  const workspace = await findWorkspace(context, settings.config, path)
  const { root } = await openWorkspaceFolder(context, settings, workspace)
  if (flags.demo)
    return openOwn(context, settings, {
      workspace: { ...workspace, path: root },
      isDemo: true,
      keepsSessions: false,
      flags,
    })
  const found = await findDaemon(context, settings)
  const running =
    found.health === undefined ? undefined : await useRunning(context, settings, found, await realPathOf(path))
  if (running !== undefined) return running
  if ((await findLogins(context, settings)).length === 0) {
    const message = `${loginAdvice}\nTo try it without an account: copilot-proxy agent --demo "…"`
    throw new CommandFailure(exitCode.notLoggedIn, message)
  }
  return openOwn(context, settings, {
    workspace: { ...workspace, path: root },
    isDemo: false,
    keepsSessions: found.health === undefined && 'if-free',
    flags,
  })
}

async function useRunning(
  context: CommandContext,
  settings: LoadedSettings,
  { url, health }: FoundDaemon,
  /** A real path. */
  path: string,
): Promise<Connection | undefined> {
  const ownerToken = await findOwnerToken(context, settings, url)
  if (ownerToken === undefined) await refuseWrongKey(context, url, settings.config)
  const key = ownerToken ?? findCallerKey(context, settings.config)?.key
  if (key === undefined) return undefined
  const session = await findSession(context, { url, key }, path)
  if (session === undefined) return undefined
  if (health?.demo !== true && health?.copilot !== 'ok' && health?.codex !== 'ok') {
    throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  }
  const isDemo = health.demo
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
async function findSession(
  context: CommandContext,
  address: { readonly url: string; readonly key: string },
  path: string,
): Promise<SessionEntry | undefined> {
  const { ok, body } = await getFromDaemon(context, address, '/sessions', answerTimeoutMs)
  const list = ok ? sessionList.safeParse(body).data : undefined
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
  readonly flags: AgentFlags
}

/** A daemon in this process, on a free port and with a key that no other program knows. */
async function openOwn(
  context: CommandContext,
  { config, configFile, authDir, usageFile, workspacesDir }: LoadedSettings,
  { workspace, isDemo, keepsSessions, flags }: OwnDaemon,
): Promise<Connection> {
  const { env, version, secrets, keychain } = context
  const { path: root } = workspace
  const [{ startDaemon }] = await Promise.all([import('../../daemon.ts'), context.prepareFetch()])
  const key = randomBytes(24).toString('base64url')
  const maxSteps = Math.max(config.agent.maxSteps, Number(flags.maxSteps ?? 0))
  const daemon = await startDaemon({
    config: {
      ...config,
      server: { ...config.server, host: '127.0.0.1', port: 0, apiKeys: [key] },
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
  const { url } = daemon
  const close = (): Promise<void> => daemon.close(0)
  try {
    const sessionId = (await findSession(context, { url, key }, root))?.id
    if (sessionId === undefined) throw new CommandFailure(exitCode.failed, `${root} cannot be opened as a workspace.`)
    return { url, key, sessionId, root, isDemo, readOnly: readOnlyModeOf(config, workspace), close }
  } catch (error) {
    await close()
    throw error
  }
}
