import { unkeyedCaller } from './config/caller.ts'
import type { CallSource, CallerKey } from './config/caller.ts'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Config } from './config/schema.ts'
import { Fault } from './errors.ts'
import {
  acceptAlso,
  answerHalfClosed,
  endUnreadAnswers,
  defaultDeadlines,
  limitConnections,
  watchExchanges,
  watchUnusedConnections,
} from './http/connections.ts'
import type { Deadlines, Exchange } from './http/connections.ts'
import { createFailedKeys } from './http/access/failed-keys.ts'
import type { OwnerAccess } from './http/access/owner-access.ts'
import { createFaultHandler } from './http/fault-handler.ts'
import { answerPreflight, createGuard } from './http/access/guards.ts'
import { countWork, createEngineMemory } from './http/engine-memory.ts'
import type { Engine } from './http/engine-memory.ts'
import { createCreditLimit } from './http/access/key-limits.ts'
import type { CreditLimit } from './http/access/key-limits.ts'
import { createKeySessions } from './http/access/key-sessions.ts'
import { createPeerCheck, opennessOf } from './http/access/peer-check.ts'
import type { Openness } from './http/access/peer-check.ts'
import { createLifetimes } from './http/lifetimes.ts'
import type { Metrics } from './usage/metrics.ts'
import { registerModelRoutes } from './http/routes/model-routes.ts'
import { createRateLimit } from './http/access/rate-limit.ts'
import { identityOf } from './http/access/caller-identity.ts'
import { rateRuleOf } from './http/serve.ts'
import type { ModelRouteDeps } from './http/serve.ts'
import { hasOneAuthority } from './http/access/origin-policy.ts'
import { registerDialectRoutes } from './http/routes/dialect-routes.ts'
import { collectRoutes, unknownRoute } from './http/routes/route-table.ts'
import { registerOwnerRoutes } from './http/routes/owner-routes.ts'
import { registerRequestRoutes } from './http/routes/request-routes.ts'
import { registerSelfCheck } from './http/routes/self-check-route.ts'
import type { SelfCheckDeps } from './http/routes/self-check-route.ts'
import { registerSessionEvents } from './http/routes/session-events.ts'
import { registerSessionRoutes } from './http/routes/session-routes.ts'
import type { SessionRouteDeps } from './http/routes/session-routes.ts'
import { registerStateRoutes } from './http/routes/state-routes.ts'
import type { StateDeps } from './http/routes/state-routes.ts'
import type { ModelRegistry } from './models/registry.ts'
import type { UsageRecorder } from './usage/recorder.ts'
import type { RequestList } from './usage/requests.ts'
import { registerMcpRoute } from './mcp/server/route.ts'
import { registerServersRoute } from './mcp/servers/route.ts'
import type { ServersRouteDeps } from './mcp/servers/route.ts'
import { registerPageFiles, sendPageFile } from './page/page-routes.ts'
import { registerRpcRoute, rpcPath } from './rpc/route.ts'
import type { Workspaces } from './sessions/workspaces.ts'
import { createResultBudget } from './http/result-budget.ts'
import { receiveHandshakes } from './websocket/handshakes.ts'

export interface AppDeps
  extends
    Omit<ModelRouteDeps, 'rateLimit' | 'creditLimit' | 'uploadIdleMs' | 'lifetimes'>,
    Omit<StateDeps, 'admission' | 'cacheWatch' | 'lifetimes' | 'sendPage'>,
    Omit<SelfCheckDeps, 'lifetimes'>,
    SessionRouteDeps,
    Partial<Pick<ServersRouteDeps, 'mcpServers'>> {
  readonly registry: ModelRegistry
  readonly metrics: Metrics
  readonly totals: UsageRecorder
  readonly requests: RequestList
  readonly randomId: () => string
  readonly owner: OwnerAccess
  /** Returns undefined while no workspace is configured. */
  readonly workspaces?: (() => Workspaces | undefined) | undefined
  readonly deadlines?: Partial<Deadlines>
  /** Called with the name of each piece of work when it begins. */
  readonly noteWork?: (work: string) => void
  /** Absent: V8 keeps its default memory rules. */
  readonly engine?: Engine | undefined
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
/** How long connections stay open after a shutdown's error events, so that callers receive them. Ms. */
const errorEventMs = 1000
const sweepIntervalMs = 50
/** Node.js accepts 16 KB of headers, the URL included. Characters. */
const longestUrl = 16 * 1024

/** Builds the HTTP surface without listening. */
export function buildApp(deps: AppDeps): App {
  const deadlines = { ...defaultDeadlines, ...deps.deadlines }
  const fastify = Fastify({
    logger: false,
    genReqId: deps.randomId,
    trustProxy: false,
    exposeHeadRoutes: true,
    keepAliveTimeout: deadlines.keepAliveMs,
    requestTimeout: deadlines.requestMs,
    forceCloseConnections: 'idle',
    // During shutdown, requests on keep-alive connections get our own envelope instead of Fastify's.
    return503OnClosing: false,
    // The guard refuses a missing Host, because Node would answer without a body.
    http: {
      headersTimeout: deadlines.headersMs,
      connectionsCheckingInterval: deadlines.checkEveryMs,
      requireHostHeader: false,
    },
    // The dialects check bodies. Fastify's schema compilers would cost 30 ms at start, unused.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    clientErrorHandler: (error, socket) => {
      const status = answerClientError(error, socket, exchangesOf(socket), deps.randomId())
      if (status !== undefined) metrics.refused(status)
    },
    frameworkErrors: refuseUrl,
    // Each route refuses an id that it does not know, however long: Fastify would answer long ones without the route.
    routerOptions: { maxParamLength: longestUrl },
  })
  const exchangesOf = watchExchanges(fastify.server)
  const memory = createEngineMemory({ engine: deps.engine, setTimer })
  const beginWork = countWork(memory)
  const budget = createResultBudget()
  const lifetimes = createLifetimes(deps.log, beginWork)
  const { metrics, pipeline } = deps
  const rateLimit = createRateLimit(monotonicMs)
  const hasPage = (): boolean => deps.workspaces?.() !== undefined
  const routeDeps: ModelRouteDeps & StateDeps & SelfCheckDeps = {
    ...deps,
    sendPage: (request, reply) => (hasPage() ? sendPageFile(request, reply, 'index.html') : undefined),
    rateLimit,
    creditLimit: createCreditLimit(deps.totals, () => deps.config().server, deps.now),
    uploadIdleMs: deadlines.uploadIdleMs,
    lifetimes,
    admission: {
      active: pipeline.admission.active,
      queued: () => pipeline.admission.queued() + rateLimit.waiting(),
    },
    cacheWatch: pipeline.cacheWatch,
  }
  const sessions = createKeySessions()
  const failedKeys = createFailedKeys(monotonicMs)
  const { owner } = deps
  const peers = createPeerCheck()
  const guard = createGuard({
    settings: () => deps.config().server,
    failedKeys,
    sessions,
    owner,
    peers,
    hasPage,
    setTimer,
  })
  const handleFault = createFaultHandler({ ...deps, now: monotonicMs, dateNow: deps.now })
  const workspaces = () => (deps.config().rpc.enabled ? deps.workspaces?.() : undefined)
  // Registered before routes are collected: where they do not exist, no answer suggests them.
  registerPageFiles(fastify, hasPage)
  const rpc = registerRpcRoute(fastify, {
    config: deps.config,
    workspaces,
    handshakes: receiveHandshakes(
      fastify.server,
      ({ url = '' }) => url.split('?', 1)[0] === rpcPath && workspaces() !== undefined,
      (request, response) => fastify.routing(request, response),
    ),
    admit: admitCall,
    beginWork() {
      deps.noteWork?.('a message over /rpc')
      return beginWork()
    },
    budget,
    unreadMs: deadlines.unreadMs,
    pingMs: deadlines.pingMs,
    log: deps.log,
  })
  const companion = async () => deps.companion?.()
  const sessionParts = {
    companion,
    config: deps.config,
    lifetimes,
    admit: ({ caller, raw }: FastifyRequest, signal: AbortSignal) =>
      admitCall({ caller, address: raw.socket.remoteAddress }, signal),
    uploadIdleMs: deadlines.uploadIdleMs,
  }
  const routes = collectRoutes(fastify)
  const sessionEvents = registerSessionEvents(fastify, { companion })
  const unused = watchUnusedConnections(fastify.server)
  limitConnections(fastify.server, () => deps.config().server.maxConnections, deps.log, monotonicMs)
  answerHalfClosed(fastify.server, exchangesOf)
  endUnreadAnswers(fastify.server, 6 * deadlines.unreadMs)
  let isClosing = false
  /** Stops accepting at the second address, if there is one. */
  let stopSecond: (() => void) | undefined

  function receive(request: FastifyRequest, reply: FastifyReply, next: (refusal?: Fault) => void): void {
    unused.markUsed(request.raw.socket)
    deps.noteWork?.(`${request.method} ${request.routeOptions.url ?? 'an unknown path'}`)
    request.caller = unkeyedCaller
    reply.header('x-request-id', request.id)
    // Anthropic's SDK reads `request-id`.
    if (request.routeOptions.config.dialect === 'messages') reply.header('request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (!hasOneAuthority(request.raw)) {
      throw new Fault({
        kind: 'invalid_request',
        path: '',
        detail: 'the request target and the Host header name different hosts',
      })
    }
    guard.check(request, reply, (refusal) => {
      const isLate = isClosing && request.routeOptions.config.always !== true
      next(refusal ?? (isLate ? new Fault({ kind: 'shutting_down' }) : undefined))
    })
  }

  /** Fastify runs no hook for a URL it cannot decode. */
  function refuseUrl(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    try {
      receive(request, reply, (refusal) => handleFault(refusal ?? error, request, reply))
    } catch (fault) {
      handleFault(fault, request, reply)
    }
  }

  // Handlers read the body themselves (http/body.ts); any other content type is refused before they run.
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('application/json', (_request, _payload, done) => done(null))
  fastify.setErrorHandler(handleFault)
  fastify.setNotFoundHandler((request, reply) => {
    if (request.method === 'OPTIONS' && reply.hasHeader('access-control-allow-origin')) {
      return answerPreflight(request, reply)
    }
    // Public routes answer before a key is checked. Until then, no answer repeats what the caller sent.
    const { key, isOwner } = request.caller
    const isChecked = guard.keys().length === 0 || key !== undefined || isOwner
    if (!isChecked) throw new Fault({ kind: 'route_not_found', method: request.method, path: '/…' })
    throw unknownRoute(routes, request.method, request.url)
  })
  fastify.decorateRequest('caller')
  fastify.decorateRequest('meter', undefined)
  fastify.addHook('onRequest', receive)

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
    for (const { closeRevoked } of [rpc, mcp]) {
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
    const opened = await companion()
    await opened?.sessions.stop(graceMs)
    sessionEvents.endWhere(() => true)
  }

  registerStateRoutes(fastify, routeDeps)
  registerSelfCheck(fastify, routeDeps)
  registerRequestRoutes(fastify, { ...deps, hasPage })
  registerOwnerRoutes(fastify, {
    owner,
    failedKeys,
    hasPage,
    lifetimes,
    uploadIdleMs: deadlines.uploadIdleMs,
    setTimer,
  })
  registerSessionRoutes(fastify, sessionParts)
  registerServersRoute(fastify, { companion, mcpServers: deps.mcpServers ?? (() => []) })
  const mcp = registerMcpRoute(fastify, {
    config: deps.config,
    workspaces: () => deps.workspaces?.(),
    admit: admitCall,
    beginWork,
    budget,
    unreadMs: deadlines.unreadMs,
    uploadIdleMs: deadlines.uploadIdleMs,
    version: deps.version,
    log: deps.log,
  })
  registerModelRoutes(fastify, deps.registry, deps.config)
  registerDialectRoutes(fastify, routeDeps)

  return {
    fastify,
    async listen({ host, port }) {
      // Returns the memory that the start needed.
      memory.idle()
      // Systems resolve `localhost` to IPv4, IPv6 or both, in either order, so listen on both.
      await fastify.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, backlog })
      const { port: bound } = addressOf(fastify)
      if (host === 'localhost') stopSecond = await acceptAlso(fastify.server, { host: '::1', port: bound, backlog })
      await peers.start(bound)
    },
    address: () => addressOf(fastify),
    openness: () => opennessOf(deps.config().server, peers.isPossible()),
    creditLimit: routeDeps.creditLimit,
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
      await Promise.all([fastify.close(), rpc.close(graceMs), mcp.close(graceMs), endSessions(graceMs)])
      clearTimeout(endRequests)
      clearTimeout(endConnections)
      clearInterval(sweep)
      await peers.close()
    },
  }
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

function noSchemas(): never {
  throw new Error('routes have no schemas')
}

const clientErrors: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
}

/**
 * Answers data that Node cannot parse as HTTP, directly on the socket. Destroys the socket instead if an answer is being
 * sent there, which a second one would corrupt, or if the interrupted request has been answered already.
 * @returns the status of the answer; undefined if there was none
 */
function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  exchanges: readonly Exchange[],
  requestId: string,
): number | undefined {
  const isAnswered = exchanges.some(
    ({ request, response }) => response.headersSent && !(request.complete && response.writableFinished),
  )
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswered) {
    socket.destroy()
    return undefined
  }
  const [status, message] = clientErrors[error.code ?? ''] ?? ['400 Bad Request', 'The request is not valid HTTP.']
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', code: null, param: null } })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n` +
      `X-Request-Id: ${requestId}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
  return Number.parseInt(status, 10)
}
