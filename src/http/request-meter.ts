import type { ProviderId } from '../executors/executor.ts'
import type { UsageRecorder } from '../totals/recorder.ts'
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
  readonly ms: number
}

/** What is counted of one model request, wherever it ends. */
export interface RequestMeter {
  /** Its model is known now, from the registry. */
  readonly routed: (model: { readonly provider: ProviderId; readonly id: string }, route: string) => void
  /** The head of its stream has gone out. */
  readonly firstByte: () => void
  readonly used: (tokens: TokenCounts | undefined) => void
  /** Upstream has answered with these headers. */
  readonly answered: (headers: Readonly<Record<string, string>>) => void
  /** It is over; the first word counts. */
  readonly end: (status: number) => void
  /** For the line of the request in the log, times from its arrival on, as those that are counted. */
  readonly facts: () => RequestFacts
}

/** More than any model reads in one request. */
const mostTokens = 1e9

/** Upstream may state anything: counters never go down, and the totals take whole numbers only. */
function toCount(stated: number): number {
  return Number.isFinite(stated) ? Math.min(mostTokens, Math.max(0, Math.round(stated))) : 0
}

/** A caller that left before its answer; nginx made the number known. */
export const callerLeft = 499

export function createRequestMeter({ metrics, totals, now }: MeterDeps, kind: RequestKind): RequestMeter {
  const startedAt = now()
  let model: { readonly provider: ProviderId; readonly id: string } | undefined
  let route: string | undefined
  let firstByteAt: number | undefined
  let tokens: TokenCounts | undefined
  let serviceRequestId: string | undefined
  let hasEnded = false
  return {
    routed(found, way) {
      model = found
      route = way
    },
    firstByte() {
      firstByteAt ??= now()
    },
    used(found) {
      tokens = found && {
        inputTokens: toCount(found.inputTokens),
        outputTokens: toCount(found.outputTokens),
        cachedInputTokens: toCount(found.cachedInputTokens),
      }
    },
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
      })
      // To count tokens is no use of a model.
      if (model === undefined || kind === 'count_tokens') return
      totals.note({
        provider: model.provider,
        model: model.id,
        failed: status >= 400 && status !== callerLeft,
        inputTokens: tokens?.inputTokens ?? 0,
        outputTokens: tokens?.outputTokens ?? 0,
        cachedInputTokens: tokens?.cachedInputTokens ?? 0,
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
      ms: msTo(now()),
    }),
  }

  /** A clock that was set back makes nothing negative. */
  function msTo(momentMs: number): number {
    return Math.max(0, momentMs - startedAt)
  }
}
