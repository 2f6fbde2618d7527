import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import { Fault, faultFields, statusOf } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import type { Executor, Initiator, ProviderId, UpstreamProfile } from '../executors/executor.ts'
import { providerOfName } from '../models/names.ts'
import type { ModelRegistry, Route } from '../models/registry.ts'
import { openExchange } from '../translate/exchange.ts'
import type { Exchange } from '../translate/exchange.ts'
import type { CallerRequest, Dialect, EncodeContext, ReplySeed } from '../translate/dialect.ts'
import { dialectOfPath, dialects } from '../translate/dialects.ts'
import { stringify } from '../translate/parts/wire-json.ts'
import { describeWarning, formatWarning } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import type { Admission } from './admission.ts'
import { presentedKeys } from './api-keys.ts'
import { resolveChain } from './chain.ts'
import { readBody } from './body.ts'
import type { RequestBody } from './body.ts'
import { flatHeaders } from './flat-headers.ts'
import type { Lessons } from './lessons.ts'
import type { ReasoningCache } from './reasoning-cache.ts'
import { createEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { endsInEvent, foldReply, streamReply, toFault } from './reply.ts'
import type { ReplyReport } from './reply.ts'
import type { ResponseStore } from './response-store.ts'
import { whileCallerStays } from './while-caller-stays.ts'
import type { CallerDeps } from './while-caller-stays.ts'

export interface ServeDeps extends CallerDeps {
  readonly config: () => Config
  readonly registry: Pick<ModelRegistry, 'route'>
  /**
   * Waits for the model lists that could hold this name and were never fetched; returns why one could not be.
   * `retry`: also for those that could not be fetched the last time.
   * @throws the signal's reason on abort
   */
  readonly completeModels: (
    name: string,
    options: { readonly retry: boolean; readonly signal: AbortSignal },
  ) => Promise<ProxyError | undefined>
  /** @throws Fault `codex_unavailable` where that provider is switched off */
  readonly executorOf: (provider: ProviderId) => Executor
  readonly admission: Admission
  readonly lessons: Lessons
  readonly responses: ResponseStore
  readonly reasoning: ReasoningCache
  /** Ms since epoch. */
  readonly now: () => number
}

/** An upload that stalls would hold its place among the running requests. Ms. */
const uploadIdleMs = 30_000

/** What a handler gets of an admitted request. */
export interface Admitted {
  /** Reads the body, which nothing here keeps: a held stream must not hold megabytes of history. */
  readonly readBody: () => Promise<RequestBody>
  readonly signal: AbortSignal
}

/**
 * Everything around a request that calls a model: a place in the queue, the body, the life of the connection. Bodies
 * are read after admission, so that waiting requests hold no memory of ours.
 */
export async function admit<Result>(
  deps: ServeDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  handle: (admitted: Admitted) => Promise<Result>,
): Promise<Result | undefined> {
  return whileCallerStays(deps, request, reply, async (signal) => {
    const leave = await deps.admission.enter(flowOf(request), signal)
    try {
      const limitBytes = deps.config().server.bodyLimitMb * 1024 * 1024
      return await handle({
        readBody: () => readBody(request.raw, { limitBytes, idleMs: uploadIdleMs, signal }),
        signal,
      })
    } finally {
      leave()
    }
  })
}

/** The one pipeline of a model request, whatever its dialect. */
export function createServe(deps: ServeDeps) {
  return (dialect: Dialect) =>
    (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
      admit(deps, request, reply, (admitted) => serve(deps, dialect, admitted, request, reply))
}

async function serve(
  deps: ServeDeps,
  dialect: Dialect,
  admitted: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { signal } = admitted
  const startedAt = deps.now()
  const onText = deps.config().log.bodies
    ? (text: string) => deps.log.info({ requestId: request.id, text }, 'answer')
    : undefined
  let stream: EventStream | undefined
  const startStream = (): void => {
    stream = createEventStream(reply.raw, { heartbeat: dialect.heartbeat, headers: () => flatHeaders(reply), onText })
  }

  function settle(fields: Readonly<Record<string, unknown>>, failure: Fault | undefined): void {
    const line = {
      requestId: request.id,
      ...fields,
      stream: stream !== undefined,
      status: 200,
      ms: deps.now() - startedAt,
    }
    if (failure === undefined) deps.log.info(line, 'request served')
    else {
      const ending = { ...line, ...faultFields(failure), endedAs: statusOf(failure.error) }
      deps.log.warn(ending, 'stream ended in an error event')
    }
  }

  try {
    const opened = await openUpstream(deps, dialect, admitted, request, reply, startStream)
    const { upstream, model, reader } = opened
    const seed: ReplySeed = {
      id: request.id,
      createdSeconds: Math.floor(startedAt / 1000),
      model: model.id,
      requestedModel: opened.requestedModel,
      traits: model,
      wantsUsage: opened.wantsUsage,
      notes: reader.notes,
    }
    const context = { dialect, reader, upstream, seed, requestId: request.id, signal }
    if (stream !== undefined) {
      const report = await streamReply(reply.raw, stream, context)
      reply.hijack()
      keep(deps, opened, report)
      settle(servedFields(opened, report), report.failure)
      return undefined
    }
    const { body, report } = await foldReply(context)
    const text = stringify(body)
    onText?.(text)
    keep(deps, opened, report)
    settle(servedFields(opened, report), undefined)
    reply.headers(upstream.headers)
    return reply.type('application/json; charset=utf-8').send(text)
  } catch (error) {
    if (stream === undefined || !endsInEvent(stream, signal)) throw error
    // Upstream took so long to refuse that the caller's stream had begun.
    const failure = toFault(error)
    reply.hijack()
    stream.end(dialect.errorEvent(failure.error, request.id))
    settle(routeAsked(reply), failure)
    return undefined
  } finally {
    stream?.stop()
  }
}

/** Of a request that upstream never answered, for the log. */
function routeAsked(reply: FastifyReply): Record<string, unknown> {
  return { route: reply.getHeader('x-copilot-proxy-route') }
}

type Opened = Awaited<ReturnType<typeof openUpstream>>

/** What later requests may refer to. */
function keep(deps: ServeDeps, opened: Opened, { record, reasoning }: ReplyReport): void {
  if (record !== undefined && opened.keptInput !== undefined) deps.responses.put(record, opened.keptInput)
  if (reasoning !== undefined) deps.reasoning.keep(reasoning)
}

/** A reply in the log. */
function servedFields({ model, route, warnings }: Opened, { usage, skipped }: ReplyReport): Record<string, unknown> {
  return {
    model: model.id,
    route,
    ...(usage && {
      tokensIn: usage.inputTokens,
      tokensOut: usage.outputTokens,
      tokensCached: usage.cachedInputTokens,
    }),
    ...(warnings.length > 0 && { warnings: warnings.map(describeWarning) }),
    ...(skipped > 0 && { skippedEvents: skipped }),
  }
}

/**
 * From the caller's body to an open upstream stream. A function of its own so that the body, its text and its parsed
 * form are gone before the answer is read.
 * @param onStream called before upstream is asked, where the caller wants an event stream
 */
async function openUpstream(
  deps: ServeDeps,
  dialect: Dialect,
  { readBody: read, signal }: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
  onStream: () => void,
) {
  const { chat, copilot, log } = deps.config()
  const body = await read()
  if (log.bodies) deps.log.info({ requestId: request.id, text: body.text }, 'request')
  const asked = dialect.decodeRequest(body.text, body.bytes, request.headers)
  const chained = resolveChain(dialect, asked, deps.responses)
  // Not under strict, where the model gets what the caller sent and nothing else.
  const call = chat.strict ? chained : (dialect.recallReasoning?.(chained, deps.reasoning.recall) ?? chained)
  const { model, path } = await routeModel(deps, call.model, dialect.upstreamPath, signal)
  const upstreamDialect = dialectOfPath(path)
  if (upstreamDialect === undefined) throw new Fault({ kind: 'internal' })
  const route = `${model.provider}/${upstreamDialect.id}`
  const executor = deps.executorOf(model.provider)
  /** What upstream has refused of this request; known to others once it has taken the rest. */
  const lessons: string[] = []
  const contextNow = (): EncodeContext => {
    const context = encodeContext(deps, model, route, executor.profile)
    return lessons.length === 0 ? context : { ...context, lessons: new Set([...context.lessons, ...lessons]) }
  }
  let exchange = openExchange(dialect, upstreamDialect, call, contextNow())
  // Before upstream is asked, so that a refusal carries them too.
  const announce = () => reply.headers({ 'x-copilot-proxy-route': route, ...warningHeader(exchange.request.warnings) })
  announce()
  if (call.stream) onStream()

  const send = () =>
    executor.stream(
      {
        path,
        body: exchange.request.body,
        headers: exchange.request.headers,
        initiator: initiatorOf(request, call, copilot.initiator),
        hasImage: call.hasImage,
        requestId: request.id,
      },
      { signal },
    )

  let notFound: unknown
  for (let attempt = 1; ; attempt += 1) {
    try {
      const upstream = await send()
      for (const lesson of lessons) deps.lessons.learn(upstreamKey(route, executor.profile), model.id, lesson)
      return {
        upstream,
        model,
        route,
        reader: exchange.reader,
        requestedModel: call.model,
        wantsUsage: call.wantsUsage,
        warnings: exchange.request.warnings,
        keptInput: call.chain?.keep === true ? call.chain.input : undefined,
      }
    } catch (error) {
      const next = attempt <= mostRecoveries ? recover(error) : undefined
      if (next === undefined) throw isRefusedAsSuch(error) ? (notFound ?? error) : error
      // Whether the model is missing or wants another form shows when the other form is refused too.
      if (isNotFound(error)) notFound ??= error
      exchange = next
      announce()
    }
  }

  /** The exchange without what upstream has just refused; undefined where the refusal is the answer. */
  function recover(error: unknown): Exchange | undefined {
    if (!(error instanceof Fault) || error.error.kind !== 'upstream_status') return undefined
    const { error: refusal } = error
    if (upstreamDialect === undefined || !isRecoverable(refusal.status, executor.profile)) return undefined
    const context = contextNow()
    // Under strict nothing is left out: upstream's own words say what it would have been.
    const recovery = context.strict ? undefined : upstreamDialect.recover(exchange.request, refusal, context)
    if (recovery === undefined) return undefined
    const { lesson } = recovery
    deps.log.info({ requestId: request.id, model: model.id, route, lesson }, 'sending again without what was refused')
    if (lesson !== undefined) lessons.push(lesson)
    if (recovery.request === undefined) return openExchange(dialect, upstreamDialect, call, contextNow())
    return { reader: exchange.reader, request: recovery.request }
  }
}

/** A body can be wrong in more than one way, and upstream names one at a time. */
const mostRecoveries = 8

function isNotFound(error: unknown): boolean {
  return error instanceof Fault && error.error.kind === 'upstream_status' && error.error.status === 404
}

/** A refusal of the request and not, say, of the account. */
function isRefusedAsSuch(error: unknown): boolean {
  return isNotFound(error) || (error instanceof Fault && statusOf(error.error) === 400)
}

/** Whether a status may be about a part of the body that can go, or about its form. */
function isRecoverable(status: number, profile: UpstreamProfile | undefined): boolean {
  // The ChatGPT backend does not find a model that it wants to be asked in another form.
  return status === 400 || status === 422 || (status === 404 && profile === 'chatgpt')
}

/** Two upstreams behind one route refuse different things. */
function upstreamKey(route: string, profile: UpstreamProfile | undefined): string {
  return profile === undefined ? route : `${route} ${profile}`
}

/** What a dialect is told about the model and the settings it encodes for. */
export function encodeContext(
  deps: Pick<ServeDeps, 'config' | 'lessons'>,
  model: Route['model'],
  route: string,
  profile?: UpstreamProfile,
): EncodeContext {
  const { chat, codex } = deps.config()
  return {
    model,
    profile,
    lite: codex.responsesLite,
    historyWindow: chat.historyWindow,
    strict: chat.strict,
    lessons: deps.lessons.of(upstreamKey(route, profile), model.id),
  }
}

/**
 * The model behind a name, reachable on the caller's own path. Until the account's list has been fetched once, an
 * unknown name waits for it.
 * @throws Fault `model_not_found`, `invalid_request`; why there is no list, where that is why the name is unknown
 */
export async function routeModel(
  deps: ServeDeps,
  name: string,
  upstreamPath: string,
  signal: AbortSignal,
): Promise<Route> {
  const setting = deps.config().copilot.upstreamDialect
  const ask = { callerPath: upstreamPath, setting, spoken: spokenFor(upstreamPath) }
  let route = deps.registry.route(name, ask)
  // A bare name that another provider has too is Copilot's, which shows once Copilot's list is there. Where that could not
  // be fetched, Codex goes on without it.
  const mayBeCopilots = route.ok && route.value.model.provider !== 'copilot' && providerOfName(name) === undefined
  if (!route.ok || mayBeCopilots) {
    const problem = await deps.completeModels(name, { retry: !route.ok, signal })
    route = deps.registry.route(name, ask)
    if (!route.ok && problem !== undefined) throw new Fault(problem)
  }
  if (!route.ok) throw new Fault(route.error)
  return route.value
}

const everyDialect = Object.values(dialects).map((dialect) => dialect.upstreamPath)

/** A dialect's request can be translated to any other; what has no dialect (embeddings) has its own path only. */
function spokenFor(upstreamPath: string): readonly string[] {
  return everyDialect.includes(upstreamPath) ? everyDialect : [upstreamPath]
}

/** Who a request counts for (docs/copilot-wire.md, "Request headers"). A caller that knows says so itself. */
function initiatorOf(request: FastifyRequest, call: CallerRequest, rule: Config['copilot']['initiator']): Initiator {
  const stated = request.headers['x-initiator']
  if (stated === 'user' || stated === 'agent') return stated
  if (rule === 'last-message') return call.endsWithUser ? 'user' : 'agent'
  return call.hasAgentHistory ? 'agent' : 'user'
}

/** Requests of one program share a flow: by the key it presents, else by what it calls itself. */
function flowOf(request: FastifyRequest): string {
  return presentedKeys(request.headers)[0] ?? request.headers['user-agent'] ?? ''
}

const longestWarningHeader = 2000

/** Header values are ASCII; a caller that wants every word finds it in the log. */
function warningHeader(warnings: readonly Warning[]): Record<string, string> {
  if (warnings.length === 0) return {}
  const value = warnings
    .map(formatWarning)
    .join(', ')
    .replaceAll(/[^\x20-\x7e]/g, '?')
  return { 'x-copilot-proxy-warnings': value.slice(0, longestWarningHeader) }
}
