import type { FastifyReply, FastifyRequest } from 'fastify'
import { waitFor } from '../auth/shared-fetch.ts'
import { keyLimitsOf } from '../config/api-keys.ts'
import type { Config } from '../config/schema.ts'
import { Fault, isFromProvider, toFault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import { settleTurn } from '../pipeline/model-answer.ts'
import type { ModelAnswer } from '../pipeline/model-answer.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { ChunkVerdict } from '../pipeline/read-upstream.ts'
import { createRequestMeter } from '../pipeline/request-meter.ts'
import type { MeterDeps, RequestKind, RequestMeter } from '../pipeline/request-meter.ts'
import type { CallOptions } from '../pipeline/run-turn.ts'
import type { CallerDialect } from '../translate/dialect.ts'
import { stringify } from '../json/json.ts'
import type { ReplyReader } from '../translate/translated-call.ts'
import { formatWarning } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import type { RequestList, RequestOrigin } from '../usage/requests.ts'
import { presentedKeys } from './access/api-keys.ts'
import { readBody } from './body.ts'
import type { RequestBody } from './body.ts'
import { callerIdentity } from './access/caller-identity.ts'
import { initiatorIn, statementIn } from './caller-statement.ts'
import { createEventStream, createTicker } from './event-stream.ts'
import type { EventStream, Ticker } from './event-stream.ts'
import type { Lifetimes } from './lifetimes.ts'
import type { CreditLimit } from './access/key-limits.ts'
import type { RateLimit, RateRule } from './access/rate-limit.ts'
import { createBodyText, type BodyText } from '../usage/body-text.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for model requests, on arrival. */
    meter: RequestMeter | undefined
  }
}

export interface ModelRouteDeps extends MeterDeps {
  readonly requests: Pick<RequestList, 'note' | 'noteBody' | 'noteHeaders'>
  readonly log: Logger
  readonly lifetimes: Lifetimes
  readonly config: () => Config
  readonly pipeline: Pipeline
  readonly rateLimit: RateLimit
  readonly creditLimit: CreditLimit
  /** The longest time between two pieces of a request body. Ms. */
  readonly uploadIdleMs: number
  /** Removes known credentials from error messages. */
  readonly redact: (text: string) => string
  /** Removes credentials from a whole body that is logged. Default: `redact`. */
  readonly redactBody?: ((text: string) => string) | undefined
}

/** A model request as arguments of a pipeline call. */
export interface HttpCall {
  readonly options: CallOptions & { readonly meter: RequestMeter }
  /** Reads the body. Nothing here keeps it, because a stream can last for minutes and a body can be megabytes. */
  readonly readBody: () => Promise<RequestBody>
}

/** Wraps a handler that calls a model with the meter, the rate limit and the lifetime of the request. */
export async function callModel<Result>(
  deps: ModelRouteDeps,
  kind: RequestKind,
  request: FastifyRequest,
  reply: FastifyReply,
  handle: (call: HttpCall) => Promise<Result>,
): Promise<Result | undefined> {
  const { key } = request.caller
  const meter = createRequestMeter(deps, kind, key, originOf(request))
  // The fault handler counts refusals on it, because it knows their status.
  request.meter = meter
  const { server } = deps.config()
  const rule = rateRuleOf(server, key?.name)
  // Parsing the address takes 6 µs.
  const caller = rule === undefined ? '' : callerIdentity(request)
  if (rule !== undefined && server.rateLimit === 'refuse') deps.rateLimit.count(caller, rule)
  return await deps.lifetimes.whileCallerStays(request, reply, async (signal) => {
    let leave: (() => void) | undefined
    try {
      if (rule !== undefined && server.rateLimit === 'wait') {
        const maxWaiting = server.maxQueuedRequests - deps.pipeline.admission.queued()
        await deps.rateLimit.wait(caller, rule, { maxWaiting, signal })
      }
      // Counting tokens costs nothing.
      if (kind !== 'count_tokens') leave = deps.creditLimit.enter(key)
      return await handle({
        options: {
          id: request.id,
          signal,
          key,
          flow: flowOf(request),
          initiator: initiatorIn(request.headers),
          statement: statementIn(request.headers),
          meter,
        },
        async readBody() {
          const limitBytes = server.bodyLimitMb * 1024 * 1024
          const body = await readBody(request.raw, { limitBytes, idleMs: deps.uploadIdleMs, signal })
          deps.requests.noteHeaders(request.id, request.headers)
          deps.requests.noteBody(request.id, 'request', body.text)
          return body
        },
      })
    } finally {
      leave?.()
    }
  })
}

/** The limit of the key, else that of all callers. */
export function rateRuleOf(server: Config['server'], keyName: string | undefined): RateRule | undefined {
  const ofKey = keyLimitsOf(server, keyName)?.['requests-per-minute']
  if (ofKey !== undefined) return { perMinute: ofKey, setting: 'server.key-limits, requests-per-minute' }
  const perMinute = server.maxRequestsPerMinute
  return perMinute > 0 ? { perMinute, setting: 'server.max-requests-per-minute' } : undefined
}

export function originOf({ method, routeOptions, url, headers }: FastifyRequest): RequestOrigin {
  return { method, path: routeOptions.url ?? url.split('?', 1)[0] ?? '', userAgent: headers['user-agent'] }
}

/** The flow for admission: the accepted key's name, else the first key presented, else the user agent. */
function flowOf(request: FastifyRequest): string {
  return request.caller.key?.name ?? presentedKeys(request.headers)[0] ?? request.headers['user-agent'] ?? ''
}

/** The handler of a dialect's route: runs a model turn for the request and replies with the answer. */
export function createServe(deps: ModelRouteDeps) {
  const ticker = createTicker()
  return (dialect: CallerDialect) =>
    (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
      callModel(deps, dialect.id, request, reply, (call) => serve(deps, dialect, ticker, call, request, reply))
}

async function serve(
  deps: ModelRouteDeps,
  dialect: CallerDialect,
  ticker: Ticker,
  { options, readBody: read }: HttpCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { signal, meter } = options
  const { bodies } = deps.config().log
  const redactBody = deps.redactBody ?? deps.redact
  const logged = bodies ? createBodyText(maxLogged, redactBody) : undefined
  const noteAnswer = (text: string): void => {
    logged?.add(text)
    deps.requests.noteBody(request.id, 'answer', text)
  }
  const onText = bodies ? noteAnswer : undefined
  let stream: EventStream | undefined
  let wantsStream = false

  const startStream = (): void => {
    const { heartbeat } = dialect
    const headers = () => flatHeaders(reply)
    stream = createEventStream(reply.raw, { heartbeat, ticker, headers, onHead: meter.firstByte, onText })
  }

  try {
    const answer = await deps.pipeline.runTurn({
      ...options,
      async request() {
        const { text, bytes } = await read()
        if (bodies) {
          const asked = createBodyText(maxLogged, redactBody)
          asked.add(text)
          logBody(deps.log, request.id, 'request', asked)
        }
        const decoded = dialect.decodeRequest(text, bytes, request.headers)
        wantsStream = decoded.stream
        return { dialect, request: decoded }
      },
      onRouted({ route, warnings, fallback }) {
        // Set before upstream answers, so that a refusal carries them too. The model before a fallback had its own.
        reply.removeHeader('x-copilot-proxy-warnings')
        reply.header('x-copilot-proxy-route', route)
        if (warnings.length > 0) reply.header('x-copilot-proxy-warnings', warningHeader(warnings))
        if (fallback !== undefined) reply.header('x-copilot-proxy-fallback', plainAscii(fallback))
        if (wantsStream && stream === undefined) startStream()
      },
    })
    if (stream !== undefined) {
      const failure = await streamReply(stream, answer, dialect, { requestId: request.id, signal })
      reply.hijack()
      answer.settle({ stream: true, ...endedIn(dialect, failure) }, failure)
      return undefined
    }
    // The complete body is a fold over the events that a streaming caller would receive.
    const fold = answer.reader.createFold(answer.seed)
    const body = await answer.read(
      fold,
      () => {},
      () => 'go',
    )
    const text = stringify(body)
    onText?.(text)
    answer.settle({ stream: false })
    reply.headers({ ...answer.upstream.headers, ...creditsHeader(meter) })
    return reply.type('application/json; charset=utf-8').send(text)
  } catch (error) {
    if (stream === undefined || !endsInEvent(stream, signal)) throw error
    // A heartbeat opened the caller's stream before upstream refused.
    const failure = toFault(error)
    reply.hijack()
    const text = dialect.errorEvent(failure.error, request.id)
    stream.end(isFromProvider(failure.error) ? deps.redact(text) : text)
    const fields = { stream: true, ...endedIn(dialect, failure) }
    settleTurn(deps, { requestId: request.id, key: request.caller.key, meter }, fields, failure)
    return undefined
  } finally {
    stream?.stopHeartbeats()
    if (logged !== undefined && logged.size() > 0) logBody(deps.log, request.id, 'answer', logged)
  }
}

/** The most characters of a body in a log line. The log drops lines that are twice as long. */
const maxLogged = 2_000_000

function logBody(log: Logger, requestId: string, what: 'request' | 'answer', body: BodyText): void {
  const { text, isCut } = body.finish()
  log.info({ requestId, text, ...(isCut && { truncated: true }) }, what)
}

/** A failure after the head of the answer, which was a 200. */
function endedIn({ errorStatus }: CallerDialect, failure: Fault | undefined) {
  return failure === undefined ? {} : { status: errorStatus(failure.error), httpStatus: 200 }
}

/** Characters. */
const maxWarningHeader = 2000

/** Replaces characters outside ASCII, which header values cannot carry. The log has the original warnings. */
function warningHeader(warnings: readonly Warning[]): string {
  return plainAscii(warnings.map(formatWarning).join(', ')).slice(0, maxWarningHeader)
}

/** The cost of the reply and its web searches; none if unknown. Call when the answer is complete. */
export function creditsHeader(meter: Pick<RequestMeter, 'totalCredits'>): Readonly<Record<string, string>> {
  const total = meter.totalCredits()
  if (total === undefined) return {}
  // `toFixed` avoids exponents such as 1e-7.
  const amount = (total.nanoAiu / 1e9).toFixed(9).replace(/\.?0+$/, '')
  return { 'x-copilot-proxy-credits': total.estimated ? `${amount};estimated` : amount }
}

function plainAscii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?')
}

type Answer = Pick<ModelAnswer<ReplyReader>, 'read' | 'reader' | 'seed' | 'upstream'>

/**
 * Answers with an event stream. Returns the failure if the stream ended in an error event.
 * @param signal aborted when the caller leaves, or with a Fault as its reason when the daemon ends the request
 * @throws Fault before the first byte; the signal's reason if the caller left
 */
export async function streamReply(
  stream: EventStream,
  { read, reader, seed, upstream }: Answer,
  dialect: Pick<CallerDialect, 'errorEvent'>,
  { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
): Promise<Fault | undefined> {
  const reply = reader.createStream(seed)
  stream.upstreamAnswered(upstream.headers)
  let text = ''
  const take = (added: string): void => {
    text += added
  }
  /** One write per chunk, however many events the chunk holds. */
  const flush = (): ChunkVerdict => {
    const isDrained = text === '' || stream.write(text)
    text = ''
    // The signal matters here: if upstream has finished, nothing else notices that the caller left.
    return isDrained ? 'go' : waitFor(stream.drained(upstream.idleMs), signal)
  }
  try {
    const end = await read(reply, take, flush)
    stream.end(text + end)
    return undefined
  } catch (error) {
    // The failing chunk may have contained events before the failure.
    if (text !== '') stream.write(text)
    if (!endsInEvent(stream, signal)) throw error
    const failure = toFault(error)
    const event = (reply.fail ?? dialect.errorEvent)(failure.error, requestId)
    stream.end(isFromProvider(failure.error) ? seed.redact(event) : event)
    return failure
  }
}

/** Whether a failure becomes an error event: the head has been sent and the caller is still connected. */
function endsInEvent(stream: EventStream, signal: AbortSignal): boolean {
  const hasLeft = signal.aborted && !(signal.reason instanceof Fault)
  return stream.isOpen() && !hasLeft
}

/** The headers that hooks set on Fastify's reply, for heads that are written to the raw response. */
export function flatHeaders(reply: FastifyReply): Record<string, string> {
  const flat: Record<string, string> = {}
  const headers = reply.getHeaders()
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) flat[name] = String(value)
  }
  return flat
}
