import Fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Fault } from './errors.ts'
import { createAdmission } from './http/admission.ts'
import { registerChatRoutes } from './http/chat-routes.ts'
import { registerEmbeddingsRoutes } from './http/embeddings-routes.ts'
import { createFaultHandler } from './http/fault-handler.ts'
import { answerPreflight, createGuard } from './http/guards.ts'
import { createLessons } from './http/lessons.ts'
import { createLifetimes } from './http/lifetimes.ts'
import { registerMessagesRoutes } from './http/messages-routes.ts'
import { registerModelRoutes } from './http/model-routes.ts'
import { registerProbeRoutes } from './http/probe-routes.ts'
import { createReasoningCache } from './http/reasoning-cache.ts'
import { createResponseStore } from './http/response-store.ts'
import { registerResponsesRoutes } from './http/responses-routes.ts'
import { collectRoutes, unknownRoute } from './http/routes.ts'
import type { ServeDeps } from './http/serve.ts'
import { registerStateRoutes } from './http/state-routes.ts'
import type { StateDeps } from './http/state-routes.ts'
import { watchUnusedConnections } from './http/unused-connections.ts'
import type { ModelRegistry } from './models/registry.ts'

export interface AppDeps
  extends Omit<ServeDeps, 'admission' | 'lifetimes' | 'lessons' | 'responses' | 'reasoning'>, StateDeps {
  readonly registry: ModelRegistry
  readonly randomId: () => string
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

/** Node closes a connection whose request headers or body take longer than this. Ms. */
const headersTimeoutMs = 60_000
const requestTimeoutMs = 300_000
/** Longer than the idle time of usual client pools, so that they close first and never meet a closed connection. Ms. */
const keepAliveTimeoutMs = 75_000
/** For the error events that a shutdown writes to leave. Ms. */
const lastWordsMs = 1000
const sweepIntervalMs = 50

/** The HTTP surface, wired to what it needs. It does not listen. */
export function buildApp(deps: AppDeps): App {
  const fastify = Fastify({
    logger: false,
    genReqId: deps.randomId,
    trustProxy: false,
    exposeHeadRoutes: true,
    keepAliveTimeout: keepAliveTimeoutMs,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: 'idle',
    // While closing, requests on kept-alive connections get our own envelope instead of Fastify's.
    return503OnClosing: false,
    // A missing Host is the guard's to refuse: Node would answer without a body.
    http: { headersTimeout: headersTimeoutMs, requireHostHeader: false },
    // Bodies are checked by the dialects; Fastify's schema compilers would cost 30 ms at start and never be used.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, deps.randomId()),
    frameworkErrors: refuseUrl,
  })
  const admission = createAdmission(() => {
    const { maxConcurrentRequests, maxQueuedRequests } = deps.config().server
    return { maxConcurrent: maxConcurrentRequests, maxQueued: maxQueuedRequests }
  })
  const lifetimes = createLifetimes()
  const serveDeps: ServeDeps & StateDeps = {
    ...deps,
    admission,
    lifetimes,
    lessons: createLessons(),
    responses: createResponseStore(deps.now),
    reasoning: createReasoningCache(deps.now),
  }
  const guard = createGuard(() => deps.config().server)
  const handleFault = createFaultHandler(deps.log)
  const routes = collectRoutes(fastify)
  const unused = watchUnusedConnections(fastify.server)
  let going = false

  function receive(request: FastifyRequest, reply: FastifyReply): void {
    unused.markUsed(request.raw.socket)
    reply.header('x-request-id', request.id)
    // Anthropic's SDK reads its own name for it.
    if (request.routeOptions.config.dialect === 'messages') reply.header('request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    guard(request, reply)
    if (going && request.routeOptions.config.always !== true) throw new Fault({ kind: 'shutting_down' })
  }

  /** Fastify runs no hook for a URL it cannot decode. */
  function refuseUrl(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    try {
      receive(request, reply)
      handleFault(error, request, reply)
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
  fastify.addHook('onRequest', (request, reply, done) => {
    receive(request, reply)
    done()
  })

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
      await fastify.listen({ host, port })
    },
    address() {
      const address = fastify.server.address()
      if (address === null || typeof address === 'string') throw new Error('not listening on a port')
      return address
    },
    reconfigured: admission.limitsChanged,
    drained: lifetimes.drained,
    async close(graceMs) {
      going = true
      const endRequests = setTimeout(() => lifetimes.endAll(new Fault({ kind: 'shutting_down' })), graceMs)
      const endConnections = setTimeout(() => fastify.server.closeAllConnections(), graceMs + lastWordsMs)
      // Node closes idle connections once, when asked to close; those that become idle later have to be looked for.
      const sweep = setInterval(() => fastify.server.closeIdleConnections(), sweepIntervalMs)
      unused.closeAll()
      await fastify.close()
      clearTimeout(endRequests)
      clearTimeout(endConnections)
      clearInterval(sweep)
    },
  }
}

function noSchemas(): never {
  throw new Error('routes have no schemas')
}

const clientErrors: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive.'],
}

/**
 * What Node could not parse as HTTP never becomes a request; it is answered on the bare socket, unless an answer to an
 * earlier request is under way there, which a second one would corrupt.
 */
function answerClientError(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy()
    return
  }
  const [status, message] = clientErrors[error.code ?? ''] ?? ['400 Bad Request', 'The request is not valid HTTP.']
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', code: null, param: null } })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n` +
      `X-Request-Id: ${requestId}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/** Node's own handler of client errors looks at the same field of the socket; there is no public one. */
function isAnswering(socket: Socket): boolean {
  const response: unknown = Reflect.get(socket, '_httpMessage')
  return response instanceof ServerResponse && response.headersSent
}
