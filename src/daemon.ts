import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { AddressInfo } from 'node:net'
import { fetchAccountInUse } from './account-in-use.ts'
import { buildApp } from './app.ts'
import type { CopilotToken } from './auth/copilot-token.ts'
import { createMemoryRecordStore } from './auth/memory-record-store.ts'
import { createRecordStore } from './auth/record-store.ts'
import type { Config } from './config/schema.ts'
import { connectCopilot } from './copilot-connection.ts'
import type { CopilotConnection } from './copilot-connection.ts'
import { Fault } from './errors.ts'
import type { Logger } from './log.ts'
import { createModelRefresh } from './models/refresh.ts'
import { createModelRegistry } from './models/registry.ts'
import { copilotSeeds, seedClientId } from './models/seeds.ts'

export interface DaemonOptions {
  readonly config: Config
  readonly authDir: string
  readonly version: string
  readonly log: Logger
  /** Answer from the simulated Copilot; the stored login is left alone. */
  readonly demo: boolean
  /** `COPILOT_GITHUB_TOKEN`. */
  readonly githubToken: string | undefined
  /** Called when requests begin to be made as somebody else; undefined: nobody is logged in (any more). */
  readonly onAccount?: (account: string | undefined) => void
  /** For HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Daemon {
  /** Where it listens, e.g. `http://127.0.0.1:4141`. */
  readonly url: string
  readonly models: () => readonly { readonly id: string }[]
  /** Takes a changed configuration; host and port stay as they are. */
  readonly reconfigure: (config: Config) => void
  /** Stops accepting, lets streams finish for at most `graceMs`, then ends them with an error event. */
  readonly close: (graceMs: number) => Promise<void>
}

/**
 * Starts everything and listens.
 * @throws what `listen` threw, untouched (EADDRINUSE …)
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { version, log, env } = options
  const demo = options.demo ? await startDemo() : undefined
  const githubToken = demo?.githubToken ?? options.githubToken
  const settle = (changed: Config): Config => demo?.redirect(changed) ?? changed
  let config = settle(options.config)

  const store = demo ? createMemoryRecordStore([]) : createRecordStore({ dir: options.authDir, log })
  const deps = { store, githubToken, fetch: globalThis.fetch, now: Date.now, env, log }
  let copilot = connectCopilot(deps, config)

  const registry = createModelRegistry(config.models)
  registry.register(seedClientId, copilotSeeds)
  let clientId = seedClientId
  const refresh = createModelRefresh({
    listModels: (call) => copilot.executor.listModels(call),
    registry,
    clientId: () => clientId,
    now: Date.now,
    setTimer: (run, delayMs) => {
      const timer = setTimeout(run, delayMs).unref()
      return () => clearTimeout(timer)
    },
    log,
  })

  /**
   * The models belong to the account in use: its record's id takes the place of the seeds' or the last account's, and
   * the seeds are back when there is none. The first list is fetched as soon as there is a token, before anybody asks,
   * which also opens the first connection.
   */
  function followAccount(token: CopilotToken | undefined): void {
    const next = token?.recordId ?? seedClientId
    if (next !== clientId) {
      if (clientId === seedClientId) registry.reregister(clientId, next)
      else {
        registry.unregister(clientId)
        registry.register(next, copilotSeeds)
      }
      clientId = next
    }
    if (token !== undefined) refresh.tokenChanged()
    tellAccount(token)
  }

  /** Once for each account: a new connection announces the one in use again. */
  let toldOf: string | undefined
  function tellAccount(token: CopilotToken | undefined): void {
    const account = token === undefined ? undefined : (copilot.tokens.status().login ?? token.recordId)
    const key = account ?? ''
    if (key === toldOf) return
    toldOf = key
    options.onAccount?.(account)
  }
  let unfollow = copilot.tokens.onChange(followAccount)

  const app = buildApp({
    config: () => config,
    registry,
    refreshModels: refresh,
    executorOf(provider) {
      if (provider === 'copilot') return copilot.executor
      throw new Fault({ kind: 'internal' })
    },
    tokenStatus: () => copilot.tokens.status(),
    account: (signal) => fetchAccountInUse(deps, config, signal),
    version,
    demo: options.demo,
    log,
    now: Date.now,
    randomId: randomUUID,
  })

  const retiring = new Set<Promise<void>>()
  let closing: Promise<void> | undefined

  /** Requests that are under way end on the connection they began on, also those that still wait for their turn. */
  function retire(old: CopilotConnection): void {
    const done = app
      .drained()
      .then(old.close)
      .catch((error: unknown) => log.warn({ err: error }, 'an old connection pool did not close'))
      .finally(() => retiring.delete(done))
    retiring.add(done)
  }

  async function closeAll(graceMs: number): Promise<void> {
    await app.close(graceMs)
    await closeUpstream()
  }

  async function closeUpstream(): Promise<void> {
    unfollow()
    refresh.stop()
    await Promise.all([...retiring, copilot.close()])
    await demo?.close()
  }

  try {
    await app.listen(config.server)
  } catch (error) {
    await closeUpstream()
    throw error
  }

  return {
    url: urlOf(config.server.host, app.address()),
    models: registry.list,

    reconfigure(changed) {
      const next = settle(changed)
      registry.setNaming(next.models)
      const reconnect =
        !isDeepStrictEqual(next.copilot, config.copilot) || !isDeepStrictEqual(next.copilotOauth, config.copilotOauth)
      config = next
      app.reconfigured()
      if (!reconnect) return
      unfollow()
      const old = copilot
      copilot = connectCopilot(deps, config)
      unfollow = copilot.tokens.onChange(followAccount)
      retire(old)
    },

    close: (graceMs) => (closing ??= closeAll(graceMs)),
  }
}

/** The simulated Copilot on a loopback port of its own, and how a configuration is pointed at it. */
async function startDemo() {
  const { startDemoServer } = await import('./demo/server.ts')
  // A pace at which a person sees the text flow.
  const server = await startDemoServer({ settings: { eventDelayMs: 15 } })
  return {
    githubToken: server.tokens.issueGithub(),
    redirect: (config: Config): Config => ({
      ...config,
      copilotOauth: { ...config.copilotOauth, githubBaseUrl: server.url, githubApiBaseUrl: server.url },
      copilot: { ...config.copilot, baseUrl: server.url },
    }),
    close: server.close,
  }
}

function urlOf(host: string, address: AddressInfo): string {
  const reachable = address.address === '0.0.0.0' ? '127.0.0.1' : address.address === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${address.port}`
}
