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

/** What is counted of one model request, wherever it ends. */
export interface RequestMeter {
  /** Its model is known now, from the registry. */
  readonly routed: (model: { readonly provider: ProviderId; readonly id: string }, route: string) => void
  /** The head of its stream has gone out. */
  readonly firstByte: () => void
  readonly used: (tokens: TokenCounts | undefined) => void
  /** It is over; the first word counts. */
  readonly end: (status: number) => void
  /** Ms from `sinceMs` to the first byte; undefined where there was none. */
  readonly firstByteAfter: (sinceMs: number) => number | undefined
  /** For the line of a request that failed. */
  readonly facts: () => { readonly model?: string; readonly ms: number }
}

/** A caller that left before its answer; nginx made the number known. */
export const callerLeft = 499

export function createRequestMeter({ metrics, totals, now }: MeterDeps, kind: RequestKind): RequestMeter {
  const startedAt = now()
  let model: { readonly provider: ProviderId; readonly id: string } | undefined
  let route: string | undefined
  let firstByteAt: number | undefined
  let tokens: TokenCounts | undefined
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
      tokens = found
    },
    end(status) {
      if (hasEnded) return
      hasEnded = true
      metrics.requestEnded({
        kind,
        model,
        route,
        status,
        seconds: secondsTo(now()),
        firstByteSeconds: firstByteAt === undefined ? undefined : secondsTo(firstByteAt),
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
    firstByteAfter: (sinceMs) => (firstByteAt === undefined ? undefined : Math.max(0, firstByteAt - sinceMs)),
    facts: () => ({ ...(model !== undefined && { model: model.id }), ms: Math.max(0, now() - startedAt) }),
  }

  /** A clock that was set back makes nothing negative. */
  function secondsTo(momentMs: number): number {
    return Math.max(0, momentMs - startedAt) / 1000
  }
}
