import { existsSync } from 'node:fs'
import { firstDay, toTotals } from '../totals/periods.ts'
import type { UsageTotals } from '../totals/periods.ts'
import { openUsageStore, UsageStoreError } from '../totals/store.ts'

/** How long a daemon that writes at this very moment is waited for. Ms. */
const waitMs = 200

export const noTotals: UsageTotals = { today: [], last_7_days: [], last_30_days: [] }

export type TotalsRead =
  | { readonly ok: true; readonly totals: UsageTotals }
  | { readonly ok: false; readonly problem: string }

/** The totals that daemons have stored; a daemon of this moment may know of some seconds more. */
export function readTotals(file: string, nowMs: number): TotalsRead {
  if (!existsSync(file)) return { ok: true, totals: noTotals }
  try {
    const store = openUsageStore(file, { readOnly: true, waitMs })
    try {
      return { ok: true, totals: toTotals(store.since(firstDay(nowMs)), nowMs) }
    } finally {
      store.close()
    }
  } catch (error) {
    if (error instanceof UsageStoreError) return { ok: false, problem: error.message }
    throw error
  }
}
