import type { Logger } from '../logging/logger.ts'
import { DatabaseError, identify, setAside } from '../sqlite/database.ts'
import type { FileIdentity } from '../sqlite/database.ts'
import { openUsageStore } from './store.ts'
import type { UsageStore } from './store.ts'
import { addEntry, dayOf, noSums, utcDayOf } from './tally.ts'
import type { CallerNames, Mutable, Tally, UsageEntry } from './tally.ts'

export interface UsageRecorderDeps {
  /** Undefined: totals stay in memory. */
  readonly file: string | undefined
  /** Only reads the file, and warns if it cannot: another process writes it. */
  readonly isReadOnly?: boolean
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
   * The routed requests of one key, or of all callers, on the current day or in the current month of this machine's calendar.
   * Counts totals that an earlier version has stored under the key's name, so that an upgrade resets no limit. Reads the file
   * once a day.
   */
  readonly spent: (period: Period, key?: { readonly name: string; readonly id: string }) => Spending
  /** Lifts the budget for the current day; also for later starts, if that can be stored. */
  readonly liftBudget: () => void
  readonly isBudgetLifted: () => boolean
  readonly close: () => void
}

/** Of this machine's calendar. */
export type Period = 'day' | 'month'

interface Spending {
  /** Those that had a cost. Others, which upstream refused or the caller left, say nothing about what a request costs. */
  readonly requests: number
  /** Billionths of AI credits, estimates included. */
  readonly nanoAiu: number
}

/** Between writes; a killed process loses what it has not written. Ms. */
const gatherMs = 5000

/** Per day and key. The requests of further sessions are counted without their session, so that no caller fills the file. */
const maxSessions = 200
/** Days for which the totals of sessions are kept, as `firstDay` of the periods. */
const sessionDays = 32

/** Without a writer, for another process to finish its write. Ms. */
const readWaitMs = 200

/** On close, for another process to finish its write. Ms. */
const lastWaitMs = 500

/** Sums requests in memory and writes the sums later. The first request opens the file and loads SQLite (3 MB). */
export function createUsageRecorder({
  file,
  isReadOnly = false,
  now,
  setTimer,
  log,
}: UsageRecorderDeps): UsageRecorder {
  const pending = new Map<string, Mutable<Tally>>()
  let store: UsageStore | undefined
  let stopTimer: (() => void) | undefined
  let hasWarned = false
  /** Whether old sessions were forgotten in this run. */
  let hasForgotten = false
  let minute = Number.NaN
  let days = { day: '', utcDay: '' }
  /** By period and key (`spendersOf`), for the day that `spent` was last called on. */
  let spending = { day: '', bySpender: new Map<string, Spending>() }
  let lifted: { readonly day: string; readonly isLifted: boolean } | undefined
  /** By key, those of the day. */
  let sessions = { day: '', byKey: new Map<string, Set<string>>() }

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
      if (!hasForgotten) store.forgetSessionsBefore(dayOf(now(), sessionDays))
      hasForgotten = true
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
    return hasFile() ? ask((opened) => opened.since(day)) : []
  }

  function hasFile(): boolean {
    return file !== undefined && (store !== undefined || identifyQuietly(file) !== undefined)
  }

  /** Undefined if there is no file, which reading does not create, or if it cannot be read now. */
  function ask<Answer>(question: (opened: UsageStore) => Answer): Answer | undefined {
    if (file === undefined || !hasFile()) return undefined
    try {
      store ??= openUsageStore(file, isReadOnly ? { readOnly: true, waitMs: readWaitMs } : { waitMs: 0 })
      return question(store)
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      if (error.problem !== 'busy') closeStore()
      if (isReadOnly) log.warn(error.message)
      return undefined
    }
  }

  /** The names of the caller, or none if the key has too many sessions today. */
  function callerOf({ client, session, key, keyId }: UsageEntry, day: string): CallerNames {
    if (client === '' && session === '') return { client, session }
    if (sessions.day !== day) sessions = { day, byKey: new Map() }
    const spender = spenderOf({ key, keyId })
    const known = sessions.byKey.get(spender) ?? new Set()
    sessions.byKey.set(spender, known)
    const name = `${session}/${client}`
    if (known.size >= maxSessions && !known.has(name)) return { client: '', session: '' }
    known.add(name)
    return { client, session }
  }

  return {
    note(entry) {
      const { day, utcDay } = today()
      const { provider, model, key, keyId } = entry
      const { client, session } = callerOf(entry, day)
      const name = JSON.stringify([day, utcDay, provider, model, keyId, key, client, session])
      let tally = pending.get(name)
      if (tally === undefined) {
        tally = { day, utcDay, provider, model, key, keyId, client, session, ...noSums }
        pending.set(name, tally)
      }
      addEntry(tally, entry)
      if (spending.day === day && provider !== '') {
        const nanoAiu = nanoAiuOf(entry)
        const added = { requests: nanoAiu > 0 ? 1 : 0, nanoAiu }
        for (const period of ['day', 'month'] as const) addSpending(spending.bySpender, period, entry, added)
      }
      arm()
    },
    since: (day) => [...(stored(day) ?? []), ...unwritten(day)],
    spent(period, key) {
      const { day } = today()
      let { bySpender } = spending
      if (spending.day !== day) {
        bySpender = new Map()
        const since = firstOfMonth(day)
        const written = stored(since)
        for (const tally of [...(written ?? []), ...unwritten(since)]) {
          // A clock that was ahead may have left days in the future.
          if (tally.day > day || tally.provider === '') continue
          const nanoAiu = nanoAiuOf(tally)
          // Stored sums do not tell which requests had a cost.
          const added = { requests: nanoAiu > 0 ? Math.max(1, tally.requests - tally.errors) : 0, nanoAiu }
          addSpending(bySpender, 'month', tally, added)
          if (tally.day === day) addSpending(bySpender, 'day', tally, added)
        }
        if (written !== undefined) spending = { day, bySpender }
      }
      const of = (spender: string): Spending => bySpender.get(`${period} ${spender}`) ?? nothingSpent
      if (key === undefined) return of(everybody)
      const spent = of(spenderOf({ key: key.name, keyId: key.id }))
      const byName = of(spenderOf({ key: key.name, keyId: '' }))
      return { requests: spent.requests + byName.requests, nanoAiu: spent.nanoAiu + byName.nanoAiu }
    },
    liftBudget() {
      const { day } = today()
      lifted = { day, isLifted: true }
      if (file === undefined) return
      try {
        closeStore()
        store = openUsageStore(file, { waitMs: lastWaitMs })
        store.liftBudget(day)
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error
        log.warn(`the budget is lifted only until copilot-proxy stops: ${error.message}`)
      }
    },
    isBudgetLifted() {
      const { day } = today()
      if (lifted?.day !== day) {
        const isLifted = ask((opened) => opened.isBudgetLifted(day))
        if (isLifted === undefined) return false
        lifted = { day, isLifted }
      }
      return lifted.isLifted
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

/** The spender that stands for all callers together. */
const everybody = 'all'

/** Adds to the sums of the key and of all callers. */
function addSpending(
  bySpender: Map<string, Spending>,
  period: Period,
  of: Pick<Tally, 'key' | 'keyId'>,
  { requests, nanoAiu }: Spending,
): void {
  for (const spender of [everybody, spenderOf(of)]) {
    const name = `${period} ${spender}`
    const before = bySpender.get(name) ?? nothingSpent
    bySpender.set(name, { requests: before.requests + requests, nanoAiu: before.nanoAiu + nanoAiu })
  }
}

/** @param day `2026-11-20` */
function firstOfMonth(day: string): string {
  return `${day.slice(0, 8)}01`
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
