import type { CallSource, CallerKey } from './config/caller.ts'
import type { FastifyInstance } from 'fastify'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from './config/schema.ts'
import { Fault } from './errors.ts'
import { acceptAlso, defaultDeadlines } from './http/connections.ts'
import type { Deadlines } from './http/connections.ts'
import { createServer } from './http/server.ts'
import { receiveRequests } from './http/receive-requests.ts'
import { createFailedKeys } from './http/access/failed-keys.ts'
import type { FailedKeys } from './http/access/failed-keys.ts'
import type { OwnerAccess } from './http/access/owner-access.ts'
import { createFaultHandler } from './http/fault-handler.ts'
import { createGuard } from './http/access/guards.ts'
import { createCreditLimit } from './http/access/key-limits.ts'
import type { CreditLimit } from './http/access/key-limits.ts'
import { createKeySessions } from './http/access/key-sessions.ts'
import { createPeerCheck, opennessOf } from './http/access/peer-check.ts'
import type { Openness } from './http/access/peer-check.ts'
import { createLifetimes } from './http/lifetimes.ts'
import type { Metrics } from './usage/metrics.ts'
import { registerModelRefresh, registerModelRoutes } from './http/routes/model-routes.ts'
import type { RefreshModels } from './http/routes/model-routes.ts'
import { createRateLimit } from './http/access/rate-limit.ts'
import type { RateLimit } from './http/access/rate-limit.ts'
import { identityOf } from './http/access/caller-identity.ts'
import { rateRuleOf } from './http/serve.ts'
import type { ModelRouteDeps } from './http/serve.ts'
import { registerDialectRoutes } from './http/routes/dialect-routes.ts'
import { collectRoutes } from './http/routes/route-table.ts'
import { registerResponsesSocket, responsesPaths } from './http/responses-socket/route.ts'
import type { ResponsesSocketDeps } from './http/responses-socket/route.ts'
import { registerKeyRoutes } from './http/routes/key-routes.ts'
import { noLogins, registerLoginRoutes } from './http/routes/login-routes.ts'
import type { Logins } from './http/routes/login-routes.ts'
import { registerPolicyRoutes } from './http/routes/policy-routes.ts'
import { registerOpenApi } from './http/routes/openapi-route.ts'
import { registerOwnerRoutes } from './http/routes/owner-routes.ts'
import { registerRequestRoutes } from './http/routes/request-routes.ts'
import { registerSelfCheck } from './http/routes/self-check-route.ts'
import type { SelfCheckDeps } from './http/routes/self-check-route.ts'
import { registerSessionEvents } from './http/routes/session-events.ts'
import { registerChangeRoutes } from './http/routes/change-routes.ts'
import { registerSessionRoutes, type SessionRouteParts } from './http/routes/session-routes.ts'
import type { SessionRouteDeps } from './http/routes/session-routes.ts'
import { registerStateRoutes } from './http/routes/state-routes.ts'
import type { StateDeps } from './http/routes/state-routes.ts'
import type { CodexCli } from './models/codex-catalogue.ts'
import type { PipelineDeps } from './pipeline/pipeline-state.ts'
import type { UsageRecorder } from './usage/recorder.ts'
import type { RequestList } from './usage/requests.ts'
import { registerMcpRoute } from './mcp/server/route.ts'
import type { McpRouteDeps } from './mcp/server/route.ts'
import { registerRelayRoute, relayPattern } from './mcp/servers/relay-route.ts'
import type { RelayRouteDeps } from './mcp/servers/relay-route.ts'
import { registerServersRoutes } from './mcp/servers/route.ts'
import { registerPageFiles, sendPage } from './page/page-routes.ts'
import { registerRpcRoute, rpcPath } from './rpc/route.ts'
import type { Workspaces } from './sessions/workspaces.ts'
import { createResultBudget } from './http/result-budget.ts'
import { receiveHandshakes } from './websocket/handshakes.ts'
import type { Handshakes } from './websocket/handshakes.ts'

export interface AppDeps
  extends
    Omit<ModelRouteDeps, 'rateLimit' | 'creditLimit' | 'uploadIdleMs' | 'lifetimes'>,
    Omit<StateDeps, 'admission' | 'cacheWatch' | 'lifetimes' | 'sendPage' | 'budgets'>,
    Omit<SelfCheckDeps, 'lifetimes'>,
    SessionRouteDeps,
    Partial<Pick<RelayRouteDeps, 'mcpServers'>> {
  readonly accessOf: PipelineDeps['accessOf']
  readonly metrics: Metrics
  readonly totals: UsageRecorder
  readonly requests: RequestList
  readonly randomId: () => string
  readonly owner: OwnerAccess
  readonly refreshModels?: RefreshModels | undefined
  /** Undefined: the routes of logins answer that there is none. */
  readonly logins?: Logins | undefined
  /** What is known of the Codex CLI of this user. */
  readonly codexCli?: (() => Promise<CodexCli | undefined>) | undefined
  /** Returns undefined while no workspace is configured. */
  readonly workspaces?: (() => Workspaces | undefined) | undefined
  readonly deadlines?: Partial<Deadlines>
  /** Connections beyond this number are closed. */
  readonly maxConnections?: number | undefined
  /** Called with the name of each piece of work when it begins. */
  readonly noteWork?: (work: string) => void
}

export interface App {
  readonly fastify: FastifyInstance
  /** @throws the error of `listen`, unchanged */
  readonly listen: (server: { readonly host: string; readonly port: number }) => Promise<void>
  readonly address: () => AddressInfo
  /** Who may call, by the configuration in force. */
  readonly openness: () => Openness
  /** Shared by model requests of callers and of runs. */
  readonly creditLimit: CreditLimit
  /**
   * Counts a request that a run makes by itself as one of its key, as soon as the rate limit allows it: a run cannot repeat
   * a refused request later, as a client can. @throws Fault `rate_limited` if too many wait; the signal's reason
   */
  readonly admitTurn: (key: CallerKey | undefined, signal: AbortSignal) => Promise<void>
  /** Call after the configuration has changed. */
  readonly reconfigured: () => void
  /** Resolves when every request that runs or waits at the call has ended. */
  readonly drained: () => Promise<void>
  /**
   * Stops accepting, refuses new requests on open connections, lets running requests finish for at most `graceMs`, then
   * ends each with its dialect's error event.
   */
  readonly close: (graceMs: number) => Promise<void>
}

/**
 * Connections that may wait to be accepted; the system has a limit of its own. A thousand clients that start at once
 * exceed Node's default of 511, and the system resets those beyond it.
 */
const backlog = 4096
/** Far more than the programs of one person open, and few enough for the memory and the file handles of any machine. */
const mostConnections = 4096
/** How long connections stay open after a shutdown's error events, so that callers receive them. Ms. */
const errorEventMs = 1000
const sweepIntervalMs = 50
/** Builds the HTTP surface without listening. */
export function buildApp(deps: AppDeps): App {
  const deadlines = { ...defaultDeadlines, ...deps.deadlines }
  const { metrics, pipeline } = deps
  const { fastify, unused } = createServer({
    deadlines,
    randomId: deps.randomId,
    log: deps.log,
    maxConnections: deps.maxConnections ?? mostConnections,
    now: monotonicMs,
    onRefused: (status) => metrics.refused(status),
    refuseUrl: (...refused) => refuseUrl(...refused),
  })
  const lifetimes = createLifetimes(deps.log)
  const rateLimit = createRateLimit(monotonicMs)
  const creditLimit = createCreditLimit(deps)
  const sessions = createKeySessions()
  const failedKeys = createFailedKeys(monotonicMs)
  const peers = createPeerCheck()
  const guard = createGuard({
    settings: () => deps.config().server,
    failedKeys,
    sessions,
    owner: deps.owner,
    peers,
    setTimer,
  })
  let isClosing = false
  /** Stops accepting at the second address, if there is one. */
  let stopSecond: (() => void) | undefined

  const shared = {
    lifetimes,
    rateLimit,
    creditLimit,
    failedKeys,
    admit: admitCall,
    deadlines,
    budget: createResultBudget(),
  }
  // These two come before the routes are collected: where they do not exist, no answer suggests them.
  registerPageFiles(fastify)
  const handshakes = receiveHandshakes(
    fastify.server,
    ({ url = '' }) => acceptsHandshake(deps, url.split('?', 1)[0] ?? ''),
    (request, response) => fastify.routing(request, response),
  )
  const rpc = registerRpc(fastify, deps, { ...shared, handshakes })
  const routes = collectRoutes(fastify)
  const refuseUrl = receiveRequests(fastify, {
    guard,
    unused,
    routes,
    handleFault: createFaultHandler({ ...deps, now: monotonicMs, dateNow: deps.now }),
    noteWork: deps.noteWork,
    isClosing: () => isClosing,
  })
  const { sessionEvents, mcp, relays, responsesSocket } = registerRoutes(fastify, deps, {
    ...shared,
    handshakes,
    guard,
  })

  /** Counts a call of a tool as a model request is counted. */
  async function admitCall(
    { caller: { key }, address }: CallSource,
    signal: AbortSignal,
    how: Config['server']['rateLimit'] = deps.config().server.rateLimit,
  ): Promise<void> {
    const { server } = deps.config()
    const rule = rateRuleOf(server, key?.name)
    if (rule === undefined) return
    const identity = identityOf(key?.name, address)
    if (how === 'refuse') return rateLimit.count(identity, rule)
    const maxWaiting = server.maxQueuedRequests - pipeline.admission.queued()
    await rateLimit.wait(identity, rule, { maxWaiting, signal })
  }

  /** Ends the requests of removed keys with an error event, then closes their connections. */
  function endRevoked(): void {
    // Without configured keys everybody has access.
    if (guard.keys().length === 0) return
    const accepted = guard.accepted()
    const isRevoked = (response: ServerResponse) => sessions.isRevoked(response, accepted)
    lifetimes.end(new Fault({ kind: 'key_required', problem: 'removed' }), isRevoked)
    for (const { closeRevoked } of [rpc, mcp, responsesSocket]) {
      closeRevoked((response, { key, isOwner }) => (key === undefined && !isOwner) || isRevoked(response))
    }
    sessionEvents.endWhere((response) => sessions.isUnkeyed(response) || isRevoked(response))
    // Read the keys again: they may have changed meanwhile.
    setTimer(() => {
      if (guard.keys().length > 0) sessions.closeRevoked(guard.accepted())
    }, errorEventMs)
  }

  /** Ends the runs, sends the last events to all listeners, and ends their streams. */
  async function endSessions(graceMs: number): Promise<void> {
    const opened = await deps.companion?.()
    await opened?.sessions.stop(graceMs)
    sessionEvents.endWhere(() => true)
  }

  return {
    fastify,
    async listen({ host, port }) {
      // Systems resolve `localhost` to IPv4, IPv6 or both, in either order, so listen on both.
      await fastify.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, backlog })
      const { port: bound } = addressOf(fastify)
      if (host === 'localhost') stopSecond = await acceptAlso(fastify.server, { host: '::1', port: bound, backlog })
      await peers.start(bound)
    },
    address: () => addressOf(fastify),
    openness: () => opennessOf(deps.config().server, peers.isPossible()),
    creditLimit,
    admitTurn: (key, signal) => admitCall({ caller: { key, isOwner: false }, address: undefined }, signal, 'wait'),
    reconfigured() {
      pipeline.admission.limitsChanged()
      endRevoked()
      if (!deps.config().rpc.enabled) rpc.closeAll()
    },
    drained: lifetimes.drained,
    async close(graceMs) {
      isClosing = true
      const endRequests = setTimeout(() => lifetimes.end(new Fault({ kind: 'shutting_down' })), graceMs)
      const endConnections = setTimeout(() => fastify.server.closeAllConnections(), graceMs + errorEventMs)
      // Node's `close` closes idle connections once; this closes those that become idle later.
      const sweep = setInterval(() => fastify.server.closeIdleConnections(), sweepIntervalMs)
      stopSecond?.()
      unused.closeAll()
      const parts = [rpc, mcp, responsesSocket].map((part) => part.close(graceMs))
      // The runs may use the servers of editors until they have ended.
      const ended = endSessions(graceMs).then(() => relays.close())
      await Promise.all([fastify.close(), ...parts, ended])
      clearTimeout(endRequests)
      clearTimeout(endConnections)
      clearInterval(sweep)
      await peers.close()
    },
  }
}

/** The parts of an app that its routes share. */
interface SharedParts
  extends Pick<ModelRouteDeps, 'lifetimes' | 'creditLimit'>, Pick<McpRouteDeps, 'admit' | 'budget'> {
  readonly rateLimit: RateLimit
  readonly failedKeys: FailedKeys
  readonly deadlines: Deadlines
}

/** The workspaces that /rpc offers; undefined while it offers none. */
function rpcWorkspaces(deps: AppDeps): Workspaces | undefined {
  return deps.config().rpc.enabled ? deps.workspaces?.() : undefined
}

function acceptsHandshake(deps: AppDeps, path: string): boolean {
  if (path === rpcPath) return rpcWorkspaces(deps) !== undefined
  if (relayPattern.test(path)) return deps.workspaces?.() !== undefined
  return responsesPaths.includes(path)
}

function registerRpc(
  fastify: FastifyInstance,
  deps: AppDeps,
  { admit, budget, deadlines, handshakes }: SharedParts & { readonly handshakes: Handshakes },
) {
  const workspaces = () => rpcWorkspaces(deps)
  return registerRpcRoute(fastify, {
    config: deps.config,
    workspaces,
    handshakes,
    admit,
    noteMessage: () => deps.noteWork?.('a message over /rpc'),
    budget,
    unreadMs: deadlines.unreadMs,
    pingMs: deadlines.pingMs,
    log: deps.log,
  })
}

function registerRoutes(
  fastify: FastifyInstance,
  deps: AppDeps,
  shared: SharedParts & Pick<ResponsesSocketDeps, 'handshakes' | 'guard'>,
) {
  const { lifetimes, rateLimit, creditLimit, failedKeys, admit, deadlines, budget } = shared
  const { config, owner, pipeline } = deps
  const { uploadIdleMs } = deadlines
  const companion = async () => deps.companion?.()
  const routeDeps: ModelRouteDeps & StateDeps & SelfCheckDeps = {
    ...deps,
    sendPage,
    rateLimit,
    creditLimit,
    uploadIdleMs,
    lifetimes,
    admission: {
      active: pipeline.admission.active,
      queued: () => pipeline.admission.queued() + rateLimit.waiting(),
    },
    cacheWatch: pipeline.cacheWatch,
    budgets: creditLimit.budgets,
  }
  const sessionEvents = registerSessionEvents(fastify, { companion })
  registerStateRoutes(fastify, routeDeps)
  registerSelfCheck(fastify, routeDeps)
  registerOpenApi(fastify, deps)
  registerRequestRoutes(fastify, deps)
  registerOwnerRoutes(fastify, {
    owner,
    creditLimit,
    failedKeys,
    hasSessions: () => deps.workspaces?.() !== undefined,
    lifetimes,
    uploadIdleMs,
    setTimer,
  })
  const sessionParts: SessionRouteParts = {
    companion,
    config,
    lifetimes,
    admit: ({ caller, raw }, signal) => admit({ caller, address: raw.socket.remoteAddress }, signal),
    uploadIdleMs,
  }
  registerSessionRoutes(fastify, sessionParts)
  registerChangeRoutes(fastify, sessionParts)
  const mcpServers = deps.mcpServers ?? (() => undefined)
  const { handshakes } = shared
  const relays = registerRelayRoute(fastify, { companion, mcpServers, handshakes, pingMs: deadlines.pingMs })
  registerServersRoutes(fastify, { companion, mcpServers, serversOf: relays.serversOf })
  const mcp = registerMcpRoute(fastify, {
    config,
    workspaces: () => deps.workspaces?.(),
    admit,
    budget,
    unreadMs: deadlines.unreadMs,
    uploadIdleMs,
    version: deps.version,
    log: deps.log,
  })
  const refreshModels = deps.refreshModels ?? (async () => {})
  registerModelRefresh(fastify, { lifetimes, refreshModels })
  const ownBody = { lifetimes, uploadIdleMs }
  registerPolicyRoutes(fastify, {
    ...ownBody,
    executor: () => deps.accessOf(undefined).executorOf('copilot'),
    refreshModels,
    randomId: deps.randomId,
  })
  registerKeyRoutes(fastify, deps)
  registerLoginRoutes(fastify, { lifetimes, logins: deps.logins ?? noLogins })
  registerModelRoutes(fastify, (key) => deps.accessOf(key).registry, config, deps.codexCli)
  registerDialectRoutes(fastify, routeDeps)
  const responsesSocket = registerResponsesSocket(fastify, {
    ...routeDeps,
    handshakes,
    guard: shared.guard,
    randomId: deps.randomId,
    noteWork: deps.noteWork,
    unread: { limitMs: deadlines.unreadMs, isScarce: budget.isScarce },
    pingMs: deadlines.pingMs,
  })
  return { sessionEvents, mcp, relays, responsesSocket }
}

function addressOf({ server }: FastifyInstance): AddressInfo {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  return address
}

function setTimer(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}

function monotonicMs(): number {
  return performance.now()
}
