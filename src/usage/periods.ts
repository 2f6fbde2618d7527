import type { DayTotals, KeyTotals, ModelTotals, Periods, SessionTotals, TotalsRow, UsageTotals } from '../api/usage.ts'
import { addKnown, addSums, dayOf, noSums, utcDayOf } from './tally.ts'
import type { Mutable, Sums, Tally } from './tally.ts'

const longestDays = 30

/** The first day that `toTotals` needs: a month may have begun 31 days ago, and UTC may be a day ahead. */
export function firstDay(nowMs: number): string {
  return dayOf(nowMs, 32)
}

/**
 * @param tallies from `firstDay` on, in any order
 * @param resetsAt end of the account's billing month; without it, UTC calendar months count
 */
export function toTotals(tallies: readonly Tally[], nowMs: number, resetsAt?: string): UsageTotals {
  // A clock that was ahead may have left days in the future.
  const past = tallies.filter(({ day }) => day <= dayOf(nowMs))
  const since = monthStart(nowMs, resetsAt)
  const inDays = (days: number) => past.filter(({ day }) => day >= dayOf(nowMs, days - 1))
  const periods = {
    today: inDays(1),
    last_7_days: inDays(7),
    month_to_date: past.filter(({ utcDay }) => utcDay >= since),
    last_30_days: inDays(longestDays),
  }
  const over = <Row>(sumUp: (tallies: readonly Tally[]) => readonly Row[]): Periods<Row> => ({
    today: sumUp(periods.today),
    last_7_days: sumUp(periods.last_7_days),
    month_to_date: sumUp(periods.month_to_date),
    last_30_days: sumUp(periods.last_30_days),
  })
  return {
    ...over(byModel),
    by_key: over(byKey),
    by_session: over(bySession),
    by_day: byDay(periods.last_30_days),
    month: toRow({ since }, sumOf(periods.month_to_date)),
  }
}

function byModel(tallies: readonly Tally[]): readonly ModelTotals[] {
  return sumsBy(tallies, ({ provider, model }) => `${provider}/${model}`)
    .toSorted((one, other) => other.requests - one.requests || (one.model < other.model ? -1 : 1))
    .map((sum) => toRow({ provider: sum.provider, model: sum.model }, sum))
}

function byKey(tallies: readonly Tally[]): readonly KeyTotals[] {
  return sumsBy(tallies, ({ key }) => key)
    .toSorted((one, other) => other.requests - one.requests || (one.key < other.key ? -1 : 1))
    .map((sum) => toRow({ key: sum.key === '' ? null : sum.key, last_day: sum.day }, sum))
}

/** More are of no use to a reader. */
const maxSessions = 100

function bySession(tallies: readonly Tally[]): readonly SessionTotals[] {
  const named = tallies.filter(({ client, session }) => client !== '' || session !== '')
  return sumsBy(named, ({ client, session, key, keyId }) => JSON.stringify([session, client, keyId, key]))
    .map(({ session, client, key, day, ...sums }) =>
      toRow({ session: session || null, client: client || null, key: key || null, last_day: day }, sums),
    )
    .toSorted((one, other) => (other.credits ?? 0) - (one.credits ?? 0) || other.requests - one.requests)
    .slice(0, maxSessions)
}

function byDay(tallies: readonly Tally[]): readonly DayTotals[] {
  return sumsBy(tallies, ({ day }) => day)
    .toSorted((one, other) => (one.day < other.day ? 1 : -1))
    .map((sum) => toRow({ day: sum.day }, sum))
}

function sumsBy(tallies: readonly Tally[], nameOf: (tally: Tally) => string): readonly Tally[] {
  const sums = new Map<string, Mutable<Tally>>()
  for (const tally of tallies) {
    const known = sums.get(nameOf(tally))
    if (known === undefined) sums.set(nameOf(tally), { ...tally })
    else {
      addSums(known, tally)
      if (tally.day > known.day) known.day = tally.day
    }
  }
  return [...sums.values()]
}

function sumOf(tallies: readonly Tally[]): Sums {
  const sums: Mutable<Sums> = { ...noSums }
  for (const tally of tallies) addSums(sums, tally)
  return sums
}

function toRow<Label extends object>(label: Label, sums: Sums): Label & TotalsRow {
  const { inputTokens, cachedInputTokens, measuredNanoAiu, estimatedNanoAiu } = sums
  const nanoAiu = addKnown(measuredNanoAiu, estimatedNanoAiu)
  return {
    ...label,
    requests: sums.requests,
    errors: sums.errors,
    premium_requests: sums.premiumRequests,
    input_tokens: inputTokens,
    output_tokens: sums.outputTokens,
    cached_input_tokens: cachedInputTokens,
    cache_write_tokens: sums.cacheWriteTokens,
    cache_hit_rate: inputTokens === 0 ? null : cachedInputTokens / inputTokens,
    credits: nanoAiu === null ? null : nanoAiu / 1e9,
    estimated_credits: estimatedNanoAiu === null ? null : estimatedNanoAiu / 1e9,
    estimated: estimatedNanoAiu !== null,
  }
}

/** In UTC, as GitHub bills. */
function monthStart(nowMs: number, resetsAt: string | undefined): string {
  const now = new Date(nowMs)
  const reset = new Date(resetsAt ?? '')
  const monthDay = Number.isNaN(reset.getTime()) ? 1 : reset.getUTCDate()
  const startIn = (month: number): string => {
    const lastDay = new Date(Date.UTC(now.getUTCFullYear(), month + 1, 0)).getUTCDate()
    return utcDayOf(Date.UTC(now.getUTCFullYear(), month, Math.min(monthDay, lastDay)))
  }
  const start = startIn(now.getUTCMonth())
  return start <= utcDayOf(nowMs) ? start : startIn(now.getUTCMonth() - 1)
}
