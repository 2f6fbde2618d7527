import type { Logger } from '../logging/logger.ts'
import { DatabaseError, identify, setAside } from '../sqlite/database.ts'
import type { FileIdentity } from '../sqlite/database.ts'
import { openUsageStore } from './store.ts'
import type { UsageStore } from './store.ts'
import { addEntry, dayOf, noSums, utcDayOf } from './tally.ts'
import type { Mutable, Tally, UsageEntry } from './tally.ts'

export interface UsageRecorderDeps {
  /** Undefined: totals stay in memory. */
  readonly file: string | undefined
  /** Ms since epoch. */
  readonly now: () => number
  /** Returns how to cancel it. Must not keep the process alive. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly log: Pick<Logger, 'warn'>
}

/** Usage by model, day and key, kept over restarts. Nothing here throws or makes a request wait. */
export interface UsageRecorder {
  readonly note: (entry: UsageEntry) => void
  /** The totals from this day on, including those that are not written yet. */
  readonly since: (day: string) => readonly Tally[]
  /**
   * The routed requests of one key on the current day of this machine's calendar. Counts totals that an earlier version has
   * stored under the key's name today, so that an upgrade resets no limit. Reads the file once a day.
   */
  readonly spentToday: (key: { readonly name: string; readonly id: string }) => Spending
  readonly close: () => void
}

interface Spending {
  readonly requests: number
  /** Billionths of AI credits, estimates included. */
  readonly nanoAiu: number
}

/** Between writes; a killed process loses what it has not written. Ms. */
const gatherMs = 5000

/** On close, for another process to finish its write. Ms. */
const lastWaitMs = 500

/** Sums requests in memory and writes the sums later. The first request opens the file and loads SQLite (3 MB). */
export function createUsageRecorder({ file, now, setTimer, log }: UsageRecorderDeps): UsageRecorder {
  const pending = new Map<string, Mutable<Tally>>()
  let store: UsageStore | undefined
  let stopTimer: (() => void) | undefined
  let hasWarned = false
  let minute = Number.NaN
  let days = { day: '', utcDay: '' }
  /** By key (`spenderOf`), for the day that `spentToday` was last called on. */
  let spending = { day: '', byKey: new Map<string, Spending>() }

  /** Computed once a minute: no day begins within one. */
  function today(): Pick<Tally, 'day' | 'utcDay'> {
    const nowMs = now()
    const thisMinute = Math.floor(nowMs / 60_000)
    if (thisMinute !== minute) {
      minute = thisMinute
      days = { day: dayOf(nowMs), utcDay: utcDayOf(nowMs) }
    }
    return days
  }

  function arm(): void {
    if (file === undefined || stopTimer !== undefined) return
    stopTimer = setTimer(() => {
      stopTimer = undefined
      write(0)
    }, gatherMs)
  }

  function write(waitMs: number): void {
    if (file === undefined || pending.size === 0) return
    const current = identifyQuietly(file)
    // Somebody has removed the file; the open descriptor leads nowhere.
    if (current === undefined) closeStore()
    try {
      if (waitMs > 0) closeStore()
      store ??= openUsageStore(file, { waitMs })
      store.add([...pending.values()])
      pending.clear()
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      if (error.problem === 'busy') {
        arm()
        return
      }
      closeStore()
      const aside = error.problem === 'damaged' && current !== undefined ? trySetAside(file, current) : undefined
      warnOnce(error, aside)
      if (aside !== undefined) arm()
    }
  }

  function closeStore(): void {
    store?.close()
    store = undefined
  }

  function warnOnce({ message }: DatabaseError, aside: string | undefined): void {
    if (hasWarned) return
    hasWarned = true
    if (aside === undefined) log.warn(`keeping usage totals in memory only: ${message}`)
    else log.warn({ file: aside }, 'the file of the usage totals was damaged; renamed it and created a new one')
  }

  function unwritten(day: string): readonly Tally[] {
    return structuredClone([...pending.values()].filter((tally) => tally.day >= day))
  }

  /** Undefined if the file cannot be read now. */
  function stored(day: string): readonly Tally[] | undefined {
    // Reading creates no file.
    if (file === undefined || (store === undefined && identifyQuietly(file) === undefined)) return []
    try {
      store ??= openUsageStore(file, { waitMs: 0 })
      return store.since(day)
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      if (error.problem !== 'busy') closeStore()
      return undefined
    }
  }

  return {
    note(entry) {
      const { day, utcDay } = today()
      const { provider, model, key, keyId } = entry
      const name = `${day}/${utcDay}/${provider}/${model}/${keyId}/${key}`
      let tally = pending.get(name)
      if (tally === undefined) {
        tally = { day, utcDay, provider, model, key, keyId, ...noSums }
        pending.set(name, tally)
      }
      addEntry(tally, entry)
      if (spending.day === day && provider !== '')
        addSpending(spending.byKey, spenderOf(entry), { requests: 1, nanoAiu: nanoAiuOf(entry) })
      arm()
    },
    since: (day) => [...(stored(day) ?? []), ...unwritten(day)],
    spentToday({ name, id }) {
      const { day } = today()
      let { byKey } = spending
      if (spending.day !== day) {
        byKey = new Map()
        const written = stored(day)
        for (const tally of [...(written ?? []), ...unwritten(day)]) {
          // A clock that was ahead may have left days in the future.
          if (tally.day !== day || tally.provider === '') continue
          addSpending(byKey, spenderOf(tally), { requests: tally.requests, nanoAiu: nanoAiuOf(tally) })
        }
        if (written !== undefined) spending = { day, byKey }
      }
      const spent = byKey.get(spenderOf({ key: name, keyId: id })) ?? nothingSpent
      const byName = byKey.get(spenderOf({ key: name, keyId: '' })) ?? nothingSpent
      return { requests: spent.requests + byName.requests, nanoAiu: spent.nanoAiu + byName.nanoAiu }
    },
    close() {
      stopTimer?.()
      stopTimer = undefined
      write(lastWaitMs)
      closeStore()
    },
  }
}

const nothingSpent: Spending = { requests: 0, nanoAiu: 0 }

/** Totals of earlier versions have a name only. */
function spenderOf({ key, keyId }: Pick<Tally, 'key' | 'keyId'>): string {
  return keyId === '' ? `name ${key}` : `id ${keyId}`
}

function nanoAiuOf({ measuredNanoAiu, estimatedNanoAiu }: Pick<Tally, 'measuredNanoAiu' | 'estimatedNanoAiu'>): number {
  return (measuredNanoAiu ?? 0) + (estimatedNanoAiu ?? 0)
}

function addSpending(byKey: Map<string, Spending>, key: string, { requests, nanoAiu }: Spending): void {
  const before = byKey.get(key)
  byKey.set(key, { requests: (before?.requests ?? 0) + requests, nanoAiu: (before?.nanoAiu ?? 0) + nanoAiu })
}

function identifyQuietly(file: string): FileIdentity | undefined {
  try {
    return identify(file)
  } catch {
    return undefined
  }
}

function trySetAside(file: string, damaged: FileIdentity): string | undefined {
  try {
    return setAside(file, damaged)
  } catch {
    return undefined
  }
}
