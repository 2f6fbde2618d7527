import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import { Fault, faultFields, statusOf } from '../errors.ts'
import type { Executor, Initiator, ProviderId } from '../executors/executor.ts'
import type { ModelRefresh } from '../models/refresh.ts'
import type { ModelRegistry, Route } from '../models/registry.ts'
import type { CallerRequest, Dialect } from '../translate/dialect.ts'
import type { Admission } from './admission.ts'
import { presentedKeys } from './api-keys.ts'
import { readBody } from './body.ts'
import type { RequestBody } from './body.ts'
import { flatHeaders } from './flat-headers.ts'
import { foldReply, streamReply } from './reply.ts'
import type { ReplyReport } from './reply.ts'
import { whileCallerStays } from './while-caller-stays.ts'
import type { CallerDeps } from './while-caller-stays.ts'

export interface ServeDeps extends CallerDeps {
  readonly config: () => Config
  readonly registry: Pick<ModelRegistry, 'route'>
  readonly refreshModels: Pick<ModelRefresh, 'state' | 'refresh'>
  /** @throws Fault `copilot_unavailable` when the provider is not set up */
  readonly executorOf: (provider: ProviderId) => Executor
  readonly admission: Admission
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
  const opened = await openUpstream(deps, dialect, admitted, request, reply)
  const { upstream, model, route, wantsUsage, warnings } = opened
  const seed = { id: request.id, createdSeconds: Math.floor(startedAt / 1000), model: model.id, wantsUsage }
  const onText = deps.config().log.bodies
    ? (text: string) => deps.log.info({ requestId: request.id, text }, 'answer')
    : undefined
  const context = { dialect, upstream, seed, requestId: request.id, signal, onText }

  function logOutcome({ usage, skipped, failure }: ReplyReport): void {
    const fields = {
      requestId: request.id,
      model: model.id,
      route,
      stream: opened.stream,
      status: 200,
      ms: deps.now() - startedAt,
      ...(usage && {
        tokensIn: usage.inputTokens,
        tokensOut: usage.outputTokens,
        tokensCached: usage.cachedInputTokens,
      }),
      ...(warnings.length > 0 && { warnings }),
      ...(skipped > 0 && { skippedEvents: skipped }),
    }
    if (failure === undefined) deps.log.info(fields, 'request served')
    else
      deps.log.warn(
        { ...fields, ...faultFields(failure), endedAs: statusOf(failure.error) },
        'stream ended in an error event',
      )
  }

  if (opened.stream) {
    const report = await streamReply(reply.raw, () => ({ ...flatHeaders(reply), ...upstream.headers }), context)
    reply.hijack()
    logOutcome(report)
    return undefined
  }
  const { body, report } = await foldReply(context)
  const text = JSON.stringify(body)
  onText?.(text)
  logOutcome(report)
  reply.headers(upstream.headers)
  return reply.type('application/json; charset=utf-8').send(text)
}

/**
 * From the caller's body to an open upstream stream. A function of its own so that the body, its text and its parsed
 * form are gone before the answer is read.
 */
async function openUpstream(
  deps: ServeDeps,
  dialect: Dialect,
  { readBody: read, signal }: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { chat, copilot, log } = deps.config()
  const body = await read()
  if (log.bodies) deps.log.info({ requestId: request.id, text: body.text }, 'request')
  const call = dialect.decodeRequest(body.text, body.bytes)
  const { model } = await routeModel(deps, call.model, dialect.upstreamPath, signal)
  const encoded = dialect.passRequest(call, { model, historyWindow: chat.historyWindow, strict: chat.strict })
  const route = `${model.provider}/${dialect.id}`
  // Before upstream is asked, so that a refusal carries them too.
  reply.headers({ 'x-copilot-proxy-route': route, ...warningHeader(encoded.warnings) })
  const upstream = await deps.executorOf(model.provider).stream(
    {
      path: dialect.upstreamPath,
      body: encoded.body,
      initiator: initiatorOf(request, call, copilot.initiator),
      hasImage: call.hasImage,
      requestId: request.id,
    },
    { signal },
  )
  return { upstream, model, route, stream: call.stream, wantsUsage: call.wantsUsage, warnings: encoded.warnings }
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
  const ask = { callerPath: upstreamPath, setting, spoken: [upstreamPath] }
  let route = deps.registry.route(name, ask)
  if (!route.ok && deps.refreshModels.state().loadedAtMs === undefined) {
    const outcome = await deps.refreshModels.refresh({ signal })
    route = deps.registry.route(name, ask)
    if (!route.ok && outcome.kind === 'kept') throw new Fault(outcome.error)
  }
  if (!route.ok) throw new Fault(route.error)
  return route.value
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
function warningHeader(warnings: readonly string[]): Record<string, string> {
  if (warnings.length === 0) return {}
  const value = warnings.join('; ').replaceAll(/[^\x20-\x7e]/g, '?')
  return { 'x-copilot-proxy-warnings': value.slice(0, longestWarningHeader) }
}
