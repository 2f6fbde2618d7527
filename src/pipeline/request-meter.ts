import type { CallerKey } from '../config/caller.ts'
import { callerLeft, Fault, faultFields, headersOf, isFailure, statusOf } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import { wordError } from '../translate/engine/error-wording.ts'
import type { Initiator } from '../executors/executor.ts'
import type { Logger } from '../logging/logger.ts'
import { addCredits, creditsOf } from '../models/credits.ts'
import type { Credits } from '../models/credits.ts'
import type { Model } from '../models/model.ts'
import type { UsageRecorder } from '../usage/recorder.ts'
import { clientOf } from '../usage/requests.ts'
import type { RequestList, RequestOrigin } from '../usage/requests.ts'
import { sessionLabel } from '../usage/session-label.ts'
import type { CallerNames } from '../usage/tally.ts'
import type { Usage } from '../translate/turn.ts'
import type { DialectId } from '../translate/dialect.ts'
import { describeWarning, isLossless } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import type { Metrics, TokenCounts } from '../usage/metrics.ts'

/** A request that an answer needs: a web search, or the check of its calls. */
export type SideRequestKind = 'search' | 'safeguards'

/** The caller's dialect, a route that has none, `turn` for a program in this process, or a request for an answer. */
export type RequestKind =
  | DialectId
  | 'turn'
  | 'embeddings'
  | 'images'
  | 'completions'
  | 'count_tokens'
  | SideRequestKind

export interface MeterDeps {
  readonly metrics: Metrics
  readonly totals: Pick<UsageRecorder, 'note'>
  /** The last requests. */
  readonly requests: Pick<RequestList, 'note'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Ms since epoch. */
  readonly now: () => number
}

interface MeteredRequest {
  readonly id: string
  readonly kind: RequestKind
  /** The accepted API key. */
  readonly key: CallerKey | undefined
  /** Undefined for a program in this process. */
  readonly origin?: RequestOrigin | undefined
  /** The caller of the request that this one is part of. Default: read from `origin` and `asked`. */
  readonly caller?: CallerNames | undefined
  /** The status of an error in the caller's dialect. Default: `statusOf`. */
  readonly errorStatus?: ((error: ProxyError) => number) | undefined
}

/** How a request ended. A Fault ends it with a status, or after its first byte in an error event. */
type Outcome = 'answered' | 'left' | Fault

/** Numbers of upstream's events. */
interface EventCounts {
  readonly all: number
  /** Events of unknown types. */
  readonly skipped: number
}

/** The model facts that billing needs. */
type MeteredModel = Pick<Model, 'provider' | 'id' | 'prices' | 'premiumMultiplier'>

/** Measures one model request. Whoever creates a meter also finishes it. */
export interface RequestMeter {
  /** The request was admitted. @param leave ends its admission */
  readonly admitted: (leave: () => void) => void
  /** The request names this model, and the caller's conversation. */
  readonly asked: (model: string, session?: string) => void
  /** Whose request it is, for the meters of its parts. */
  readonly caller: () => CallerNames
  /**
   * The request was routed to this model, which may be the fallback of another (`gpt-4.1 (429)`).
   * @param isChosen upstream chose the model
   */
  readonly routed: (
    model: MeteredModel,
    route: string,
    how?: { readonly fallback?: string | undefined; readonly isChosen?: boolean },
  ) => void
  /** The request has these warnings, in place of earlier ones. */
  readonly warned: (warnings: readonly Warning[]) => void
  /**
   * Upstream accepted the request, which it bills by the initiator.
   * @param inputTokens an estimate, for the cost of an answer that the caller leaves before upstream states it
   */
  readonly accepted: (initiator: Initiator, inputTokens?: number) => void
  /** The head of the caller's stream was sent. */
  readonly firstByte: () => void
  /** Upstream answered with these headers. */
  readonly answered: (headers: Readonly<Record<string, string>>) => void
  readonly used: (usage: Usage | undefined, events?: EventCounts) => void
  /** Another request was made for the reply; its own meter counts it. */
  readonly paidFor: (kind: SideRequestKind, cost: Credits | undefined) => void
  /** Credits of the reply without the requests made for it. */
  readonly credits: () => Credits | undefined
  readonly totalCredits: () => Credits | undefined
  /**
   * Ends the request: ends its admission, counts it, logs it and adds it to the list of the last requests. Later calls do
   * nothing.
   * @param fields more fields of the log line
   */
  readonly finish: (outcome: Outcome, fields?: Readonly<Record<string, unknown>>) => void
}

/** The model in the totals of all requests that could not be routed. Totals for every name that a caller invents would grow without limit. */
const noModel = 'other'

/** The client of programs in this process, as in the list of requests. */
const ownName = 'copilot-proxy'
/** Characters. */
const maxClient = 60

/** More than any model reads in one request. */
const maxTokens = 1e9
/** A million credits, US$10,000. */
const maxNanoAiu = 1e15

/** Clamps upstream's number, because counters must not decrease and totals take integers only. */
function toCount(stated: number, max = maxTokens): number {
  return Number.isFinite(stated) ? Math.min(max, Math.max(0, Math.round(stated))) : 0
}

export function createRequestMeter(
  { metrics, totals, requests, log, now }: MeterDeps,
  { id, kind, key, origin, caller, errorStatus = statusOf }: MeteredRequest,
): RequestMeter {
  const startedAt = now()
  let leave: (() => void) | undefined
  let askedModel: string | undefined
  let session = ''
  let model: MeteredModel | undefined
  let route: string | undefined
  let fallback: string | undefined
  let chosenFor: string | undefined
  let firstByteAt: number | undefined
  let tokens: TokenCounts | undefined
  let events: EventCounts = { all: 0, skipped: 0 }
  let stated: Usage | undefined
  let sentTokens: number | undefined
  let serviceRequestId: string | undefined
  let credits: Credits | undefined
  const sideCredits: Record<SideRequestKind, Credits | undefined> = { search: undefined, safeguards: undefined }
  let premiumRequests: number | undefined
  let losses: readonly string[] | undefined
  let adapted: readonly string[] | undefined
  let hasEnded = false
  return {
    admitted(leaveAdmission) {
      leave = leaveAdmission
    },
    asked(name, named) {
      askedModel = name
      session = sessionLabel(named)
    },
    caller: callerNames,
    routed(chosenModel, chosenRoute, how) {
      model = chosenModel
      route = chosenRoute
      fallback = how?.fallback
      chosenFor = how?.isChosen === true ? askedModel : undefined
    },
    warned(warnings) {
      losses = describeAll(warnings.filter((warning) => !isLossless(warning)))
      adapted = describeAll(warnings.filter(isLossless))
    },
    accepted(initiator, inputTokens) {
      sentTokens = inputTokens
      if (model?.premiumMultiplier !== undefined) premiumRequests = initiator === 'user' ? model.premiumMultiplier : 0
    },
    firstByte() {
      firstByteAt ??= now()
    },
    used(usage, read) {
      events = read ?? events
      stated = usage
      tokens = usage && {
        inputTokens: toCount(usage.inputTokens),
        outputTokens: toCount(usage.outputTokens),
        cachedInputTokens: toCount(usage.cachedInputTokens),
        cacheWriteTokens: toCount(usage.cacheWriteTokens ?? 0),
      }
      if (usage && tokens) countCost({ ...tokens, nanoAiu: usage.nanoAiu })
    },
    paidFor(sideKind, cost) {
      sideCredits[sideKind] = addCredits(sideCredits[sideKind], cost)
    },
    credits: () => credits,
    totalCredits,
    answered,
    finish(outcome, fields) {
      if (hasEnded) return
      hasEnded = true
      leave?.()
      if (outcome instanceof Fault) answered(headersOf(outcome.error))
      if (outcome === 'left') countUnfinished()
      const status = outcome === 'answered' ? 200 : outcome === 'left' ? callerLeft : errorStatus(outcome.error)
      count(status)
      const line = {
        requestId: id,
        ...facts(),
        status,
        ...(origin && firstByteAt !== undefined && status !== 200 && { httpStatus: 200 }),
        ...fields,
        key: key?.name,
        ...(outcome instanceof Fault && faultFields(outcome)),
      }
      if (isSideRequest(kind)) {
        logSideRequest(log, kind, line, outcome)
        return
      }
      logEnd(outcome, line)
      const problem = outcome instanceof Fault ? problemOf(outcome, id) : undefined
      requests.note({
        startedAtMs: startedAt,
        kind,
        origin,
        ownerId: key?.id,
        session,
        askedModel,
        adapted,
        problem,
        line,
      })
    },
  }

  function countCost(usage: Usage): void {
    const cost = creditsOf(usage, model?.prices)
    credits = cost && { ...cost, nanoAiu: toCount(cost.nanoAiu, maxNanoAiu) }
  }

  /**
   * Estimates the cost of an answer that the caller left: upstream states it at the end only, and a caller that always leaves
   * before the end would otherwise cost nothing. An event of an answer carries about one token.
   */
  function countUnfinished(): void {
    if (sentTokens === undefined || stated?.nanoAiu !== undefined) return
    const input = { inputTokens: sentTokens, cachedInputTokens: 0, ...tokens }
    countCost({ ...input, outputTokens: Math.max(tokens?.outputTokens ?? 0, events.all) })
  }

  function callerNames(): CallerNames {
    if (caller !== undefined) return caller
    const client = kind === 'turn' ? ownName : (clientOf(origin?.userAgent) ?? '')
    return { client: client.slice(0, maxClient), session }
  }

  function count(status: number): void {
    metrics.requestEnded({
      kind: isSideRequest(kind) ? sideRequests[kind].dialect : kind,
      key: key?.name,
      model,
      route,
      status,
      seconds: msTo(now()) / 1000,
      firstByteSeconds: firstByteAt === undefined ? undefined : msTo(firstByteAt) / 1000,
      tokens,
      credits,
      premiumRequests,
    })
    // A token count is not model usage.
    if (kind === 'count_tokens' || (model === undefined && askedModel === undefined)) return
    totals.note({
      provider: model?.provider ?? '',
      model: model?.id ?? noModel,
      key: key?.name ?? '',
      keyId: key?.id ?? '',
      ...callerNames(),
      failed: isFailure(status),
      inputTokens: tokens?.inputTokens ?? 0,
      outputTokens: tokens?.outputTokens ?? 0,
      cachedInputTokens: tokens?.cachedInputTokens ?? 0,
      cacheWriteTokens: tokens?.cacheWriteTokens ?? 0,
      premiumRequests: premiumRequests ?? null,
      measuredNanoAiu: credits?.estimated === false ? credits.nanoAiu : null,
      estimatedNanoAiu: credits?.estimated === true ? credits.nanoAiu : null,
    })
  }

  /** Fields of the log line, which omits undefined ones. Times start at the request's arrival. */
  function facts() {
    return {
      model: model?.id,
      route,
      fallback,
      chosenFor,
      ttfbMs: firstByteAt === undefined ? undefined : msTo(firstByteAt),
      tokensIn: tokens?.inputTokens,
      tokensOut: tokens?.outputTokens,
      tokensCached: tokens?.cachedInputTokens,
      skippedEvents: events.skipped || undefined,
      /** Copilot's id of the answer. */
      serviceRequestId,
      credits: credits && credits.nanoAiu / 1e9,
      /** Upstream did not state all credits; some are computed from prices. */
      estimated: totalCredits()?.estimated || undefined,
      /** Requests for the reply also have their own log lines. */
      searchCredits: sideCredits.search && sideCredits.search.nanoAiu / 1e9,
      safeguardsCredits: sideCredits.safeguards && sideCredits.safeguards.nanoAiu / 1e9,
      ms: msTo(now()),
      /** The parts of the request that could not be carried over. */
      ...(losses && { warnings: losses }),
    }
  }

  function logEnd(outcome: Outcome, line: Readonly<Record<string, unknown>>): void {
    if (outcome === 'answered') log.info(line, 'request served')
    else if (outcome === 'left') log.info(line, callerLeftMessage)
    else if (firstByteAt !== undefined) log.warn(line, 'stream ended in an error event')
    else logRefusal(log, { ...line, ...askedField(origin) }, outcome.error, errorStatus(outcome.error))
  }

  function answered(headers: Readonly<Record<string, string>>): void {
    serviceRequestId = headers['x-copilot-service-request-id'] ?? serviceRequestId
  }

  function totalCredits(): Credits | undefined {
    return addCredits(addCredits(credits, sideCredits.search), sideCredits.safeguards)
  }

  /** Not negative, even if the clock was set back. */
  function msTo(momentMs: number): number {
    return Math.max(0, momentMs - startedAt)
  }
}

export const callerLeftMessage = 'the caller disconnected before the answer was complete'

/** Logs a failure before the first byte. A missing login was logged when it was noticed, so it is a warning only. */
export function logRefusal(
  log: MeterDeps['log'],
  line: Readonly<Record<string, unknown>>,
  { kind }: ProxyError,
  status: number,
): void {
  const isLogin = kind === 'copilot_unavailable' || kind === 'codex_unavailable'
  const level = status < 500 || kind === 'shutting_down' ? 'info' : isLogin ? 'warn' : 'error'
  log[level](line, status >= 500 ? 'request failed' : 'request refused')
}

/** The API that metrics count a request for an answer under, and its log messages. */
const sideRequests = {
  search: { dialect: 'responses', done: 'ran a web search', failed: 'a web search failed' },
  safeguards: { dialect: 'messages', done: 'checked the calls of an answer', failed: 'the check of an answer failed' },
} as const satisfies Record<
  SideRequestKind,
  { readonly dialect: DialectId; readonly done: string; readonly failed: string }
>

function isSideRequest(kind: RequestKind): kind is SideRequestKind {
  return Object.hasOwn(sideRequests, kind)
}

/** A request that its answer's caller did not wait for has no line of its own. */
function logSideRequest(
  log: MeterDeps['log'],
  kind: SideRequestKind,
  line: Readonly<Record<string, unknown>>,
  outcome: Outcome,
): void {
  const { done, failed } = sideRequests[kind]
  if (outcome === 'answered') log.info(line, done)
  else if (outcome !== 'left') log.warn(line, failed)
}

/** E.g. `POST /v1/messages`. */
function askedField(origin: RequestOrigin | undefined): { readonly asked?: string } {
  return origin === undefined ? {} : { asked: `${origin.method} ${origin.path}` }
}

function describeAll(warnings: readonly Warning[]): readonly string[] | undefined {
  return warnings.length === 0 ? undefined : warnings.map(describeWarning)
}

/**
 * A fault in the words that its caller reads. Of a refused login and a refused Host, the list of requests says more: clients
 * compare the message of the one, and the answer to the other repeats nothing of an unknown caller.
 */
export function problemOf({ error }: Fault, requestId: string): string {
  if (error.kind === 'upstream_unauthorized') return `The provider refused the login. ${error.upstreamMessage}`
  const { message } = wordError(error, requestId)
  return error.kind === 'forbidden' && error.advice !== undefined ? `${message} ${error.advice}.` : message
}
