import type { CallerKey } from '../config/caller.ts'
import { endOf, Fault, statusOf } from '../errors.ts'
import { staleChoice } from '../executors/executor.ts'
import type { Initiator, ProviderId } from '../executors/executor.ts'
import { autoTierOf, isAutoModel } from '../models/auto-model.ts'
import { providerOfName } from '../models/names.ts'
import type { Route } from '../models/registry.ts'
import type { Dialect, CallerRequest, EncodeContext, EncodedRequest, UpstreamDialect } from '../translate/dialect.ts'
import { dialectOfPath } from '../translate/dialects.ts'
import { describeLargest, limitAgentImages } from '../translate/engine/media/images.ts'
import { translateCall, translateTurn } from '../translate/translated-call.ts'
import type { ReplyMemory } from '../translate/reply-memory.ts'
import type { ChangeTurn, EventReader, ReplyReader, TranslatedCall } from '../translate/translated-call.ts'
import type { Turn } from '../translate/turn.ts'
import { requestOfTurn } from '../translate/turn-request.ts'
import { describeWarning, isLossless } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import { askUpstream, encodeContext, isStatus } from './ask-upstream.ts'
import type { UpstreamTarget } from './ask-upstream.ts'
import type { AutoChoice } from './auto-choices.ts'
import { initiatorOf, interactionOf, purposeOf } from './interaction.ts'
import type { CallerStatement } from './interaction.ts'
import { createAnswer } from './model-answer.ts'
import type { CallerAnswer, ModelAnswer } from './model-answer.ts'
import type { PipelineState } from './pipeline-state.ts'
import { createRequestMeter } from './request-meter.ts'
import type { RequestMeter } from './request-meter.ts'
import { routeChosen, routeModel } from './route-model.ts'
import { createSafeguards } from './safeguards.ts'
import { createSearchDecorator } from './web-search.ts'

interface CallOptions {
  /** The request id in the log and upstream. */
  readonly id: string
  readonly signal: AbortSignal
  /** The request counts for this API key. */
  readonly key?: CallerKey | undefined
  /** Requests of one program share a flow; the queue serves flows in turn. Default: `''`. */
  readonly flow?: string | undefined
  /** Default: derived from the request. */
  readonly initiator?: Initiator | undefined
  /** The caller's statements outside the body. */
  readonly statement?: CallerStatement | undefined
}

/** A call whose maker finishes the meter, with which its admission ends. */
export interface MeteredOptions extends CallOptions {
  readonly meter: RequestMeter
}

interface DecodedCall {
  readonly dialect: Dialect
  readonly request: CallerRequest
}

interface Routed {
  readonly route: string
  readonly warnings: readonly Warning[]
  /** The model is a fallback of the alias: its id, and the statuses of the models before it, as `gpt-4.1 (429)`. */
  readonly fallback: string | undefined
}

/** A call with a request in a wire dialect. */
export interface DialectCall extends MeteredOptions {
  /** Reads and decodes the request. Called after admission, so that queued requests hold no body in memory. */
  readonly request: () => Promise<DecodedCall>
  /** Where replies are kept for later requests, and those of earlier ones are found. Default: with those of the key. */
  readonly responses?: ReplyMemory['responses'] | undefined
  /** Called before the upstream call, and again if the warnings change. */
  readonly onRouted?: ((routed: Routed) => void) | undefined
}

/** A call with a `Turn` from a program inside the daemon. */
interface TurnCall extends CallOptions {
  readonly turn: Turn
  readonly model: string
}

export type ModelCall = DialectCall | TurnCall

export function runTurn(state: PipelineState, call: DialectCall): Promise<CallerAnswer>
export function runTurn(state: PipelineState, call: ModelCall): Promise<ModelAnswer>
/**
 * Runs one model turn: waits for admission, routes the model, encodes the request and sends it, again without the parts
 * that upstream refuses, and to the fallbacks of the alias after 402, 429 or 5xx. Resolves when upstream has accepted the
 * request.
 * @throws Fault; the signal's reason on abort
 */
export async function runTurn(state: PipelineState, call: ModelCall): Promise<ModelAnswer> {
  if ('meter' in call) return await openAnswer(state, call, call.meter)
  const meter = createRequestMeter(state, { id: call.id, kind: 'turn', key: call.key })
  try {
    return await openAnswer(state, call, meter)
  } catch (error) {
    meter.finish(endOf(error, call.signal))
    throw error
  }
}

/** A decoded request, ready for routing. */
interface ReadyCall {
  readonly call: ModelCall
  readonly request: CallerRequest
  readonly source: { readonly dialect: Dialect } | { readonly turn: Turn }
  readonly meter: RequestMeter
}

async function openAnswer(state: PipelineState, call: ModelCall, meter: RequestMeter): Promise<ModelAnswer> {
  const { id, signal, key } = call
  meter.admitted(await state.admission.enter(call.flow ?? '', signal))
  const ready = { call, meter, ...(await readRequest(state, call)) }
  const { request, source } = ready
  meter.asked(request.model, request.sessionId)
  const ownPath = 'dialect' in source ? source.dialect.upstream?.path : undefined
  const routed = await routeModel(state, request.model, ownPath, { signal, key, needs: request })
  const fallbacks = [...state.registry.fallbacksOf(request.model)]
  const asked = [routed.model.provider]
  const statuses: number[] = []
  for (let next: Route = routed; ;) {
    try {
      return await (isAutoModel(next.model)
        ? openAuto(state, ready, next, ownPath, statuses)
        : openRouted(state, ready, next, statuses))
    } catch (error) {
      const status = signal.aborted ? undefined : passingStatus(error)
      const fallback = status && (await routeFallback(state, call, request, ownPath, { fallbacks, asked }))
      if (status === undefined || !fallback) throw error
      state.log.info(
        { requestId: id, model: next.model.id, status, next: fallback.model.id },
        'trying the next model of the alias',
      )
      next = fallback
      asked.push(next.model.provider)
      statuses.push(status)
    }
  }
}

/** The status of a failure after which another model may answer. Undefined for other failures. */
function passingStatus(error: unknown): number | undefined {
  if (!(error instanceof Fault)) return undefined
  const { kind } = error.error
  const status = kind === 'upstream_status' || kind === 'upstream_failed' ? statusOf(error.error) : 0
  return status === 402 || status === 429 || status >= 500 ? status : undefined
}

/**
 * The next fallback that this request can use, removed from `fallbacks` with those before it. A request goes to another
 * provider than those asked before only if the fallback states its provider.
 */
async function routeFallback(
  state: PipelineState,
  { id, signal, key }: Pick<CallOptions, 'id' | 'signal' | 'key'>,
  request: CallerRequest,
  ownPath: string | undefined,
  { fallbacks, asked }: { readonly fallbacks: string[]; readonly asked: readonly ProviderId[] },
): Promise<Route | undefined> {
  for (let target = fallbacks.shift(); target !== undefined; target = fallbacks.shift()) {
    try {
      const route = await routeModel(state, request.model, ownPath, { signal, key, target, needs: request })
      if (providerOfName(target) !== undefined || asked.includes(route.model.provider)) return route
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Fault)) throw error
    }
    state.log.warn({ requestId: id, target }, 'a fallback of the alias cannot serve the request')
  }
  return undefined
}

/** Opens the answer of a model that upstream chooses. */
async function openAuto(
  state: PipelineState,
  ready: ReadyCall,
  { model }: Route,
  ownPath: string | undefined,
  statuses: readonly number[],
): Promise<ModelAnswer> {
  const { request, call } = ready
  const { id, signal, key } = call
  const { sessionId, prompts, hasImage } = request
  const ask = { sessionId, prompts, hasImage, keyId: key?.id, tier: autoTierOf(model) }

  const openChosen = async (stale?: AutoChoice) => {
    const choice = await state.autoChoices.choose(ask, id, stale)
    signal.throwIfAborted()
    const open = () => openRouted(state, ready, routeChosen(state, choice.model, ownPath, request), statuses, choice)
    return { choice, open }
  }
  const first = await openChosen()
  try {
    return await first.open()
  } catch (error) {
    if (!isStaleChoice(error)) throw error
    state.log.info({ requestId: id, model: first.choice.model.id }, 'asking Copilot to choose the model again')
    return (await openChosen(first.choice)).open()
  }
}

/** What is kept of earlier replies for this call. */
function memoryOf(state: PipelineState, call: ModelCall): ReplyMemory {
  const memory = state.memoryOf(call.key)
  return 'responses' in call && call.responses !== undefined ? { ...memory, responses: call.responses } : memory
}

/** Reads the request, and adds what it leaves to earlier replies. */
async function readRequest(state: PipelineState, call: ModelCall): Promise<Pick<ReadyCall, 'request' | 'source'>> {
  if ('turn' in call) return { request: requestOfTurn(call.turn, call.model), source: { turn: call.turn } }
  const { dialect, request } = await call.request()
  const recalled = dialect.recall?.(request, memoryOf(state, call), state.config().chat.strict)
  return { request: recalled ?? request, source: { dialect } }
}

/**
 * Encodes and sends a routed request; resolves with the answer that upstream has started.
 * @param statuses of the models of the alias that were asked before
 */
async function openRouted(
  state: PipelineState,
  { call, request, source, meter }: ReadyCall,
  { model, path }: Route,
  statuses: readonly number[],
  choice?: AutoChoice,
): Promise<ModelAnswer> {
  const executor = state.executorOf(model.provider)
  const { copilot, log } = state.config()
  const dialect = dialectOfPath(path)
  if (dialect === undefined) throw new Fault({ kind: 'internal' })
  const route = `${model.provider}/${dialect.id}`
  const fallback = statuses.length > 0 ? `${model.id} (${statuses.join(', ')})` : undefined
  meter.routed(model, route, { fallback, isChosen: choice !== undefined })
  const first = encodeContext(state, { model, route, executor })
  const purpose = purposeOf(call.statement, request)
  const isSubagent = purpose === 'subagent'
  const safeguards =
    'dialect' in source
      ? await createSafeguards(state, source.dialect, request, { model, isSubagent, signal: call.signal })
      : undefined
  const search = createSearchDecorator(state, request, { model, dialect }, first)
  const encode = (context: EncodeContext) => translate(source, dialect, request, context, search?.change)
  let translated = encode(first)
  let again = translated
  let warnings: readonly Warning[] = []
  const announce = (): void => {
    warnings = [...(choice?.warnings ?? []), ...(safeguards?.warnings ?? []), ...translated.request.warnings]
    meter.warned(warnings)
    if ('request' in call) call.onRouted?.({ route, warnings, fallback })
  }
  announce()

  const initiator = call.initiator ?? initiatorOf(purpose, request, copilot.initiator)
  // Codex has no headers that describe the interaction.
  const isCopilot = model.provider === 'copilot'
  const interaction = isCopilot ? interactionOf(call.statement, purpose, request, state.salt) : undefined
  const target: UpstreamTarget = {
    model,
    route,
    dialect,
    executor,
    signal: call.signal,
    call: {
      path,
      hasImage: request.hasImage,
      requestId: call.id,
      ...(isCopilot && { interaction, sessionToken: choice?.sessionToken }),
    },
  }
  try {
    const upstream = await askUpstream(state, target, translated.request, {
      initiator,
      encodeAgain(context) {
        again = encode(context)
        return again.request
      },
      onRecovery(changed, learned) {
        translated = { ...again, request: changed }
        const learnedRefusal = learned.length === 0 ? undefined : learned.join(' ')
        const line = { requestId: call.id, model: model.id, route, learnedRefusal }
        state.log.info(line, 'retrying without the part that the provider refused')
        announce()
      },
    })
    meter.accepted(initiator, estimateSentTokens(translated.request.body, request.hasImage))
    const adapted = warnings.filter(isLossless).map(describeWarning)
    if (adapted.length > 0) state.log.debug({ requestId: call.id, adapted }, 'adapted the request without loss')
    meter.answered(upstream.headers)
    const nowSeconds = secondsOf(state.now)
    const { reader } = translated
    const watchedRequest = { sessionId: request.sessionId, keyId: call.key?.id, model: model.id }
    const seed = {
      id: state.randomId(),
      createdSeconds: nowSeconds(),
      nowSeconds,
      model: model.id,
      // For `auto` and a fallback, the caller reads here which model answers.
      requestedModel: choice === undefined && fallback === undefined ? request.model : model.id,
      traits: model,
      notes: reader.notes,
      redact: state.redact,
    }
    return createAnswer(state, {
      target,
      upstream,
      caller: 'dialect' in source ? source.dialect : undefined,
      reader,
      seed,
      safeguards,
      addRounds: search?.addRounds({ target, seed, key: call.key, meter }),
      warnings,
      key: call.key,
      memory: () => memoryOf(state, call),
      meter,
      watchUsage: log.cacheDiagnostics
        ? state.cacheWatch.note({ ...watchedRequest, body: translated.request.body })
        : undefined,
    })
  } catch (error) {
    throw 'dialect' in source ? withLargestImages(error, source.dialect, request) : error
  }
}

/** A closure of `openRouted` would keep the request in memory while the answer streams. */
function secondsOf(nowMs: () => number): () => number {
  return () => Math.floor(nowMs() / 1000)
}

function translate(
  source: ReadyCall['source'],
  upstream: UpstreamDialect,
  request: CallerRequest,
  context: EncodeContext,
  change: ChangeTurn | undefined,
): TranslatedCall<EventReader | ReplyReader> {
  if ('dialect' in source) return translateCall(source.dialect, upstream, request, context, change)
  const turn = request.hasImage ? limitAgentImages(source.turn, upstream.id, context) : source.turn
  return translateTurn(upstream, change?.({ turn, warnings: [] }) ?? { turn, warnings: [] }, context)
}

function isStaleChoice(error: unknown): boolean {
  return error instanceof Fault && error.error.kind === 'upstream_status' && error.error.code === staleChoice
}

/** Adds the largest images to the error of a body that is too large even without the images of its history. */
function withLargestImages(error: unknown, { upstream }: Dialect, request: CallerRequest): unknown {
  if (!(error instanceof Fault) || error.error.kind !== 'upstream_status' || !isStatus(error, [413])) return error
  const largest = request.hasImage && upstream !== undefined ? describeLargest(request, upstream.conversation) : ''
  if (largest === '') return error
  const advice = [error.error.advice, `The largest images: ${largest}.`].filter(Boolean).join(' ')
  return new Fault({ ...error.error, advice }, { cause: error.cause })
}

/** A string of a body without a space that is longer is data, e.g. an image. Characters. */
const maxWord = 4096

/** A token is about four characters. Images count as nothing. */
function estimateSentTokens(body: EncodedRequest['body'], hasImage: boolean): number {
  let length = body.length
  const texts = hasImage ? body.toString().split('"') : []
  for (const text of texts) if (text.length > maxWord && !text.includes(' ')) length -= text.length
  return Math.ceil(length / 4)
}
