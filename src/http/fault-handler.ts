import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault, faultFields, headersOf, isFromProvider, isRetryFutile, retryAfterOf } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import { createLruMap } from '../cache/lru-map.ts'
import type { Logger } from '../logging/logger.ts'
import { dialects } from '../translate/dialects.ts'
import type { Dialect } from '../translate/dialect.ts'
import { addressIdentity } from './access/caller-identity.ts'
import type { Metrics } from '../usage/metrics.ts'
import { logRefusal, problemOf } from '../pipeline/request-meter.ts'
import { redactValues } from '../redaction/known-secrets.ts'
import type { RequestList } from '../usage/requests.ts'
import { flatHeaders, originOf } from './serve.ts'

export interface FaultHandlerDeps {
  readonly log: Logger
  /** Removes the credentials that providers know: they may echo them in messages and headers. */
  readonly redact: (text: string) => string
  readonly metrics: Pick<Metrics, 'refused'>
  readonly requests: Pick<RequestList, 'note'>
  /** Ms, monotonic. */
  readonly now: () => number
  /** Ms since epoch. */
  readonly dateNow: () => number
}

/** Refusals of callers without access; only some are logged. */
const accessRefusals: ReadonlySet<ProxyError['kind']> = new Set(['forbidden', 'key_required', 'wrong_keys'])

/** Errors after which the connection is closed, even if the caller is still sending. */
const closesConnection: ReadonlySet<ProxyError['kind']> = new Set([
  'body_too_large',
  'body_stalled',
  'shutting_down',
  'wrong_keys',
])

/** How long a refused upload is read and dropped, so that its sender can read the answer. Ms. */
const uploadLingerMs = 2000

/** Also misspelt: `/v1/message`, `/messages`, `/anthropic/v1/messages/`. Not the paths of sessions: `/message`. */
const messagesPath = /^(?!\/message(?:[/?]|$)|\/sessions\/)[^?]*\/(?:messages?|complete|count_tokens)(?:[/?]|$)/

/** The dialect of a request's error envelope: the route's, or a guess from the request. */
function dialectOf(request: FastifyRequest): Dialect {
  const { dialect } = request.routeOptions.config
  if (dialect !== undefined) return dialects[dialect]
  const isAnthropic = request.headers['anthropic-version'] !== undefined || messagesPath.test(request.url)
  return isAnthropic ? dialects.messages : dialects.chat
}

/** Turns every failure before the first byte into a status and an envelope. */
export function createFaultHandler({ log, redact, metrics, requests, now, dateNow }: FaultHandlerDeps) {
  const suppressedBefore = createRefusalLines(now)

  /** Counts, logs and lists a refusal of a request that has no meter. */
  function noteRefusal(fault: Fault, request: FastifyRequest, status: number): void {
    const { error } = fault
    const { key } = request.caller
    metrics.refused(status)
    const isLimited = accessRefusals.has(error.kind) && key === undefined
    const suppressed = isLimited ? suppressedBefore(addressIdentity(request.raw.socket.remoteAddress)) : 0
    if (suppressed === undefined) return
    const line = {
      requestId: request.id,
      status,
      ...faultFields(fault),
      ...routeField(request),
      ...(key !== undefined && { key: key.name }),
      ...(suppressed > 0 && { suppressed }),
    }
    logRefusal(log, line, error, status)
    if (!isLimited && isLookup(request, error)) return
    const problem = problemOf(fault, request.id)
    requests.note({ startedAtMs: dateNow(), origin: originOf(request), ownerId: key?.id, problem, line })
  }

  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const fault = toFault(thrown)
    const { error } = fault
    const dialect = dialectOf(request)
    const status = dialect.errorStatus(error)
    // The meter of a model request has counted and logged its end.
    if (request.meter === undefined) noteRefusal(fault, request, status)
    const retryAfter = retryAfterOf(error)
    if (retryAfter !== undefined) reply.header('retry-after', redact(retryAfter))
    reply.headers(redactValues(headersOf(error), redact))
    if (error.kind === 'method_not_allowed') reply.header('allow', error.allow.join(', '))
    if (error.kind === 'key_required') reply.header('www-authenticate', 'Bearer')
    if (error.kind === 'upgrade_refused') reply.headers({ upgrade: 'HTTP/1.1', connection: 'upgrade' })
    if (isRetryFutile(error)) reply.header('x-should-retry', 'false')
    const isLast = closesConnection.has(error.kind) || !reply.raw.shouldKeepAlive
    if (isLast) reply.header('connection', 'close')
    const text = JSON.stringify(dialect.errorBody(error, request.id, dateNow()))
    const body = isFromProvider(error) ? redact(text) : text
    reply.code(status).header('content-type', 'application/json; charset=utf-8')
    if (isLast && !request.raw.complete) sendAndLinger(request, reply, body)
    else void reply.send(body)
  }
}

/** Failed look-ups of requests and models do not appear in the last requests: `requests` and `config check` make many. */
function isLookup({ method, routeOptions: { url } }: FastifyRequest, { kind }: ProxyError): boolean {
  return url === '/requests' || url === '/requests/:id' || (method === 'GET' && kind === 'model_not_found')
}

/** E.g. `POST /v1/messages`. The error of an unknown route names the path itself. */
function routeField({ method, routeOptions: { url } }: FastifyRequest): Record<string, unknown> {
  return url === undefined ? {} : { asked: `${method} ${url}` }
}

/**
 * Sends the last answer on a connection whose caller is still sending. An immediate close would reset the connection and
 * lose the answer. So this sends the complete answer, drops incoming data for `uploadLingerMs`, then closes. On
 * connections that stay open, Node itself reads and drops the remainder.
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

/** Fastify's own refusals as a ProxyError; the dialect writes the message. */
function classify(thrown: unknown): ProxyError {
  if (!(thrown instanceof Error) || !('code' in thrown)) return { kind: 'internal' }
  const { code } = thrown
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { kind: 'unsupported_media_type', detail: 'send the body as content-type: application/json' }
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return { kind: 'malformed_body', detail: 'the length of the body differs from content-length' }
    case 'FST_ERR_BAD_URL':
      return { kind: 'invalid_request', path: '', detail: 'the URL is not valid' }
    default: {
      const status = 'statusCode' in thrown ? Number(thrown.statusCode) : 500
      const isOfCaller = typeof code === 'string' && code.startsWith('FST_') && status >= 400 && status < 500
      if (!isOfCaller) return { kind: 'internal' }
      return { kind: 'invalid_request', path: '', detail: `the request is not valid (${code})` }
    }
  }
}

/** The shortest time between two lines about one address. Ms. */
const lineIntervalMs = 1000
/** Beyond this many addresses, the least recently refused is forgotten. */
const maxSources = 1000

/**
 * Decides which refusals of a source are logged, so that a caller without access cannot fill the log. The function
 * returns how many were suppressed since the last line, or undefined if this one is suppressed too.
 * @param now ms, monotonic
 */
export function createRefusalLines(now: () => number): (source: string) => number | undefined {
  const sources = createLruMap<{ readonly loggedAtMs: number; suppressed: number }>({ maxEntries: maxSources })
  return (source) => {
    const last = sources.peek(source)
    if (last !== undefined && now() - last.loggedAtMs < lineIntervalMs) {
      last.suppressed += 1
      return undefined
    }
    sources.set(source, { loggedAtMs: now(), suppressed: 0 })
    return last?.suppressed ?? 0
  }
}
