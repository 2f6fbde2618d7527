import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { z } from 'zod'
import { openFolder } from '../../workspace/open-folder.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { loginAdvice, silentLog, tokenOfEnvironment } from '../shared/accounts.ts'
import { findCodexHome, findLogins } from '../shared/codex-login.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { AgentFlags, CommandContext } from '../shared/command.ts'
import { findCallerKey, findDaemon, findOwnerToken, getFromDaemon, refuseWrongKey } from '../shared/find-daemon.ts'
import type { FoundDaemon } from '../shared/find-daemon.ts'
import { homeOf, loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'

/** A daemon that serves the folder. */
export interface Connection {
  readonly url: string
  readonly key: string
  readonly sessionId: string
  /** The folder. */
  readonly root: string
  readonly isDemo: boolean
  /** Undefined: a setting of the daemon decides, which this command does not know. */
  readonly isReadOnly: boolean | undefined
  /** Ends a daemon of this process; leaves others alone. */
  readonly close: () => Promise<void>
}

const sessionList = z.object({ sessions: z.array(z.object({ id: z.string(), path: z.string() })) })

const answerTimeoutMs = 5000

/**
 * The running daemon if it serves the folder, else one in this process.
 * @throws CommandFailure
 */
export async function connect(context: CommandContext, flags: AgentFlags): Promise<Connection> {
  const settings = await loadSettings(context, flags.config)
  const root = await rootOf(context, flags)
  if (flags.demo) return openOwn(context, settings, { root, isDemo: true, keepsSessions: false, flags })
  const found = await findDaemon(context, settings)
  const running = found.health === undefined ? undefined : await useRunning(context, settings, found, root)
  if (running !== undefined) return running
  if ((await findLogins(context, settings)).length === 0) {
    const message = `${loginAdvice}\nTo try it without an account: copilot-proxy agent --demo "…"`
    throw new CommandFailure(exitCode.notLoggedIn, message)
  }
  return openOwn(context, settings, {
    root,
    isDemo: false,
    keepsSessions: found.health === undefined && 'if-free',
    flags,
  })
}

async function rootOf(context: CommandContext, { workspace = '.' }: AgentFlags): Promise<string> {
  try {
    return (await openFolder(resolve(context.workingDir(), workspace))).root
  } catch (error) {
    if (error instanceof ToolError) throw new CommandFailure(exitCode.failed, error.message, { cause: error })
    throw error
  }
}

async function useRunning(
  context: CommandContext,
  settings: LoadedSettings,
  { url, health }: FoundDaemon,
  root: string,
): Promise<Connection | undefined> {
  const ownerToken = await findOwnerToken(context, settings, url)
  if (ownerToken === undefined) await refuseWrongKey(context, url, settings.config)
  const key = ownerToken ?? findCallerKey(context, settings.config)?.key
  if (key === undefined) return undefined
  const session = await findSession(context, { url, key }, root)
  if (session === undefined) return undefined
  if (health?.demo !== true && health?.copilot !== 'ok' && health?.codex !== 'ok') {
    throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  }
  const isDemo = health.demo
  return { url, key, sessionId: session, root, isDemo, isReadOnly: undefined, close: async () => {} }
}

async function findSession(
  context: CommandContext,
  address: { readonly url: string; readonly key: string },
  root: string,
): Promise<string | undefined> {
  const { ok, body } = await getFromDaemon(context, address, '/sessions', answerTimeoutMs)
  const list = ok ? sessionList.safeParse(body).data : undefined
  return list?.sessions.find(({ path }) => path === root)?.id
}

interface OwnDaemon {
  readonly root: string
  readonly isDemo: boolean
  /** False: another process uses the file of sessions. `if-free`: use the file unless another process does. */
  readonly keepsSessions: false | 'if-free'
  readonly flags: AgentFlags
}

/** A daemon in this process, on a free port and with a key that no other program knows. */
async function openOwn(
  context: CommandContext,
  { config, authDir, usageFile, clientIdsFile, workspacesDir }: LoadedSettings,
  { root, isDemo, keepsSessions, flags }: OwnDaemon,
): Promise<Connection> {
  const { env, version, secrets, keychain } = context
  const [{ startDaemon }] = await Promise.all([import('../../daemon.ts'), context.prepareFetch()])
  const key = randomBytes(24).toString('base64url')
  const maxSteps = Math.max(config.agent.maxSteps, Number(flags.maxSteps ?? 0))
  const daemon = await startDaemon({
    config: {
      ...config,
      server: { ...config.server, host: '127.0.0.1', port: 0, apiKeys: [key] },
      workspaces: [{ path: root }],
      agent: { ...config.agent, maxSteps },
    },
    authDir,
    ...(!isDemo && { usageFile, clientIdsFile, keychain }),
    workspacesDir,
    keepsSessions,
    homeDir: () => homeOf(context),
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
    const sessionId = await findSession(context, { url, key }, root)
    if (sessionId === undefined) throw new CommandFailure(exitCode.failed, `${root} cannot be opened as a workspace.`)
    return { url, key, sessionId, root, isDemo, isReadOnly: config.workspace.readOnly, close }
  } catch (error) {
    await close()
    throw error
  }
}
