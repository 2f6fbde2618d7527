import type { Initiator } from '../executors/executor.ts'
import { addCredits, creditsOf } from '../models/credits.ts'
import type { Credits } from '../models/credits.ts'
import type { Model } from '../models/model.ts'
import type { UsageRecorder } from '../totals/recorder.ts'
import type { Usage } from '../translate/turn.ts'
import type { Metrics, RequestKind, TokenCounts } from './metrics.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a model request, from its admission on. */
    meter: RequestMeter | undefined
  }
}

export interface MeterDeps {
  readonly metrics: Metrics
  readonly totals: Pick<UsageRecorder, 'note'>
  /** Ms since epoch. */
  readonly now: () => number
}

/** Undefined where it is not known; the log leaves that out. */
interface RequestFacts {
  readonly model: string | undefined
  readonly route: string | undefined
  readonly ttfbMs: number | undefined
  readonly tokensIn: number | undefined
  readonly tokensOut: number | undefined
  readonly tokensCached: number | undefined
  /** What Copilot calls its answer. */
  readonly serviceRequestId: string | undefined
  /** AI credits of the reply. */
  readonly credits: number | undefined
  /** Upstream stated no credits, or not all; a part is reckoned from prices. */
  readonly estimated: true | undefined
  /** AI credits of the web searches that were run for the reply, which have log lines of their own. */
  readonly searchCredits: number | undefined
  readonly ms: number
}

/** What is billed of a model. */
type MeteredModel = Pick<Model, 'provider' | 'id' | 'prices' | 'premiumMultiplier'>

/** What is counted of one model request, wherever it ends. */
export interface RequestMeter {
  /** Its model is known now, from the registry. */
  readonly routed: (model: MeteredModel, route: string) => void
  /** Upstream has taken the request as one of this initiator's. */
  readonly accepted: (initiator: Initiator) => void
  /** The head of its stream has gone out. */
  readonly firstByte: () => void
  /** Upstream has answered with these headers. */
  readonly answered: (headers: Readonly<Record<string, string>>) => void
  readonly used: (usage: Usage | undefined) => void
  /** A web search was run for the reply; it is counted as a request of its own. */
  readonly searched: (cost: Credits | undefined) => void
  /** Of the reply alone. */
  readonly credits: () => Credits | undefined
  /** It is over; the first word counts. */
  readonly end: (status: number) => void
  /** For the line of the request in the log, times from its arrival on, as those that are counted. */
  readonly facts: () => RequestFacts
  /** Header that says what the reply costs, its web searches included; none where that is not known. To be asked when the answer is complete. */
  readonly creditsHeader: () => Readonly<Record<string, string>>
}

/** More than any model reads in one request. */
const mostTokens = 1e9
/** A million credits, US$10,000. */
const mostNanoAiu = 1e15

/** Upstream may state anything: counters never go down, and the totals take whole numbers only. */
function toCount(stated: number, most = mostTokens): number {
  return Number.isFinite(stated) ? Math.min(most, Math.max(0, Math.round(stated))) : 0
}

/** A caller that left before its answer; nginx made the number known. */
export const callerLeft = 499

/** @param keyName of the key that the caller presented */
export function createRequestMeter(
  { metrics, totals, now }: MeterDeps,
  kind: RequestKind,
  keyName: string | undefined,
): RequestMeter {
  const startedAt = now()
  let model: MeteredModel | undefined
  let route: string | undefined
  let firstByteAt: number | undefined
  let tokens: TokenCounts | undefined
  let serviceRequestId: string | undefined
  let credits: Credits | undefined
  let searchCredits: Credits | undefined
  let premiumRequests: number | undefined
  let hasEnded = false
  return {
    routed(found, way) {
      model = found
      route = way
    },
    accepted(initiator) {
      if (model?.premiumMultiplier !== undefined) premiumRequests = initiator === 'user' ? model.premiumMultiplier : 0
    },
    firstByte() {
      firstByteAt ??= now()
    },
    used(found) {
      tokens = found && {
        inputTokens: toCount(found.inputTokens),
        outputTokens: toCount(found.outputTokens),
        cachedInputTokens: toCount(found.cachedInputTokens),
        cacheWriteTokens: toCount(found.cacheWriteTokens ?? 0),
      }
      const cost = found && tokens && creditsOf({ ...tokens, nanoAiu: found.nanoAiu }, model?.prices)
      credits = cost && { ...cost, nanoAiu: toCount(cost.nanoAiu, mostNanoAiu) }
    },
    searched(cost) {
      searchCredits = addCredits(searchCredits, cost)
    },
    credits: () => credits,
    answered(headers) {
      serviceRequestId = headers['x-copilot-service-request-id'] ?? serviceRequestId
    },
    end(status) {
      if (hasEnded) return
      hasEnded = true
      metrics.requestEnded({
        kind,
        model,
        route,
        status,
        seconds: msTo(now()) / 1000,
        firstByteSeconds: firstByteAt === undefined ? undefined : msTo(firstByteAt) / 1000,
        tokens,
        credits,
        premiumRequests,
      })
      // To count tokens is no use of a model.
      if (model === undefined || kind === 'count_tokens') return
      totals.note({
        provider: model.provider,
        model: model.id,
        key: keyName ?? '',
        failed: status >= 400 && status !== callerLeft,
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
      ttfbMs: firstByteAt === undefined ? undefined : msTo(firstByteAt),
      tokensIn: tokens?.inputTokens,
      tokensOut: tokens?.outputTokens,
      tokensCached: tokens?.cachedInputTokens,
      serviceRequestId,
      credits: credits && credits.nanoAiu / 1e9,
      estimated: addCredits(credits, searchCredits)?.estimated || undefined,
      searchCredits: searchCredits && searchCredits.nanoAiu / 1e9,
      ms: msTo(now()),
    }),
    creditsHeader() {
      const whole = addCredits(credits, searchCredits)
      if (whole === undefined) return {}
      // Never in the form 1e-7.
      const amount = (whole.nanoAiu / 1e9).toFixed(9).replace(/\.?0+$/, '')
      return { 'x-copilot-proxy-credits': whole.estimated ? `${amount};estimated` : amount }
    },
  }

  /** A clock that was set back makes nothing negative. */
  function msTo(momentMs: number): number {
    return Math.max(0, momentMs - startedAt)
  }
}
