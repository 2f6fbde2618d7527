import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault, retryAfterOf, statusOf } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { dialects } from '../translate/dialects.ts'
import type { Dialect } from '../translate/dialect.ts'
import { flatHeaders } from './flat-headers.ts'

/** How long a refused upload may go on being thrown away, so that its sender gets to read the answer. Ms. */
const uploadLingerMs = 2000

/** The dialect in which a route's errors are worded. */
function dialectOf(request: FastifyRequest): Dialect {
  return dialects[request.routeOptions.config.dialect ?? 'chat']
}

/** The one place where a failure before the first byte becomes a status and an envelope. */
export function createFaultHandler(log: Logger) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const fault = toFault(thrown)
    const { error } = fault
    const status = statusOf(error)
    if (status >= 500) {
      const { cause } = fault
      log.error({ requestId: request.id, status, error, ...(cause !== undefined && { cause }) }, 'request failed')
    } else {
      log.info({ requestId: request.id, status, error }, 'request refused')
    }
    const retryAfter = retryAfterOf(error)
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
    if (error.kind === 'method_not_allowed') reply.header('allow', error.allow.join(', '))
    if (error.kind === 'key_required') reply.header('www-authenticate', 'Bearer')
    if (error.kind === 'shutting_down') reply.header('connection', 'close')
    const body = JSON.stringify(dialectOf(request).errorBody(error, request.id))
    reply.code(status).header('content-type', 'application/json; charset=utf-8')
    if (error.kind === 'body_too_large' && !request.raw.complete) sendAndLinger(request, reply, body)
    else void reply.send(body)
  }
}

/**
 * Answers while the caller is still sending: closing at once would reset the connection and the answer with it. The
 * answer goes out whole, what still arrives is thrown away for a moment, then the connection is closed.
 */
function sendAndLinger(request: FastifyRequest, reply: FastifyReply, body: string): void {
  const headers = { ...flatHeaders(reply), connection: 'close', 'content-length': String(Buffer.byteLength(body)) }
  reply.hijack()
  const { raw } = reply
  raw.writeHead(reply.statusCode, headers)
  raw.write(body)
  const finish = () => {
    clearTimeout(timer)
    raw.end()
  }
  const timer = setTimeout(finish, uploadLingerMs)
  request.raw.once('close', finish)
  request.raw.once('end', finish)
  request.raw.resume()
}

function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  return new Fault(classify(thrown), { cause: thrown })
}

/** What Fastify itself refuses. Its message is not passed on: the words are the dialect's. */
function classify(thrown: unknown): ProxyError {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { kind: 'unsupported_media_type', detail: 'send the body as content-type: application/json' }
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return { kind: 'malformed_body', detail: 'the body does not have the announced content-length' }
    case 'FST_ERR_BAD_URL':
      return { kind: 'invalid_request', path: '', detail: 'the URL is not valid' }
    default:
      return { kind: 'internal' }
  }
}
