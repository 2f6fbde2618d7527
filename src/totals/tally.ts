import type { ProviderId } from '../executors/executor.ts'

/** What is added up over requests. */
export interface Sums {
  readonly requests: number
  /** Those among them that ended in an error. */
  readonly errors: number
  /** Cached ones included, and those that were written to the cache. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  /** As GitHub counts them: one times the model's multiplier for each request of a user's. Null: no multiplier is known. */
  readonly premiumRequests: number | null
  /** Billionths of AI credits that upstream has stated. Null: it stated none. */
  readonly measuredNanoAiu: number | null
  /** The same of replies with which upstream stated none, reckoned from prices. Null: no price was known. */
  readonly estimatedNanoAiu: number | null
}

/** What was asked of one model on one day with one key. */
export interface Tally extends Sums {
  /** `2026-11-20`, as this machine's calendar has it. */
  readonly day: string
  /** The same in UTC, by which GitHub bills. */
  readonly utcDay: string
  readonly provider: string
  /** The model's own id. */
  readonly model: string
  /** Name of the key that the caller presented; '' where it needed none. */
  readonly key: string
}

/** One request. */
export interface UsageEntry extends Omit<Tally, 'day' | 'utcDay' | 'provider' | 'requests' | 'errors'> {
  readonly provider: ProviderId
  readonly failed: boolean
}

export const noSums: Sums = {
  requests: 0,
  errors: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  premiumRequests: null,
  measuredNanoAiu: null,
  estimatedNanoAiu: null,
}

/** The sums of both; all else is that of the first. */
export function addTallies<First extends Sums>(one: First, other: Sums): First {
  return {
    ...one,
    requests: one.requests + other.requests,
    errors: one.errors + other.errors,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    premiumRequests: addKnown(one.premiumRequests, other.premiumRequests),
    measuredNanoAiu: addKnown(one.measuredNanoAiu, other.measuredNanoAiu),
    estimatedNanoAiu: addKnown(one.estimatedNanoAiu, other.estimatedNanoAiu),
  }
}

/** What is not known of one of them is left out, and not known where it is known of neither. */
export function addKnown(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other
}

/** The day of this machine's calendar, `daysBack` days before the one that `nowMs` falls into. */
export function dayOf(nowMs: number, daysBack = 0): string {
  const date = new Date(nowMs)
  // By the calendar: not every day has 24 hours.
  date.setDate(date.getDate() - daysBack)
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
  return parts.map((part, at) => String(part).padStart(at === 0 ? 4 : 2, '0')).join('-')
}

export function utcDayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10)
}
