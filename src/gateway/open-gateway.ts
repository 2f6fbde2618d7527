import { fileActions } from '../agent/file-actions.ts'
import type { ProgramList } from '../api/gateway.ts'
import type { Config } from '../config/schema.ts'
import { createFailedKeys } from '../http/access/failed-keys.ts'
import type { Logger } from '../logging/logger.ts'
import type { Workspaces } from '../sessions/workspaces.ts'
import { modelName } from '../tools/foreign-tools.ts'
import type { Connection, ConnectionEvents } from '../websocket/connection.ts'
import { gatewayCommands } from './commands.ts'
import { isSameSecret, listenForProviders, type CommandReply, type Listener } from './listen.ts'
import type { ActiveSession } from './messages.ts'
import { closeCodes, type Surroundings } from './protocol.ts'
import { createProviderConnection, type ProviderConnection, type ProviderPush } from './provider-connection.ts'
import type { ProviderTools } from './provider-tools.ts'
import { createTokenFiles } from './token-files.ts'

export type LifecycleListener = (sessionId: string, state: 'started' | 'idle') => void

export interface GatewayDeps {
  readonly config: () => Config
  readonly workspaces: Pick<Workspaces, 'sessions' | 'onChange' | 'tools'>
  readonly providers: ProviderTools
  readonly push: (push: ProviderPush) => void
  /** Calls `listener` when a run of a session starts and when its last run has ended. Returns a function that unsubscribes. */
  readonly lifecycle: (listener: LifecycleListener) => () => void
  /** The folder for the record that commands read. If undefined, there is no record. */
  readonly dataDir: string | undefined
  /** The folder in which providers look for the token, if there is one. */
  readonly discoveryDir: string | undefined
  readonly pid: number
  readonly processStart: (pid: number) => Promise<string | undefined>
  /** Names the program that listens on a port in use, e.g. `node (process 17)`. */
  readonly portHolder: (address: { readonly host: string; readonly port: number }) => Promise<string>
  /** Adds credentials to those that no log line may contain. */
  readonly holdSecrets: (...values: readonly string[]) => void
  readonly log: Logger
  /** Monotonic. Ms. */
  readonly now: () => number
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  /** Returns this number of random bytes as hexadecimal digits. */
  readonly randomHex: (bytes: number) => string
  readonly pingMs: number
  /** The token of this run of the daemon, if it had a gateway before. Absent: makes one. */
  readonly token?: string | undefined
}

export interface Gateway {
  /** Returns undefined while the gateway cannot listen. */
  readonly url: () => string | undefined
  /** `TAP_PROVIDER_TOKEN` for programs that the daemon starts as providers. Other programs must not get it. */
  readonly token: () => string
  /** Creates a new token and closes the connections of all providers. */
  readonly rotate: () => Promise<void>
  /** Asks providers to end within `deadlineMs`, then closes their connections and removes the token. */
  readonly close: (deadlineMs: number) => Promise<void>
}

/** Deadline in `shutdown.pending` for a session that was removed. Ms. */
const removedSessionMs = 5000

/** Interval of log lines about refused tokens, because a provider with an old token retries every few seconds. Ms. */
const refusedTokenLogMs = 60_000

/** First and longest delay before the gateway tries again to listen. Each failure doubles it. Ms. */
const firstRetryMs = 2000
const longestRetryMs = 60_000

/** Wrong tokens of all providers count together, because all of them run on this machine. */
const loopback = 'loopback'

/**
 * Opens the gateway for tool programs. If it cannot listen, e.g. because its port is in use, it logs that once and retries,
 * while the daemon runs without it.
 */
export async function openGateway(deps: GatewayDeps): Promise<Gateway> {
  const { config, workspaces, providers, log, now, setTimer } = deps
  const { host, port } = config().gateway
  const files = createTokenFiles({
    ownDir: deps.dataDir,
    discoveryDir: deps.discoveryDir,
    pid: deps.pid,
    processStart: deps.processStart,
    log,
  })
  /** Each open connection with a promise that resolves when it has closed. */
  const open = new Map<ProviderConnection, PromiseWithResolvers<void>>()
  const startedAt = new Date().toISOString()
  const controlKey = deps.randomHex(32)
  let token = deps.token ?? newToken()
  deps.holdSecrets(token, controlKey)
  let tokenRefusedAt = -Infinity
  const failedKeys = createFailedKeys(now)
  let listener: Listener | undefined
  let retryMs = firstRetryMs
  let cancelRetry: (() => void) | undefined
  /** The current attempt to listen. */
  let retrying: Promise<void> | undefined
  let isClosed = false
  let problem: string | undefined

  function newToken(): string {
    return `ptk-${deps.randomHex(32)}`
  }

  function isToken(text: string): boolean {
    if (isSameSecret(text, token)) return true
    if (now() - tokenRefusedAt > refusedTokenLogMs) {
      tokenRefusedAt = now()
      log.warn('refused a tool program with a wrong token; it must read the current token again')
    }
    return false
  }

  function activeSessions(): readonly ActiveSession[] {
    return workspaces.sessions().map(({ id, name, folder }) => ({ id, label: name, cwd: folder.root }))
  }

  const ownerOf: Surroundings['ownerOf'] = (sessionId, provider) => {
    const session = workspaces.sessions().find(({ id }) => id === sessionId)
    // The agent offers these names besides the tools of the session.
    const owners = new Map(fileActions.map(({ name }) => [name, 'copilot-proxy']))
    // A new connection replaces the provider's earlier one, so the earlier one's tools do not conflict.
    const own = new Set(
      providers
        .bound()
        .find((each) => each.name === provider && each.sessionId === sessionId)
        ?.tools(),
    )
    for (const tool of session === undefined ? [] : workspaces.tools.list(session)) {
      const owner = tool.provider === undefined ? 'copilot-proxy' : `the tool program "${tool.provider}"`
      if (!own.has(tool)) owners.set(modelName(tool.name), owner)
    }
    return (tool) => owners.get(modelName(tool))
  }

  function connect(connection: Connection): ConnectionEvents {
    const world: Surroundings = { providerId: `p-${deps.randomHex(4)}`, isToken, sessions: activeSessions, ownerOf }
    const provider = createProviderConnection({
      connection,
      world,
      providers,
      push: deps.push,
      defaultTimeoutMs: () => config().workspace.toolTimeoutSeconds * 1000,
      isTrusted: (name) => config().gateway.trustedPrograms.includes(name),
      countWrongToken: () => failedKeys.count(loopback),
      log,
      now,
      setTimer,
    })
    const gone = Promise.withResolvers<void>()
    open.set(provider, gone)
    return {
      onText: provider.receive,
      onTooLarge: provider.receiveOversized,
      onClose() {
        open.delete(provider)
        provider.notify({ type: 'closed' })
        gone.resolve()
      },
    }
  }

  function listProviders(): ProgramList['providers'] {
    const names = new Map(workspaces.sessions().map(({ id, name }) => [id, name]))
    return [...open.keys()].flatMap((provider) => {
      const bound = provider.bound()
      if (bound === undefined) return []
      const { id, name, sessionId } = bound
      const session = { id: sessionId, name: names.get(sessionId) ?? sessionId }
      return [{ id, name, session, tools: bound.tools().map((tool) => tool.name), calls: provider.counts() }]
    })
  }

  async function onCommand(command: string, key: string): Promise<CommandReply | undefined> {
    const { providers: list, rotate: makeToken } = gatewayCommands
    if (command !== list && command !== makeToken) return undefined
    if (!isSameSecret(key, controlKey)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      setTimer(resolve, failedKeys.count(loopback))
      await promise
      return { status: 401, body: { error: 'wrong key: it belongs to another copilot-proxy' } }
    }
    if (command === makeToken) await rotate()
    return { status: 200, body: { providers: listProviders() } }
  }

  async function publish(): Promise<void> {
    await files.publish({
      started_at: startedAt,
      url: listener?.url ?? null,
      problem: problem ?? null,
      token,
      control_key: controlKey,
    })
  }

  async function rotate(): Promise<void> {
    token = newToken()
    deps.holdSecrets(token)
    for (const provider of open.keys())
      provider.notify({ type: 'end', code: closeCodes.policy, reason: 'the token has changed' })
    await publish()
    log.info('the token for tool programs has changed')
  }

  /** Ends providers. They have `deadlineMs` to send `goodbye`. */
  async function shutDown(ended: readonly ProviderConnection[], deadlineMs: number): Promise<void> {
    for (const provider of ended) provider.notify({ type: 'shutdown', deadlineMs })
    const deadline = Promise.withResolvers<void>()
    const cancel = setTimer(deadline.resolve, deadlineMs)
    await Promise.race([deadline.promise, Promise.all(ended.flatMap((provider) => open.get(provider)?.promise ?? []))])
    cancel()
    for (const provider of ended) {
      provider.notify({ type: 'end', code: closeCodes.goingAway, reason: 'the session has ended' })
    }
  }

  function endRemovedSessions(): void {
    const ids = new Set(workspaces.sessions().map(({ id }) => id))
    const ended = [...open.keys()].filter((provider) => {
      const bound = provider.bound()
      return bound !== undefined && !ids.has(bound.sessionId)
    })
    if (ended.length > 0) void shutDown(ended, removedSessionMs)
  }

  async function listen(): Promise<void> {
    try {
      listener = await listenForProviders({
        host,
        port,
        allowed: () => ({ hosts: config().server.allowedHosts, origins: config().server.allowedOrigins }),
        onConnection: connect,
        onCommand,
        pingMs: deps.pingMs,
      })
      problem = undefined
      log.info({ url: listener.url }, 'the gateway for tool programs is open')
    } catch (error) {
      if (problem === undefined) {
        problem = await describe(error)
        log.error(`Tool programs cannot connect. ${problem}`)
      }
      cancelRetry = setTimer(() => void (retrying = retry()), retryMs)
      retryMs = Math.min(retryMs * 2, longestRetryMs)
    }
  }

  async function describe(error: unknown): Promise<string> {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    if (code !== 'EADDRINUSE') return `The gateway cannot listen on ${host}, port ${port}: ${code}.`
    const holder = await deps.portHolder({ host, port })
    return `Port ${port} is in use by ${holder}. The gateway opens when the port is free, or set gateway.port to another one.`
  }

  /** Never rejects, because a timer calls it. */
  async function retry(): Promise<void> {
    try {
      await listen()
      if (listener !== undefined && !isClosed) await publish()
    } catch (error) {
      log.error({ err: error }, 'the gateway for tool programs cannot be opened')
    }
  }

  await listen()
  await publish()
  const endLifecycle = deps.lifecycle((sessionId, state) => {
    for (const provider of open.keys()) {
      if (provider.bound()?.sessionId === sessionId) provider.notify({ type: 'lifecycle', state })
    }
  })
  const endChanges = workspaces.onChange(endRemovedSessions)

  return {
    url: () => listener?.url,
    token: () => token,
    rotate,
    async close(deadlineMs) {
      isClosed = true
      endLifecycle()
      endChanges()
      cancelRetry?.()
      await retrying
      cancelRetry?.()
      await shutDown([...open.keys()], deadlineMs)
      await listener?.close()
      await files.withdraw()
    },
  }
}
