import { fileActions } from '../agent/file-actions.ts'
import type { Config } from '../config/schema.ts'
import { createFailedKeys } from '../http/failed-keys.ts'
import type { Logger } from '../logging/logger.ts'
import type { Workspaces } from '../sessions/workspaces.ts'
import { modelName } from '../tools/foreign-tools.ts'
import type { Connection, ConnectionEvents } from '../websocket/connection.ts'
import { gatewayCommands } from './commands.ts'
import { isSameSecret, listenForProviders, type CommandReply, type Listener } from './listen.ts'
import type { ActiveSession } from './messages.ts'
import { closeCodes, type Surroundings } from './protocol.ts'
import {
  createProviderConnection,
  type CallCounts,
  type ProviderConnection,
  type ProviderPush,
} from './provider-connection.ts'
import type { ProviderTools } from './provider-tools.ts'
import { createTokenFiles } from './token-files.ts'

export type LifecycleListener = (sessionId: string, state: 'started' | 'idle') => void

export interface GatewayDeps {
  readonly config: () => Config
  readonly workspaces: Pick<Workspaces, 'sessions' | 'onChange' | 'tools'>
  readonly providers: ProviderTools
  readonly push: (push: ProviderPush) => void
  /** Calls `listener` when a run of a session starts, and when none is left. Returns a function that ends this. */
  readonly lifecycle: (listener: LifecycleListener) => () => void
  /** For the record that commands read; undefined: none is written. */
  readonly dataDir: string | undefined
  /** Where providers look for the token; undefined: nowhere. */
  readonly discoveryDir: string | undefined
  readonly pid: number
  readonly processStart: (pid: number) => Promise<string | undefined>
  /** Who listens on a port in use, e.g. `node (process 17)`. */
  readonly portHolder: (address: { readonly host: string; readonly port: number }) => Promise<string>
  /** Credentials that no log line may hold. */
  readonly holdSecrets: (...values: readonly string[]) => void
  readonly log: Logger
  /** Monotonic. Ms. */
  readonly now: () => number
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  /** Hexadecimal digits of this many random bytes. */
  readonly randomHex: (bytes: number) => string
  readonly pingMs: number
}

export interface Gateway {
  /** Undefined: it could not listen yet. */
  readonly url: () => string | undefined
  /** `TAP_PROVIDER_TOKEN` of programs that the daemon starts as providers; of no other program. */
  readonly token: () => string
  /** Makes a new token and closes the connections of all providers. */
  readonly rotate: () => Promise<void>
  /** Tells providers to end within `deadlineMs`, then ends their connections and removes the token. */
  readonly close: (deadlineMs: number) => Promise<void>
}

interface ProviderListing {
  readonly id: string
  readonly name: string
  readonly session: { readonly id: string; readonly name: string }
  readonly tools: readonly string[]
  readonly calls: CallCounts
}

/** After `shutdown.pending` for a session that was removed. Ms. */
const removedSessionMs = 5000

/** Between two log lines about refused tokens: a provider with an old one tries again every few seconds. Ms. */
const refusedTokenLogMs = 60_000

/** Before the gateway tries again to listen: doubled with each failure. Ms. */
const firstRetryMs = 2000
const longestRetryMs = 60_000

/** All providers are programs of this machine, so wrong tokens count together. */
const loopback = 'loopback'

/**
 * Opens the gateway for tool providers. If it cannot listen, because its port is in use for example, that is logged once, the
 * daemon goes on without it, and the gateway opens as soon as it can.
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
  /** Each connection, and what resolves when it is gone. */
  const open = new Map<ProviderConnection, PromiseWithResolvers<void>>()
  const startedAt = new Date().toISOString()
  const controlKey = deps.randomHex(32)
  let token = newToken()
  let tokenRefusedAt = -Infinity
  const failedKeys = createFailedKeys(now)
  let listener: Listener | undefined
  let retryMs = firstRetryMs
  let cancelRetry: (() => void) | undefined
  /** The attempt to listen that is in progress. */
  let retrying: Promise<void> | undefined
  let isClosed = false
  let problem: string | undefined

  function newToken(): string {
    const made = `ptk-${deps.randomHex(32)}`
    deps.holdSecrets(made, controlKey)
    return made
  }

  function isToken(text: string): boolean {
    if (isSameSecret(text, token)) return true
    if (now() - tokenRefusedAt > refusedTokenLogMs) {
      tokenRefusedAt = now()
      log.warn('refused a tool provider with a wrong token; it must read the current token again')
    }
    return false
  }

  function activeSessions(): readonly ActiveSession[] {
    return workspaces.sessions().map(({ id, name, folder }) => ({ id, label: name, cwd: folder.root }))
  }

  const ownerOf: Surroundings['ownerOf'] = (sessionId, provider) => {
    const session = workspaces.sessions().find(({ id }) => id === sessionId)
    // The agent has these beside the tools of the session.
    const owners = new Map(fileActions.map(({ name }) => [name, 'copilot-proxy']))
    // Its own earlier connection is replaced.
    const own = new Set(
      providers
        .bound()
        .find((each) => each.name === provider && each.sessionId === sessionId)
        ?.tools(),
    )
    for (const tool of session === undefined ? [] : workspaces.tools.list(session)) {
      const owner = tool.provider === undefined ? 'copilot-proxy' : `the provider "${tool.provider}"`
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
        provider.tell({ type: 'closed' })
        gone.resolve()
      },
    }
  }

  function listProviders(): readonly ProviderListing[] {
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
    for (const provider of open.keys())
      provider.tell({ type: 'end', code: closeCodes.policy, reason: 'the token has changed' })
    await publish()
    log.info('the token for tool providers has changed')
  }

  /** Ends providers, which have `deadlineMs` to say goodbye. */
  async function shutDown(ended: readonly ProviderConnection[], deadlineMs: number): Promise<void> {
    for (const provider of ended) provider.tell({ type: 'shutdown', deadlineMs })
    const deadline = Promise.withResolvers<void>()
    const cancel = setTimer(deadline.resolve, deadlineMs)
    await Promise.race([deadline.promise, Promise.all(ended.flatMap((provider) => open.get(provider)?.promise ?? []))])
    cancel()
    for (const provider of ended) {
      provider.tell({ type: 'end', code: closeCodes.goingAway, reason: 'the session has ended' })
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
      log.info({ url: listener.url }, 'the gateway for tool providers is open')
    } catch (error) {
      if (problem === undefined) {
        problem = await describe(error)
        log.error(`Tool providers cannot connect. ${problem}`)
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

  async function retry(): Promise<void> {
    await listen()
    if (listener !== undefined && !isClosed) await publish()
  }

  await listen()
  await publish()
  const endLifecycle = deps.lifecycle((sessionId, state) => {
    for (const provider of open.keys()) {
      if (provider.bound()?.sessionId === sessionId) provider.tell({ type: 'lifecycle', state })
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
