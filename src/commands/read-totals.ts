import { existsSync } from 'node:fs'
import { firstDay, toTotals } from '../totals/periods.ts'
import type { UsageTotals } from '../totals/periods.ts'
import { openUsageStore, UsageStoreError } from '../totals/store.ts'

/** How long a daemon that writes at this very moment is waited for. Ms. */
const waitMs = 200

export interface TotalsRead {
  readonly totals: UsageTotals
  /** Why they are empty. */
  readonly problem?: string
}

/**
 * The totals that daemons have stored; a daemon of this moment may know of some seconds more.
 * @param resetsAt when the account's month ends, where that is known
 */
export function readTotals(file: string, nowMs: number, resetsAt: string | undefined): TotalsRead {
  const none = toTotals([], nowMs, resetsAt)
  if (!existsSync(file)) return { totals: none }
  try {
    const store = openUsageStore(file, { readOnly: true, waitMs })
    try {
      return { totals: toTotals(store.since(firstDay(nowMs)), nowMs, resetsAt) }
    } finally {
      store.close()
    }
  } catch (error) {
    if (error instanceof UsageStoreError) return { totals: none, problem: error.message }
    throw error
  }
}
