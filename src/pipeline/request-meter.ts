import type { CallerKey } from '../config/caller.ts'
import { isFailure } from '../errors.ts'
import type { Initiator } from '../executors/executor.ts'
import { addCredits, creditsOf } from '../models/credits.ts'
import type { Credits } from '../models/credits.ts'
import type { Model } from '../models/model.ts'
import type { UsageRecorder } from '../usage/recorder.ts'
import type { EndedRequest, RequestList, RequestOrigin } from '../usage/requests.ts'
import type { Usage } from '../translate/turn.ts'
import type { DialectId } from '../translate/dialect.ts'
import { describeWarning, isLossless } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import type { Metrics, TokenCounts } from '../usage/metrics.ts'

/** The caller's dialect, a route that has none, or `turn` for a program in this process. */
export type RequestKind = DialectId | 'turn' | 'embeddings' | 'count_tokens'

export interface MeterDeps {
  readonly metrics: Metrics
  readonly totals: Pick<UsageRecorder, 'note'>
  /** The last requests. */
  readonly requests: Pick<RequestList, 'note'>
  /** Ms since epoch. */
  readonly now: () => number
}

/** The model facts that billing needs. */
type MeteredModel = Pick<Model, 'provider' | 'id' | 'prices' | 'premiumMultiplier'>

/** Measures one model request. */
export interface RequestMeter {
  /** The request names this model. */
  readonly asked: (model: string) => void
  /** The request was routed to this model, which may be the fallback of another (`gpt-4.1 (429)`). */
  readonly routed: (model: MeteredModel, route: string, fallback?: string) => void
  /** The request has these warnings, in place of earlier ones. */
  readonly warned: (warnings: readonly Warning[]) => void
  /** Upstream accepted the request, which it bills by the initiator. */
  readonly accepted: (initiator: Initiator) => void
  /** The head of the caller's stream was sent. */
  readonly firstByte: () => void
  /** Upstream answered with these headers. */
  readonly answered: (headers: Readonly<Record<string, string>>) => void
  readonly used: (usage: Usage | undefined) => void
  /** A web search was run for the reply; its own meter counts it as a request. */
  readonly searched: (cost: Credits | undefined) => void
  /** Credits of the reply without its web searches. */
  readonly credits: () => Credits | undefined
  readonly totalCredits: () => Credits | undefined
  /** The request ended; later calls are ignored. */
  readonly end: (status: number) => void
  /** Fields for the request's log line, which omits undefined ones. Times start at the request's arrival. */
  readonly facts: () => MeterFacts
  /** Adds the request and its log line to the list of the last requests. */
  readonly record: (line: EndedRequest['line']) => void
}

interface MeterFacts {
  readonly model: string | undefined
  readonly route: string | undefined
  readonly ttfbMs: number | undefined
  readonly tokensIn: number | undefined
  readonly tokensOut: number | undefined
  readonly tokensCached: number | undefined
  /** Copilot's id of the answer. */
  readonly serviceRequestId: string | undefined
  readonly credits: number | undefined
  /** Upstream did not state all credits; some are computed from prices. */
  readonly estimated: true | undefined
  /** Searches also have their own log lines. */
  readonly searchCredits: number | undefined
  readonly ms: number
  /** The parts of the request that could not be carried over. */
  readonly warnings?: readonly string[]
}

/** The model in the totals of all requests that could not be routed. Totals for every name that a caller invents would grow without limit. */
const noModel = 'other'

/** More than any model reads in one request. */
const maxTokens = 1e9
/** A million credits, US$10,000. */
const maxNanoAiu = 1e15

/** Clamps upstream's number, because counters must not decrease and totals take integers only. */
function toCount(stated: number, max = maxTokens): number {
  return Number.isFinite(stated) ? Math.min(max, Math.max(0, Math.round(stated))) : 0
}

/**
 * @param callerKey the accepted API key
 * @param origin undefined for a program in this process
 */
export function createRequestMeter(
  { metrics, totals, requests, now }: MeterDeps,
  kind: RequestKind,
  callerKey: CallerKey | undefined,
  origin?: RequestOrigin,
): RequestMeter {
  const startedAt = now()
  let askedModel: string | undefined
  let model: MeteredModel | undefined
  let route: string | undefined
  let fallback: string | undefined
  let firstByteAt: number | undefined
  let tokens: TokenCounts | undefined
  let serviceRequestId: string | undefined
  let credits: Credits | undefined
  let searchCredits: Credits | undefined
  let premiumRequests: number | undefined
  let losses: readonly string[] | undefined
  let adapted: readonly string[] | undefined
  let hasEnded = false
  return {
    asked(name) {
      askedModel = name
    },
    routed(chosenModel, chosenRoute, fallbackOf) {
      model = chosenModel
      route = chosenRoute
      fallback = fallbackOf
    },
    warned(warnings) {
      losses = describeAll(warnings.filter((warning) => !isLossless(warning)))
      adapted = describeAll(warnings.filter(isLossless))
    },
    accepted(initiator) {
      if (model?.premiumMultiplier !== undefined) premiumRequests = initiator === 'user' ? model.premiumMultiplier : 0
    },
    firstByte() {
      firstByteAt ??= now()
    },
    used(usage) {
      tokens = usage && {
        inputTokens: toCount(usage.inputTokens),
        outputTokens: toCount(usage.outputTokens),
        cachedInputTokens: toCount(usage.cachedInputTokens),
        cacheWriteTokens: toCount(usage.cacheWriteTokens ?? 0),
      }
      const cost = usage && tokens && creditsOf({ ...tokens, nanoAiu: usage.nanoAiu }, model?.prices)
      credits = cost && { ...cost, nanoAiu: toCount(cost.nanoAiu, maxNanoAiu) }
    },
    searched(cost) {
      searchCredits = addCredits(searchCredits, cost)
    },
    credits: () => credits,
    totalCredits,
    answered(headers) {
      serviceRequestId = headers['x-copilot-service-request-id'] ?? serviceRequestId
    },
    end(status) {
      if (hasEnded) return
      hasEnded = true
      metrics.requestEnded({
        kind,
        key: callerKey?.name,
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
        key: callerKey?.name ?? '',
        keyId: callerKey?.id ?? '',
        failed: isFailure(status),
        inputTokens: tokens?.inputTokens ?? 0,
        outputTokens: tokens?.outputTokens ?? 0,
        cachedInputTokens: tokens?.cachedInputTokens ?? 0,
        cacheWriteTokens: tokens?.cacheWriteTokens ?? 0,
        premiumRequests: premiumRequests ?? null,
        measuredNanoAiu: credits?.estimated === false ? credits.nanoAiu : null,
        estimatedNanoAiu: credits?.estimated === true ? credits.nanoAiu : null,
      })
    },
    facts: () => ({
      model: model?.id,
      route,
      fallback,
      ttfbMs: firstByteAt === undefined ? undefined : msTo(firstByteAt),
      tokensIn: tokens?.inputTokens,
      tokensOut: tokens?.outputTokens,
      tokensCached: tokens?.cachedInputTokens,
      serviceRequestId,
      credits: credits && credits.nanoAiu / 1e9,
      estimated: totalCredits()?.estimated || undefined,
      searchCredits: searchCredits && searchCredits.nanoAiu / 1e9,
      ms: msTo(now()),
      ...(losses && { warnings: losses }),
    }),
    record(line) {
      requests.note({ startedAtMs: startedAt, kind, origin, ownerId: callerKey?.id, askedModel, adapted, line })
    },
  }

  function totalCredits(): Credits | undefined {
    return addCredits(credits, searchCredits)
  }

  /** Not negative, even if the clock was set back. */
  function msTo(momentMs: number): number {
    return Math.max(0, momentMs - startedAt)
  }
}

function describeAll(warnings: readonly Warning[]): readonly string[] | undefined {
  return warnings.length === 0 ? undefined : warnings.map(describeWarning)
}
