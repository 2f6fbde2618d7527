import type { ProviderId } from '../executors/executor.ts'

interface Amounts {
  /** Including tokens read from the cache and tokens written to it. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  /** As GitHub counts them: the model's multiplier for each request of a user. Null: no multiplier is known. */
  readonly premiumRequests: number | null
  /** Billionths of AI credits, as upstream stated them. Null: it stated none. */
  readonly measuredNanoAiu: number | null
  /** Estimated from prices for replies with which upstream stated none. Null: no price was known. */
  readonly estimatedNanoAiu: number | null
}

export interface Sums extends Amounts {
  readonly requests: number
  /** The requests that ended in an error. */
  readonly errors: number
}

/** The caller of a request, as far as it says who it is. */
export interface CallerNames {
  /** The program, as in the list of requests; '' if it does not say. */
  readonly client: string
  /** The caller's conversation (`sessionLabel`); '' if it names none. */
  readonly session: string
}

/** The sums of one model, on one day, with one key, in one session. */
export interface Tally extends Sums, CallerNames {
  /** `2026-11-20`, in this machine's calendar. */
  readonly day: string
  /** The day in UTC, by which GitHub bills. */
  readonly utcDay: string
  readonly provider: string
  readonly model: string
  /** Name of the key that the caller presented; '' for none. */
  readonly key: string
  /** Id of that key; '' for none, and in totals of versions that counted by name only. */
  readonly keyId: string
}

export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** One request. */
export interface UsageEntry extends Amounts, CallerNames {
  /** '' if the model could not be routed. */
  readonly provider: ProviderId | ''
  readonly model: string
  readonly key: string
  readonly keyId: string
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

/** Adds one request, in place. */
export function addEntry(sums: Mutable<Sums>, entry: UsageEntry): void {
  sums.requests += 1
  if (entry.failed) sums.errors += 1
  addAmounts(sums, entry)
}

/** Adds `other` to `sums`, in place. */
export function addSums(sums: Mutable<Sums>, other: Sums): void {
  sums.requests += other.requests
  sums.errors += other.errors
  addAmounts(sums, other)
}

function addAmounts(sums: Mutable<Amounts>, other: Amounts): void {
  sums.inputTokens += other.inputTokens
  sums.outputTokens += other.outputTokens
  sums.cachedInputTokens += other.cachedInputTokens
  sums.cacheWriteTokens += other.cacheWriteTokens
  sums.premiumRequests = addKnown(sums.premiumRequests, other.premiumRequests)
  sums.measuredNanoAiu = addKnown(sums.measuredNanoAiu, other.measuredNanoAiu)
  sums.estimatedNanoAiu = addKnown(sums.estimatedNanoAiu, other.estimatedNanoAiu)
}

/** Null counts as nothing; null only if both are. */
export function addKnown(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other
}

/** The day in this machine's calendar, `daysBack` days before that of `nowMs`. */
export function dayOf(nowMs: number, daysBack = 0): string {
  const date = new Date(nowMs)
  // Not a multiple of 24 hours: daylight saving changes the length of a day.
  date.setDate(date.getDate() - daysBack)
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
  return parts.map((part, at) => String(part).padStart(at === 0 ? 4 : 2, '0')).join('-')
}

export function utcDayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10)
}
