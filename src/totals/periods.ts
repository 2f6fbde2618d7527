import { addTallies, dayOf } from './tally.ts'
import type { Tally } from './tally.ts'

/** Sums of one model over a period. Wire form of `GET /usage` and of `usage --json`. */
export interface ModelTotals {
  readonly provider: string
  readonly model: string
  readonly requests: number
  readonly errors: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_input_tokens: number
}

/** Each list begins with the model that was asked most. */
export interface UsageTotals {
  readonly today: readonly ModelTotals[]
  readonly last_7_days: readonly ModelTotals[]
  readonly last_30_days: readonly ModelTotals[]
}

const longestDays = 30

/** The first day that `toTotals` looks at. */
export function firstDay(nowMs: number): string {
  return dayOf(nowMs, longestDays - 1)
}

/** @param tallies from `firstDay` on, in any order */
export function toTotals(tallies: readonly Tally[], nowMs: number): UsageTotals {
  // A clock that was once ahead has left days that are still to come.
  const past = tallies.filter(({ day }) => day <= dayOf(nowMs))
  const over = (days: number): readonly ModelTotals[] => sumsSince(past, dayOf(nowMs, days - 1))
  return { today: over(1), last_7_days: over(7), last_30_days: over(longestDays) }
}

function sumsSince(tallies: readonly Tally[], day: string): readonly ModelTotals[] {
  const sums = new Map<string, Tally>()
  for (const tally of tallies) {
    if (tally.day < day) continue
    const key = `${tally.provider}/${tally.model}`
    const known = sums.get(key)
    sums.set(key, known === undefined ? tally : addTallies(known, tally))
  }
  return [...sums.values()]
    .toSorted((one, other) => other.requests - one.requests || (one.model < other.model ? -1 : 1))
    .map(({ provider, model, requests, errors, inputTokens, outputTokens, cachedInputTokens }) => ({
      provider,
      model,
      requests,
      errors,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cached_input_tokens: cachedInputTokens,
    }))
}
