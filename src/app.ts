import Fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import type { AddressInfo, Socket } from 'node:net'
import type { Engine } from './engine.ts'
import { Fault } from './errors.ts'
import { createAutoChoices } from './http/auto-choices.ts'
import { createAdmission } from './http/admission.ts'
import { registerChatRoutes } from './http/chat-routes.ts'
import { limitConnections } from './http/connection-limit.ts'
import { currentRequest } from './http/current-request.ts'
import { currentResponse } from './http/current-response.ts'
import { defaultDeadlines } from './http/deadlines.ts'
import type { Deadlines } from './http/deadlines.ts'
import { registerEmbeddingsRoutes } from './http/embeddings-routes.ts'
import { createFailedKeys } from './http/failed-keys.ts'
import { createFaultHandler } from './http/fault-handler.ts'
import { answerPreflight, createGuard } from './http/guards.ts'
import { answerHalfClosed } from './http/half-closed.ts'
import { createEngineMemory } from './http/engine-memory.ts'
import { createKeySessions } from './http/key-sessions.ts'
import { createCacheWatch } from './http/cache-watch.ts'
import { createLessons } from './http/lessons.ts'
import { createLifetimes } from './http/lifetimes.ts'
import { createMetrics } from './http/metrics.ts'
import type { Metrics } from './http/metrics.ts'
import { registerMessagesRoutes } from './http/messages-routes.ts'
import { registerModelRoutes } from './http/model-routes.ts'
import { registerProbeRoutes } from './http/probe-routes.ts'
import { createRateLimit } from './http/rate-limit.ts'
import { createReasoningCache } from './http/reasoning-cache.ts'
import { createResponseStore } from './http/response-store.ts'
import { hasOneAuthority } from './http/request-target.ts'
import { registerResponsesRoutes } from './http/responses-routes.ts'
import { acceptAlso } from './http/second-address.ts'
import { collectRoutes, unknownRoute } from './http/routes.ts'
import type { ServeDeps } from './http/serve-deps.ts'
import { registerStateRoutes } from './http/state-routes.ts'
import type { StateDeps } from './http/state-routes.ts'
import { watchUnusedConnections } from './http/unused-connections.ts'
import type { ModelRegistry } from './models/registry.ts'
import { createUsageRecorder } from './totals/recorder.ts'
import type { UsageRecorder } from './totals/recorder.ts'

export interface AppDeps
  extends
    Omit<
      ServeDeps,
      | 'admission'
      | 'rateLimit'
      | 'uploadIdleMs'
      | 'lifetimes'
      | 'lessons'
      | 'cacheWatch'
      | 'responses'
      | 'reasoning'
      | 'autoChoices'
      | 'salt'
      | 'metrics'
      | 'totals'
    >,
    Omit<StateDeps, 'admission' | 'cacheWatch' | 'metrics' | 'totals'> {
  /** Its own by default. */
  readonly metrics?: Metrics
  /** Kept in memory alone by default. */
  readonly totals?: UsageRecorder
  readonly registry: ModelRegistry
  readonly randomId: () => string
  readonly deadlines?: Partial<Deadlines>
  /** Told how to use memory; where absent, it does as it likes. */
  readonly engine?: Engine | undefined
}

export interface App {
  readonly fastify: FastifyInstance
  /** @throws what `listen` threw, untouched */
  readonly listen: (server: { readonly host: string; readonly port: number }) => Promise<void>
  readonly address: () => AddressInfo
  /** The configuration has changed. */
  readonly reconfigured: () => void
  /** Resolves when every request that runs or waits now has ended. */
  readonly drained: () => Promise<void>
  /**
   * Stops accepting, refuses what still arrives on open connections, lets requests finish for at most `graceMs`, then
   * ends each with its dialect's error event.
   */
  readonly close: (graceMs: number) => Promise<void>
}

/**
 * Connections that may wait to be accepted; the system has a limit of its own. A thousand clients that start in the same
 * moment are more than Node's 511, and those that find no place are reset.
 */
const backlog = 4096
/** For the error events that a shutdown writes to leave. Ms. */
const lastWordsMs = 1000
const sweepIntervalMs = 50

/** The HTTP surface, wired to what it needs. It does not listen. */
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
    // While closing, requests on kept-alive connections get our own envelope instead of Fastify's.
    return503OnClosing: false,
    // A missing Host is the guard's to refuse: Node would answer without a body.
    http: {
      headersTimeout: deadlines.headersMs,
      connectionsCheckingInterval: deadlines.checkEveryMs,
      requireHostHeader: false,
    },
    // Bodies are checked by the dialects; Fastify's schema compilers would cost 30 ms at start and never be used.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    clientErrorHandler: (error, socket) => {
      const status = answerClientError(error, socket, deps.randomId())
      if (status !== undefined) metrics.refused(status)
    },
    frameworkErrors: refuseUrl,
  })
  const admission = createAdmission(() => {
    const { maxConcurrentRequests, maxQueuedRequests } = deps.config().server
    return { maxConcurrent: maxConcurrentRequests, maxQueued: maxQueuedRequests }
  })
  const memory = createEngineMemory({ engine: deps.engine, setTimer })
  const lifetimes = createLifetimes(memory)
  const { metrics = createMetrics() } = deps
  const { totals = createUsageRecorder({ file: undefined, now: deps.now, setTimer, log: deps.log }) } = deps
  const serveDeps: ServeDeps & StateDeps = {
    ...deps,
    metrics,
    totals,
    admission,
    rateLimit: createRateLimit(monotonicMs),
    uploadIdleMs: deadlines.uploadIdleMs,
    lifetimes,
    lessons: createLessons(),
    cacheWatch: createCacheWatch(deps.now),
    responses: createResponseStore(deps.now),
    reasoning: createReasoningCache(deps.now),
    autoChoices: createAutoChoices({ ...deps, executor: () => deps.executorOf('copilot') }),
    salt: randomBytes(16).toString('hex'),
  }
  const sessions = createKeySessions()
  const guard = createGuard({
    settings: () => deps.config().server,
    failedKeys: createFailedKeys(monotonicMs),
    sessions,
    setTimer,
  })
  const handleFault = createFaultHandler({ log: deps.log, redact: deps.redact, metrics, now: monotonicMs })
  const routes = collectRoutes(fastify)
  const unused = watchUnusedConnections(fastify.server)
  limitConnections(fastify.server, () => deps.config().server.maxConnections, deps.log, monotonicMs)
  answerHalfClosed(fastify.server)
  let going = false
  /** Stops accepting at the second address, where there is one. */
  let stopAlso: (() => void) | undefined

  function receive(request: FastifyRequest, reply: FastifyReply, next: (refusal?: Fault) => void): void {
    unused.markUsed(request.raw.socket)
    reply.header('x-request-id', request.id)
    // Anthropic's SDK reads its own name for it.
    if (request.routeOptions.config.dialect === 'messages') reply.header('request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (!hasOneAuthority(request.raw)) {
      throw new Fault({
        kind: 'invalid_request',
        path: '',
        detail: 'its target names another host than its Host header',
      })
    }
    guard.check(request, reply, (refusal) => {
      const isLate = going && request.routeOptions.config.always !== true
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
    throw unknownRoute(routes, request.method, request.url)
  })
  fastify.decorateRequest('keyName', undefined)
  fastify.decorateRequest('meter', undefined)
  fastify.addHook('onRequest', receive)

  /** Whoever came in with a key that has been removed goes, after a last word. */
  function endRevoked(): void {
    const keys = guard.keys()
    // Where no key is asked for any more, nobody is refused for having had one.
    if (keys.length === 0) return
    lifetimes.endWhere(
      (response) => sessions.isRevoked(response, keys),
      new Fault({ kind: 'key_required', removed: true }),
    )
    // Keys may change once more in that moment.
    setTimer(() => {
      if (guard.keys().length > 0) sessions.closeRevoked(guard.keys())
    }, lastWordsMs)
  }

  registerStateRoutes(fastify, serveDeps)
  registerModelRoutes(fastify, deps.registry, deps.config)
  registerProbeRoutes(fastify)
  registerChatRoutes(fastify, serveDeps)
  registerResponsesRoutes(fastify, serveDeps)
  registerMessagesRoutes(fastify, serveDeps)
  registerEmbeddingsRoutes(fastify, serveDeps)

  return {
    fastify,
    async listen({ host, port }) {
      // The start itself needs more than what comes after it.
      memory.idle()
      if (host !== 'localhost') {
        await fastify.listen({ host, port, backlog })
        return
      }
      // Some systems give the name one family, some both, in either order; whichever a client tries, it is answered.
      await fastify.listen({ host: '127.0.0.1', port, backlog })
      stopAlso = await acceptAlso(fastify.server, { host: '::1', port: addressOf(fastify).port, backlog })
    },
    address: () => addressOf(fastify),
    reconfigured() {
      admission.limitsChanged()
      endRevoked()
    },
    drained: lifetimes.drained,
    async close(graceMs) {
      going = true
      const endRequests = setTimeout(() => lifetimes.endAll(new Fault({ kind: 'shutting_down' })), graceMs)
      const endConnections = setTimeout(() => fastify.server.closeAllConnections(), graceMs + lastWordsMs)
      // Node closes idle connections once, when asked to close; those that become idle later have to be looked for.
      const sweep = setInterval(() => fastify.server.closeIdleConnections(), sweepIntervalMs)
      stopAlso?.()
      unused.closeAll()
      await fastify.close()
      clearTimeout(endRequests)
      clearTimeout(endConnections)
      clearInterval(sweep)
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

/** A clock that nobody sets. */
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
 * What Node could not parse as HTTP never becomes a request; it is answered on the bare socket, unless an answer is under
 * way there, which a second one would corrupt, or has been given already to the request that breaks off.
 * @returns the status it was answered with; undefined where it was not
 */
function answerClientError(error: Error & { code?: string }, socket: Socket, requestId: string): number | undefined {
  const response = currentResponse(socket)
  const isAnswered = response === undefined ? currentRequest(socket)?.complete === false : response.headersSent
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
