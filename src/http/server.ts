import Fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Socket } from 'node:net'
import type { Logger } from '../logging/logger.ts'
import {
  answerHalfClosed,
  endUnreadAnswers,
  limitConnections,
  watchExchanges,
  watchUnusedConnections,
} from './connections.ts'
import type { Deadlines, Exchange } from './connections.ts'

export interface ServerDeps {
  readonly deadlines: Deadlines
  readonly randomId: () => string
  readonly log: Logger
  /** The most connections at a time. */
  readonly maxConnections: number
  /** Ms, monotonic. */
  readonly now: () => number
  /** Called with the status of a request that was answered without reaching a route. */
  readonly onRefused: (status: number) => void
  /** Answers a request whose URL Fastify cannot decode: it runs no hook for such a request. */
  readonly refuseUrl: (error: Error, request: FastifyRequest, reply: FastifyReply) => void
}

export interface HttpServer {
  readonly fastify: FastifyInstance
  /** Connections on which no request has arrived. */
  readonly unused: ReturnType<typeof watchUnusedConnections>
}

/** Node.js accepts 16 KB of headers, the URL included. Characters. */
const longestUrl = 16 * 1024

/** Makes Fastify without routes, on a server that bounds what its connections may cost. */
export function createServer(deps: ServerDeps): HttpServer {
  const { deadlines, randomId, log, maxConnections, now, onRefused, refuseUrl } = deps
  const fastify = Fastify({
    logger: false,
    genReqId: randomId,
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
      const status = answerClientError(error, socket, exchangesOf(socket), randomId())
      if (status !== undefined) onRefused(status)
    },
    frameworkErrors: refuseUrl,
    // Each route refuses an id that it does not know, however long: Fastify would answer long ones without the route.
    routerOptions: { maxParamLength: longestUrl },
  })
  const { server } = fastify
  const exchangesOf = watchExchanges(server)
  const unused = watchUnusedConnections(server)
  limitConnections(server, maxConnections, log, now)
  answerHalfClosed(server, exchangesOf)
  endUnreadAnswers(server, 6 * deadlines.unreadMs)
  // Handlers read the body themselves (body.ts); any other content type is refused before they run.
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('application/json', (_request, _payload, done) => done(null))
  return { fastify, unused }
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
