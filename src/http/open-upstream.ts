import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault, faultFields, statusOf } from '../errors.ts'
import { staleChoice } from '../executors/executor.ts'
import type { Executor, Initiator, UpstreamCall, UpstreamProfile, UpstreamStream } from '../executors/executor.ts'
import { isAutoModel } from '../models/auto-model.ts'
import type { Route } from '../models/registry.ts'
import type { CallerRequest, Continuation, Dialect, EncodeContext, EncodedRequest } from '../translate/dialect.ts'
import { dialectOfPath } from '../translate/dialects.ts'
import { openExchange } from '../translate/exchange.ts'
import type { Exchange } from '../translate/exchange.ts'
import { describeLargest } from '../translate/images.ts'
import { formatWarning } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import type { Admitted } from './admit.ts'
import type { AutoChoice } from './auto-choices.ts'
import { resolveChain } from './chain.ts'
import { initiatorOf, interactionOf, purposeOf } from './interaction.ts'
import { redactValues } from './redact-values.ts'
import { routeChosen, routeModel } from './route-model.ts'
import { searchModel } from './search-model.ts'
import type { ServeDeps } from './serve-deps.ts'
import type { WebSearch } from './web-search.ts'

/**
 * From the caller's body to an open upstream stream. A function of its own so that the body, its text and its parsed
 * form are gone before the answer is read.
 * @param onStream called before upstream is asked, where the caller wants an event stream
 */
export async function openUpstream(
  deps: ServeDeps,
  dialect: Dialect,
  { readBody: read, signal, meter }: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
  onStream: () => void,
) {
  const { chat, log } = deps.config()
  const body = await read()
  if (log.bodies) deps.log.info({ requestId: request.id, text: body.text }, 'request')
  const asked = dialect.decodeRequest(body.text, body.bytes, request.headers)
  const chained = resolveChain(dialect, asked, deps.responses)
  // Not under strict, where the model gets what the caller sent and nothing else.
  const call = chat.strict ? chained : (dialect.recallReasoning?.(chained, deps.reasoning.recall) ?? chained)
  let hasBegun = false
  const begin = (): void => {
    if (hasBegun || !call.stream) return
    hasBegun = true
    onStream()
  }
  const open = async (routed: Route, choice?: AutoChoice) =>
    openRouted(deps, { dialect, call, routed, choice, request, reply, signal, meter, begin })

  const routed = await routeModel(deps, call.model, dialect.upstreamPath, signal)
  if (!isAutoModel(routed.model)) return open(routed)
  const openChosen = async (stale?: AutoChoice) => {
    const choice = await deps.autoChoices.choose(call, request.id, stale)
    signal.throwIfAborted()
    return { choice, open: () => open(routeChosen(deps, choice.model, dialect.upstreamPath), choice) }
  }
  const first = await openChosen()
  try {
    return await first.open()
  } catch (error) {
    if (!isStaleChoice(error)) throw error
    deps.log.info({ requestId: request.id, model: first.choice.model.id }, 'having the model chosen anew')
    return (await openChosen(first.choice)).open()
  }
}

interface RoutedCall extends Pick<Admitted, 'signal' | 'meter'> {
  readonly dialect: Dialect
  readonly call: CallerRequest
  readonly routed: Route
  /** The model was not named by the caller. */
  readonly choice: AutoChoice | undefined
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Begins the caller's stream, where it wants one; later calls do nothing. */
  readonly begin: () => void
}

/** From a routed request to an open upstream stream. */
async function openRouted(
  deps: ServeDeps,
  { dialect, call, routed: { model, path }, choice, request, reply, signal, meter, begin }: RoutedCall,
) {
  const { copilot, log } = deps.config()
  const upstreamDialect = dialectOfPath(path)
  if (upstreamDialect === undefined) throw new Fault({ kind: 'internal' })
  const route = `${model.provider}/${upstreamDialect.id}`
  meter.routed(model, route)
  const executor = deps.executorOf(model.provider)
  /** What upstream has refused of this request; known to others once it has taken the rest. */
  const lessons: string[] = []
  const contextNow = (): EncodeContext => {
    const context = encodeContext(deps, model, route, executor.profile)
    return lessons.length === 0 ? context : { ...context, lessons: new Set([...context.lessons, ...lessons]) }
  }
  let exchange = openExchange(dialect, upstreamDialect, call, contextNow())
  const warningsNow = () => [...(choice?.warnings ?? []), ...exchange.request.warnings]
  // Before upstream is asked, so that a refusal carries them too.
  const announce = () => reply.headers({ 'x-copilot-proxy-route': route, ...warningHeader(warningsNow()) })
  announce()
  begin()

  const purpose = purposeOf(request.headers, call)
  const initiator = initiatorOf(request.headers, purpose, call, copilot.initiator)
  // The other provider has no place for these.
  const isCopilot = model.provider === 'copilot'
  const interaction = isCopilot ? interactionOf(request.headers, purpose, call, deps.salt) : undefined
  const upstreamCall = {
    path,
    hasImage: call.hasImage,
    requestId: request.id,
    ...(isCopilot && { interaction, sessionToken: choice?.sessionToken }),
  }
  const ask = createAsk(deps, executor, upstreamCall, signal)

  let notFound: unknown
  for (let attempt = 1; ; attempt += 1) {
    try {
      const upstream = await ask(exchange.request, initiator)
      meter.accepted(initiator)
      for (const lesson of lessons) deps.lessons.learn(upstreamKey(route, executor.profile), model.id, lesson)
      return {
        upstream,
        sent: exchange.reader.continuesPauses ? exchange.request : undefined,
        ask,
        interaction,
        upstreamDialect,
        profile: executor.profile,
        model,
        route,
        reader: exchange.reader,
        watchUsage: watchCache(exchange.request.body),
        // Whoever had the model chosen wants to see which one it is.
        requestedModel: choice === undefined ? call.model : model.id,
        chosenFor: choice === undefined ? undefined : call.model,
        wantsUsage: call.wantsUsage,
        warnings: warningsNow(),
        keptInput: call.chain?.keep === true ? call.chain.input : undefined,
      }
    } catch (error) {
      const next = attempt <= mostRecoveries ? recover(error) : undefined
      if (next === undefined)
        throw isRefusedAsSuch(error) ? (notFound ?? error) : withLargestImages(error, dialect, call)
      // Whether the model is missing or wants another form shows when the other form is refused too.
      if (isNotFound(error)) notFound ??= error
      exchange = next
      announce()
    }
  }

  /** Takes the usage of the answer to what was sent; undefined where nobody watches the cache. */
  function watchCache(sent: Buffer) {
    if (!log.cacheDiagnostics) return undefined
    return deps.cacheWatch.note({ sessionId: call.sessionId, keyName: request.keyName, model: model.id, body: sent })
  }

  /** The exchange without what upstream has just refused; undefined where the refusal is the answer. */
  function recover(error: unknown): Exchange | undefined {
    if (!(error instanceof Fault) || error.error.kind !== 'upstream_status') return undefined
    const { error: refusal } = error
    if (refusal.status === 413 && !call.hasImage) return undefined
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

/**
 * Sends the requests that one answer takes, and hands on of the replies' headers what is no credential. Lives as long as the
 * answer, so it holds nothing of the caller's body.
 */
function createAsk(
  deps: Pick<ServeDeps, 'redact'>,
  executor: Executor,
  call: Omit<UpstreamCall, 'body' | 'headers' | 'initiator'>,
  signal: AbortSignal,
) {
  return async ({ body, headers }: EncodedRequest, initiator: Initiator): Promise<UpstreamStream> => {
    const answer = await executor.stream({ ...call, body, headers, initiator }, { signal })
    return { ...answer, headers: redactValues(answer.headers, deps.redact) }
  }
}

/**
 * Continues an answer that upstream has paused, or that waits for web searches; undefined where upstream is not asked or
 * refuses, and the answer ends where it is.
 */
export function createContinue(
  deps: Pick<ServeDeps, 'config' | 'lessons' | 'log' | 'registry'>,
  opened: Pick<Awaited<ReturnType<typeof openUpstream>>, 'ask' | 'model' | 'route' | 'profile' | 'upstreamDialect'>,
  search: WebSearch,
  requestId: string,
) {
  const { log } = deps
  const { ask, model, route, profile } = opened
  return async ({ searches, request, refused }: Continuation): Promise<UpstreamStream | undefined> => {
    const found = await Promise.all(searches.map(search))
    const next = request(found, encodeContext(deps, model, route, profile))
    if (next === undefined) return undefined
    log.info({ requestId, model: model.id, searches: found.length }, 'continuing an answer')
    try {
      return await askRecovering(deps, opened, next, (each) => ask(each, 'agent'))
    } catch (error) {
      if (!(error instanceof Fault && refusesContinuation(error))) throw error
      // To the caller the beginning of an answer is worth more than a failure.
      log.warn({ requestId, model: model.id, ...faultFields(error) }, 'upstream did not continue the answer')
      refused()
      return undefined
    }
  }
}

/** Sends a request, and again without what upstream refuses of it. For requests whose replies are read in any form. */
export async function askRecovering(
  deps: Pick<ServeDeps, 'config' | 'lessons' | 'log' | 'registry'>,
  to: { readonly model: Route['model']; readonly route: string; readonly profile?: UpstreamProfile | undefined } & {
    readonly upstreamDialect: Dialect
  },
  request: EncodedRequest,
  ask: (request: EncodedRequest) => Promise<UpstreamStream>,
): Promise<UpstreamStream> {
  const { model, route, profile, upstreamDialect } = to
  const context = encodeContext(deps, model, route, profile)
  const lessons: string[] = []
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await ask(request)
      for (const lesson of lessons) deps.lessons.learn(upstreamKey(route, profile), model.id, lesson)
      return answer
    } catch (error) {
      if (context.strict || attempt > mostRecoveries || !(error instanceof Fault)) throw error
      const { error: refusal } = error
      if (refusal.kind !== 'upstream_status' || !isRecoverable(refusal.status, profile)) throw error
      const known = { ...context, lessons: new Set([...context.lessons, ...lessons]) }
      const recovery = upstreamDialect.recover(request, refusal, known)
      if (recovery?.request === undefined) throw error
      if (recovery.lesson !== undefined) lessons.push(recovery.lesson)
      request = recovery.request
    }
  }
}

/** What it was sent was its own words, and the request that it had taken: sent again they would be refused again. */
function refusesContinuation({ error }: Fault): boolean {
  return error.kind === 'upstream_status' && [400, 404, 413, 422].includes(error.status)
}

function isStaleChoice(error: unknown): boolean {
  return error instanceof Fault && error.error.kind === 'upstream_status' && error.error.code === staleChoice
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
  // Of a body that is too large the images may go.
  return status === 400 || status === 413 || status === 422 || (status === 404 && profile === 'chatgpt')
}

/** A body that is too large even without the images of its history: the caller is told which of the others to shrink. */
function withLargestImages(error: unknown, { conversation }: Dialect, call: CallerRequest): unknown {
  if (!(error instanceof Fault) || error.error.kind !== 'upstream_status' || error.error.status !== 413) return error
  const largest = call.hasImage ? describeLargest(call, conversation) : ''
  if (largest === '') return error
  const advice = [error.error.advice, `The largest images: ${largest}.`].filter(Boolean).join(' ')
  return new Fault({ ...error.error, advice }, { cause: error.cause })
}

/** Two upstreams behind one route refuse different things. */
function upstreamKey(route: string, profile: UpstreamProfile | undefined): string {
  return profile === undefined ? route : `${route} ${profile}`
}

/** What a dialect is told about the model and the settings it encodes for. */
export function encodeContext(
  deps: Pick<ServeDeps, 'config' | 'lessons' | 'log' | 'registry'>,
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
    // What a caller asks one provider goes to no other.
    canSearch: () => model.provider === 'copilot' && canRunSearch(deps),
  }
}

function canRunSearch(deps: Pick<ServeDeps, 'config' | 'log' | 'registry'>): boolean {
  const { webSearchModel } = deps.config().messages
  const found = searchModel(deps) !== undefined
  if (!found && webSearchModel !== '') {
    deps.log.warn(
      { webSearchModel },
      'no web search: no Copilot model behind /responses is what messages.web-search-model asks for',
    )
  }
  return found
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
