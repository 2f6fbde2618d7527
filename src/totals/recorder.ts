import type { Logger } from '../log.ts'
import { identify, openUsageStore, setAside, UsageStoreError } from './store.ts'
import type { UsageStore } from './store.ts'
import { addTallies, dayOf, utcDayOf } from './tally.ts'
import type { Tally, UsageEntry } from './tally.ts'

export interface UsageRecorderDeps {
  /** Undefined: totals are kept in memory alone. */
  readonly file: string | undefined
  /** Ms since epoch. */
  readonly now: () => number
  /** Returns what stops it. It keeps no process alive. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly log: Pick<Logger, 'warn'>
}

/** What was asked of which model, kept over restarts. Nothing here throws or makes a request wait. */
export interface UsageRecorder {
  readonly note: (entry: UsageEntry) => void
  /** From this day on, what is not written yet included. */
  readonly since: (day: string) => readonly Tally[]
  readonly close: () => void
}

/** How long totals gather before they are written. What a killed process had not written is lost. Ms. */
const gatherMs = 5000

/** For another process to finish its write, when there is no later time to try again. Ms. */
const lastWaitMs = 500

/**
 * Adds up requests in memory and writes the sums now and then, off their way. The file is opened, and SQLite loaded, with
 * the first of them: a daemon that serves nobody has neither.
 */
export function createUsageRecorder({ file, now, setTimer, log }: UsageRecorderDeps): UsageRecorder {
  const pending = new Map<string, Tally>()
  let store: UsageStore | undefined
  let stopTimer: (() => void) | undefined
  let hasWarned = false
  let minute = Number.NaN
  let days = { day: '', utcDay: '' }

  /** The calendar is asked once a minute: no day begins within one. */
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
    const found = identifyQuietly(file)
    // Somebody has removed it; what is open leads nowhere.
    if (found === undefined) leave()
    try {
      if (waitMs > 0) leave()
      store ??= openUsageStore(file, { waitMs })
      store.add([...pending.values()])
      pending.clear()
    } catch (error) {
      if (!(error instanceof UsageStoreError)) throw error
      if (error.problem === 'busy') {
        arm()
        return
      }
      leave()
      const aside = error.problem === 'damaged' && found !== undefined ? trySetAside(file, found) : undefined
      warnOnce(error, aside)
      if (aside !== undefined) arm()
    }
  }

  function leave(): void {
    store?.close()
    store = undefined
  }

  function warnOnce({ message }: UsageStoreError, aside: string | undefined): void {
    if (hasWarned) return
    hasWarned = true
    if (aside === undefined) log.warn(`totals are kept in memory only: ${message}`)
    else log.warn({ file: aside }, 'the totals of usage were damaged and have been put aside; counting starts anew')
  }

  function stored(day: string): readonly Tally[] {
    // A question makes no file.
    if (file === undefined || (store === undefined && identifyQuietly(file) === undefined)) return []
    try {
      store ??= openUsageStore(file, { waitMs: 0 })
      return store.since(day)
    } catch (error) {
      if (!(error instanceof UsageStoreError)) throw error
      if (error.problem !== 'busy') leave()
      return []
    }
  }

  return {
    note({ failed, ...entry }) {
      const tally: Tally = { ...today(), ...entry, requests: 1, errors: failed ? 1 : 0 }
      const place = [tally.day, tally.utcDay, tally.provider, tally.model, tally.key].join('/')
      const known = pending.get(place)
      pending.set(place, known === undefined ? tally : addTallies(known, tally))
      arm()
    },
    since: (day) => [...stored(day), ...[...pending.values()].filter((tally) => tally.day >= day)],
    close() {
      stopTimer?.()
      stopTimer = undefined
      write(lastWaitMs)
      leave()
    },
  }
}

function identifyQuietly(file: string): { readonly inode: bigint } | undefined {
  try {
    return identify(file)
  } catch {
    return undefined
  }
}

function trySetAside(path: string, found: { readonly inode: bigint }): string | undefined {
  try {
    return setAside(path, found)
  } catch {
    return undefined
  }
}
