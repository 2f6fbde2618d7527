import type { ProviderId } from '../executors/executor.ts'

/** What was asked of one model on one day. */
export interface Tally {
  /** `2026-11-20`, as this machine's calendar has it. */
  readonly day: string
  readonly provider: string
  /** The model's own id. */
  readonly model: string
  readonly requests: number
  /** Those among them that ended in an error. */
  readonly errors: number
  /** Cached ones included. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
}

/** One request. */
export interface UsageEntry extends Omit<Tally, 'day' | 'provider' | 'requests' | 'errors'> {
  readonly provider: ProviderId
  readonly failed: boolean
}

export function addTallies(one: Tally, other: Tally): Tally {
  return {
    ...one,
    requests: one.requests + other.requests,
    errors: one.errors + other.errors,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
  }
}

/** The day of this machine's calendar, `daysBack` days before the one that `nowMs` falls into. */
export function dayOf(nowMs: number, daysBack = 0): string {
  const date = new Date(nowMs)
  // By the calendar: not every day has 24 hours.
  date.setDate(date.getDate() - daysBack)
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
  return parts.map((part, at) => String(part).padStart(at === 0 ? 4 : 2, '0')).join('-')
}
