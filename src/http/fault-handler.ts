import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault, faultFields, headersOf, retryAfterOf } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { dialects } from '../translate/dialects.ts'
import type { Dialect } from '../translate/dialect.ts'
import { addressIdentity } from './caller-identity.ts'
import { flatHeaders } from './flat-headers.ts'
import type { Metrics } from './metrics.ts'
import { redactValues } from './redact-values.ts'
import { createRefusalLines } from './refusal-lines.ts'

export interface FaultHandlerDeps {
  readonly log: Logger
  /** Takes known credentials out of text: an upstream may reflect them in any of its words. */
  readonly redact: (text: string) => string
  readonly metrics: Pick<Metrics, 'refused'>
  /** Ms, from a clock that does not jump. */
  readonly now: () => number
}

/** The caller was not let in. */
const notLetIn: ReadonlySet<ProxyError['kind']> = new Set(['forbidden', 'key_required', 'wrong_keys'])

/** What is left of the request will not be waited for. */
const endsConnection: ReadonlySet<ProxyError['kind']> = new Set([
  'body_too_large',
  'body_stalled',
  'shutting_down',
  'wrong_keys',
])

/** How long a refused upload may go on being thrown away, so that its sender gets to read the answer. Ms. */
const uploadLingerMs = 2000

/** The dialect in which a request's errors are worded: its route's, else the one the caller gives itself away by. */
function dialectOf(request: FastifyRequest): Dialect {
  const { dialect } = request.routeOptions.config
  if (dialect !== undefined) return dialects[dialect]
  const isAnthropic = request.headers['anthropic-version'] !== undefined || request.url.startsWith('/v1/messages')
  return isAnthropic ? dialects.messages : dialects.chat
}

/** The one place where a failure before the first byte becomes a status and an envelope. */
export function createFaultHandler({ log, redact, metrics, now }: FaultHandlerDeps) {
  const lines = createRefusalLines(now)
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const fault = toFault(thrown)
    const { error } = fault
    const dialect = dialectOf(request)
    const status = dialect.errorStatus(error)
    if (request.meter === undefined) metrics.refused(status)
    else {
      request.meter.answered(headersOf(error))
      request.meter.end(status)
    }
    const isOutside = notLetIn.has(error.kind) && request.keyName === undefined
    const unsaid = isOutside ? lines.next(addressIdentity(request.raw.socket.remoteAddress)) : 0
    if (unsaid !== undefined) {
      log[severityOf(error, status)](
        {
          requestId: request.id,
          status,
          ...faultFields(fault),
          ...asked(request),
          ...warned(reply),
          ...request.meter?.facts(),
          ...(request.keyName !== undefined && { key: request.keyName }),
          ...(unsaid > 0 && { unsaid }),
        },
        status >= 500 ? 'request failed' : 'request refused',
      )
    }
    const retryAfter = retryAfterOf(error)
    if (retryAfter !== undefined) reply.header('retry-after', redact(retryAfter))
    reply.headers(redactValues(headersOf(error), redact))
    if (error.kind === 'method_not_allowed') reply.header('allow', error.allow.join(', '))
    if (error.kind === 'key_required') reply.header('www-authenticate', 'Bearer')
    if (error.kind === 'upgrade_refused') reply.headers({ upgrade: 'HTTP/1.1', connection: 'upgrade' })
    if (isInVain(error)) reply.header('x-should-retry', 'false')
    const isLast = endsConnection.has(error.kind) || !reply.raw.shouldKeepAlive
    if (isLast) reply.header('connection', 'close')
    const body = redact(JSON.stringify(dialect.errorBody(error, request.id)))
    reply.code(status).header('content-type', 'application/json; charset=utf-8')
    if (isLast && !request.raw.complete) sendAndLinger(request, reply, body)
    else void reply.send(body)
  }
}

/** `POST /v1/messages`. Of a path that is no route the error itself tells. */
function asked({ method, routeOptions: { url } }: FastifyRequest): Record<string, unknown> {
  return url === undefined ? {} : { asked: `${method} ${url}` }
}

/** Of a request that got as far as a model. */
function warned(reply: FastifyReply): Record<string, unknown> {
  const { 'x-copilot-proxy-warnings': warnings } = flatHeaders(reply)
  return warnings === undefined ? {} : { warnings }
}

/** Limits that reset after hours or days (docs/copilot-wire.md, "Errors"); codes may carry a plan after a colon. */
const SPENT = /^(?:user_weekly_rate_limited|user_global_rate_limited|quota_exceeded|free_quota_exceeded)(?::|$)/

/** Both SDKs repeat every 429 and 5xx unless told not to; here it would change nothing until somebody acts. */
function isInVain(error: ProxyError): boolean {
  switch (error.kind) {
    case 'wrong_keys':
      return true
    case 'copilot_unavailable':
    case 'codex_unavailable':
      return error.retryAfterSeconds === undefined
    case 'upstream_status':
      return error.status === 402 || (error.status === 429 && SPENT.test(error.code ?? ''))
    default:
      return false
  }
}

/** A state that everybody was told of once is no news with every request. */
function severityOf({ kind }: ProxyError, status: number): 'info' | 'warn' | 'error' {
  if (status < 500 || kind === 'shutting_down') return 'info'
  return kind === 'copilot_unavailable' || kind === 'codex_unavailable' ? 'warn' : 'error'
}

/**
 * The last answer on a connection whose caller is still sending: closing at once would reset the connection and the
 * answer with it. The answer goes out whole, what still arrives is thrown away for a moment, then the connection is
 * closed. Where the connection stays open, Node reads on by itself.
 */
function sendAndLinger(request: FastifyRequest, reply: FastifyReply, body: string): void {
  const headers = { ...flatHeaders(reply), 'content-length': String(Buffer.byteLength(body)) }
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
