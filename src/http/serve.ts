import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { keyLimitsOf } from '../config/api-keys.ts'
import type { Config } from '../config/schema.ts'
import { endOf } from '../errors.ts'
import type { Fault, ProxyError } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import { endInEvent } from '../pipeline/model-answer.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { createRequestMeter } from '../pipeline/request-meter.ts'
import type { MeterDeps, RequestKind, RequestMeter } from '../pipeline/request-meter.ts'
import type { DialectCall, MeteredOptions } from '../pipeline/run-turn.ts'
import type { Dialect } from '../translate/dialect.ts'
import { dialects } from '../translate/dialects.ts'
import { stringify } from '../json/json.ts'
import { formatWarning } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import type { RequestList, RequestOrigin } from '../usage/requests.ts'
import { presentedKeys } from './access/api-keys.ts'
import { readBody, readBytes } from './body.ts'
import type { RequestBody } from './body.ts'
import { callerIdentity } from './access/caller-identity.ts'
import { initiatorIn, statementIn } from './caller-statement.ts'
import { createEventStream, createTicker } from './event-stream.ts'
import type { EventStream, EventStreamOptions } from './event-stream.ts'
import type { LastingReply, Lifetimes } from './lifetimes.ts'
import type { CreditLimit } from './access/key-limits.ts'
import type { RateLimit, RateRule } from './access/rate-limit.ts'
import { createBodyText, type BodyText } from '../usage/body-text.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for model requests, on arrival. `callModel` finishes it. */
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

/** A request that calls a model, in the form that Fastify has it. */
export interface ModelRequest extends Pick<
  FastifyRequest,
  'id' | 'caller' | 'headers' | 'method' | 'url' | 'raw' | 'meter'
> {
  readonly routeOptions: {
    readonly url?: string | undefined
    readonly config: Pick<FastifyContextConfig, 'dialect'>
  }
}

/** The head of a reply. */
export interface ReplyHead extends Pick<LastingReply, 'raw' | 'hijack' | 'left'> {
  readonly header: (name: string, value: string) => unknown
  readonly headers: (values: Readonly<Record<string, string>>) => unknown
  readonly removeHeader: (name: string) => unknown
}

/** A model request as arguments of a pipeline call. */
export interface HttpCall {
  readonly options: MeteredOptions
  /** Warnings of the account, not of the request, for the header. */
  readonly notices: readonly Warning[]
  /** Reads the body. Nothing here keeps it, because a stream can last for minutes and a body can be megabytes. */
  readonly readBody: () => Promise<RequestBody>
  /** As `readBody`, for a body that is no text. No list of requests keeps it. */
  readonly readBytes: () => Promise<Buffer>
}

/** The reply of a handler that calls a model. */
export interface ModelReply<Result> {
  /** What Fastify sends; undefined if the handler has written the reply itself. */
  readonly result: Result
  /** The failure in whose error event the reply ended. */
  readonly failure?: Fault | undefined
  /** More fields of the request's log line. */
  readonly fields?: Readonly<Record<string, unknown>>
}

/** Wraps a handler that calls a model with the meter, the rate limit and the lifetime of the request. */
export async function callModel<Result>(
  deps: ModelRouteDeps,
  kind: RequestKind,
  request: ModelRequest,
  reply: ReplyHead,
  handle: (call: HttpCall) => Promise<ModelReply<Result>>,
): Promise<Result | undefined> {
  const { key } = request.caller
  const { errorStatus } = dialects[request.routeOptions.config.dialect ?? 'chat']
  const meter = createRequestMeter(deps, { id: request.id, kind, key, origin: originOf(request), errorStatus })
  request.meter = meter
  const limits = { limitBytes: deps.config().server.bodyLimitMb * 1024 * 1024, idleMs: deps.uploadIdleMs }
  return await deps.lifetimes.whileCallerStays(request, reply, async (signal) => {
    let leave: (() => void) | undefined
    try {
      await admitCaller(deps, request, signal)
      // Counting tokens costs nothing.
      const entry = kind === 'count_tokens' ? undefined : deps.creditLimit.enter(key)
      leave = entry?.leave
      const notices = entry?.warnings ?? []
      if (notices.length > 0) reply.header('x-copilot-proxy-warnings', warningHeader(notices))
      const { result, failure, fields } = await handle({
        notices,
        options: {
          id: request.id,
          signal,
          key,
          flow: flowOf(request),
          initiator: initiatorIn(request.headers),
          statement: statementIn(request.headers),
          meter,
        },
        readBytes: () => readBytes(request.raw, { ...limits, signal }),
        async readBody() {
          const body = await readBody(request.raw, { ...limits, signal })
          deps.requests.noteHeaders(request.id, request.headers)
          deps.requests.noteBody(request.id, 'request', body.text)
          return body
        },
      })
      meter.finish(failure ?? 'answered', fields)
      return result
    } catch (error) {
      meter.finish(endOf(error, signal))
      throw error
    } finally {
      leave?.()
    }
  })
}

/** Applies the rate limit to the caller of a model. @throws Fault `rate_limited`; the signal's reason on abort */
export async function admitCaller(
  deps: Pick<ModelRouteDeps, 'config' | 'rateLimit' | 'pipeline'>,
  request: Pick<ModelRequest, 'caller' | 'raw'>,
  signal: AbortSignal,
): Promise<void> {
  const { server } = deps.config()
  const rule = rateRuleOf(server, request.caller.key?.name)
  if (rule === undefined) return
  // Parsing the address takes 6 µs.
  const caller = callerIdentity(request)
  if (server.rateLimit === 'refuse') deps.rateLimit.count(caller, rule)
  else {
    const maxWaiting = server.maxQueuedRequests - deps.pipeline.admission.queued()
    await deps.rateLimit.wait(caller, rule, { maxWaiting, signal })
  }
}

/** The limit of the key, else that of all callers. */
export function rateRuleOf(server: Config['server'], keyName: string | undefined): RateRule | undefined {
  const ofKey = keyLimitsOf(server, keyName)?.['requests-per-minute']
  if (ofKey !== undefined) return { perMinute: ofKey, setting: 'server.key-limits, requests-per-minute' }
  const perMinute = server.maxRequestsPerMinute
  return perMinute > 0 ? { perMinute, setting: 'server.max-requests-per-minute' } : undefined
}

export function originOf({ method, routeOptions, url, headers }: Omit<ModelRequest, 'meter'>): RequestOrigin {
  return { method, path: routeOptions.url ?? url.split('?', 1)[0] ?? '', userAgent: headers['user-agent'] }
}

/** The flow for admission: the accepted key's name, else the first key presented, else the user agent. */
function flowOf(request: Pick<ModelRequest, 'caller' | 'headers'>): string {
  return request.caller.key?.name ?? presentedKeys(request.headers)[0] ?? request.headers['user-agent'] ?? ''
}

/** The handler of a dialect's route: runs a model turn for the request and replies with the answer. */
export function createServe(deps: ModelRouteDeps) {
  const ticker = createTicker()
  return (dialect: Dialect) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const { heartbeat } = dialect
      const headers = () => flatHeaders(reply)
      const openStream: OpenStream = (parts) => createEventStream(reply.raw, { heartbeat, ticker, headers, ...parts })
      const body = await callModel(deps, dialect.id, request, reply, (call) =>
        serve(deps, { dialect, openStream }, call, request, reply),
      )
      return body === undefined ? undefined : reply.type('application/json; charset=utf-8').send(body)
    }
}

/** The parts of a stream that are the same for every transport. */
export type StreamParts = Pick<EventStreamOptions, 'onHead' | 'onText'>
export type OpenStream = (parts: StreamParts) => EventStream

/** How a caller speaks and listens. */
interface Transport {
  readonly dialect: Dialect
  readonly openStream: OpenStream
  /** Where replies are kept for later requests. Default: with those of the key. */
  readonly responses?: DialectCall['responses']
}

/** Runs a model turn. The result is the body; undefined: the answer was streamed. */
export async function serve(
  deps: ModelRouteDeps,
  { dialect, openStream, responses }: Transport,
  { options, notices, readBody: read }: HttpCall,
  request: Pick<ModelRequest, 'id' | 'headers'>,
  reply: ReplyHead,
): Promise<ModelReply<string | undefined>> {
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
  let failure: Fault | undefined

  const startStream = (): void => {
    stream = openStream({ onHead: meter.firstByte, onText })
  }

  try {
    const answer = await deps.pipeline.runTurn({
      ...options,
      responses,
      async request() {
        const { text, bytes } = await read()
        if (bodies) {
          const asked = createBodyText(maxLogged, redactBody)
          asked.add(text)
          logBody(deps.log, request.id, 'request', asked)
        }
        const decoded = dialect.decodeRequest(text, { bytes, headers: request.headers, settings: deps.config() })
        wantsStream = decoded.stream
        return { dialect, request: decoded }
      },
      onRouted({ route, warnings, fallback }) {
        // Set before upstream answers, so that a refusal carries them too. The model before a fallback had its own.
        reply.removeHeader('x-copilot-proxy-warnings')
        reply.header('x-copilot-proxy-route', route)
        const told = [...notices, ...warnings]
        if (told.length > 0) reply.header('x-copilot-proxy-warnings', warningHeader(told))
        if (fallback !== undefined) reply.header('x-copilot-proxy-fallback', plainAscii(fallback))
        if (wantsStream && stream === undefined) startStream()
      },
    })
    if (stream === undefined) {
      const text = stringify(await answer.body())
      onText?.(text)
      reply.headers({ ...answer.headers, ...creditsHeader(meter) })
      return { result: text, fields: { stream: false } }
    }
    failure = await answer.stream(stream)
  } catch (error) {
    // A heartbeat may have opened the caller's stream before upstream refused.
    if (stream === undefined) throw error
    const encode = (refused: ProxyError) => dialect.errorEvent(refused, request.id)
    failure = endInEvent(stream, error, { signal, encode, redact: deps.redact })
  } finally {
    stream?.stopHeartbeats()
    if (logged !== undefined && logged.size() > 0) logBody(deps.log, request.id, 'answer', logged)
  }
  reply.hijack()
  return { result: undefined, failure, fields: { stream: true } }
}

/** The most characters of a body in a log line. The log drops lines that are twice as long. */
const maxLogged = 2_000_000

function logBody(log: Logger, requestId: string, what: 'request' | 'answer', body: BodyText): void {
  const { text, isCut } = body.finish()
  log.info({ requestId, text, ...(isCut && { truncated: true }) }, what)
}

/** Characters. */
const maxWarningHeader = 2000

/** Replaces characters outside ASCII, which header values cannot carry. The log has the original warnings. */
export function warningHeader(warnings: readonly Warning[]): string {
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
