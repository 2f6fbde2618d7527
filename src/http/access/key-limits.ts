import type { Budget } from '../../api/usage.ts'
import type { CallerKey } from '../../config/caller.ts'
import { keyLimitsOf } from '../../config/api-keys.ts'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Warning } from '../../translate/warning.ts'
import type { Period, UsageRecorder } from '../../usage/recorder.ts'

export interface CreditLimit {
  /**
   * Checks the credits that a key has left today, and those that the owner has left today and this month.
   * @throws Fault `credits_spent`
   */
  readonly enter: (key: CallerKey | undefined) => Entry
  readonly budgets: () => readonly Budget[]
  /** Lifts the owner's budgets, not the limits of keys, until midnight. */
  readonly liftToday: () => void
}

/** A request that the limits allow. */
interface Entry {
  /** Ends the request; calling it twice is harmless. */
  readonly leave: () => void
  /** Budgets that are nearly used up. */
  readonly warnings: readonly Warning[]
}

export interface CreditLimitDeps {
  readonly totals: Pick<UsageRecorder, 'spent' | 'liftBudget' | 'isBudgetLifted'>
  readonly config: () => Pick<Config, 'server' | 'usage'>
  /** Ms since epoch. */
  readonly now: () => number
  readonly log: Pick<Logger, 'warn'>
}

/** A limit of one key, or without a key of all callers together. */
interface Limit {
  readonly period: Period
  /** AI credits. */
  readonly limit: number
  readonly key?: CallerKey
}

/** Share of a budget from which its use is warned of. */
const warnedShare = 0.8

const nothing: Entry = { leave: () => {}, warnings: [] }

/**
 * Limits credits in a calendar day or month of this machine. The cost of a request is known only at its end, so each
 * running request counts with the average of the requests of the period.
 */
export function createCreditLimit({ totals, config, now, log }: CreditLimitDeps): CreditLimit {
  /** By the id of the key; '' for all. */
  const running = new Map<string, number>()
  /** The budgets that were warned of, with the day or month. */
  const warned = new Set<string>()

  function budgetsNow(): readonly Limit[] {
    const { creditsPerDay, creditsPerMonth } = config().usage
    const all = [
      { period: 'day', limit: creditsPerDay },
      { period: 'month', limit: creditsPerMonth },
    ] as const
    return all.filter(({ limit }) => limit > 0)
  }

  function keyLimits(key: CallerKey | undefined): readonly Limit[] {
    const perDay = keyLimitsOf(config().server, key?.name)?.['credits-per-day']
    return key === undefined || perDay === undefined ? [] : [{ period: 'day', limit: perDay, key }]
  }

  /** @throws Fault `credits_spent` */
  function check({ period, limit, key }: Limit): void {
    const { requests, nanoAiu } = totals.spent(period, key)
    const open = running.get(key?.id ?? '') ?? 0
    const reserved = requests === 0 ? 0 : (open * nanoAiu) / requests
    if ((nanoAiu + reserved) / 1e9 < limit) return
    if (key === undefined && totals.isBudgetLifted()) return
    // If only the estimates of running requests exceed the limit, a retry may succeed once they have ended.
    const retryAfterSeconds = nanoAiu / 1e9 < limit ? 5 : secondsToEnd(period, now())
    throw new Fault({
      kind: 'credits_spent',
      limit,
      period,
      ...(key !== undefined && { keyName: key.name }),
      retryAfterSeconds,
    })
  }

  function budgetOf({ period, limit }: Limit): Budget {
    const used = totals.spent(period).nanoAiu / 1e9
    const state =
      used < limit * warnedShare ? 'ok' : used < limit ? 'warning' : totals.isBudgetLifted() ? 'lifted' : 'spent'
    return { period, limit, used, state }
  }

  function warningOf({ period, limit, used, state }: Budget): readonly Warning[] {
    if (state === 'ok') return []
    const setting = `usage.credits-per-${period}`
    const date = new Date(now())
    const when = [setting, limit, date.getFullYear(), date.getMonth(), ...(period === 'day' ? [date.getDate()] : [])]
    if (!warned.has(when.join())) {
      warned.add(when.join())
      const percent = Math.floor((100 * used) / limit)
      log.warn({ used, limit }, `${percent} % of your credits for this ${period} are used (${setting})`)
    }
    return [{ code: 'budget', field: setting }]
  }

  function count(id: string, change: number): void {
    const open = (running.get(id) ?? 0) + change
    if (open === 0) running.delete(id)
    else running.set(id, open)
  }

  return {
    enter(key) {
      const budgets = budgetsNow()
      const limits = [...keyLimits(key), ...budgets]
      if (limits.length === 0) return nothing
      for (const limit of limits) check(limit)
      const warnings = budgets.flatMap((budget) => warningOf(budgetOf(budget)))
      const counted = new Set(limits.map((limit) => limit.key?.id ?? ''))
      for (const id of counted) count(id, 1)
      let isOpen = true
      const leave = (): void => {
        if (!isOpen) return
        isOpen = false
        for (const id of counted) count(id, -1)
      }
      return { leave, warnings }
    },
    budgets: () => budgetsNow().map(budgetOf),
    liftToday: totals.liftBudget,
  }
}

/** Until the calendar day or month of this machine ends. */
function secondsToEnd(period: Period, nowMs: number): number {
  const date = new Date(nowMs)
  const end =
    period === 'day'
      ? new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1)
      : new Date(date.getFullYear(), date.getMonth() + 1, 1)
  return Math.max(1, Math.ceil((end.getTime() - nowMs) / 1000))
}
