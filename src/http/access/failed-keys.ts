import { createLruMap } from '../../cache/lru-map.ts'

export interface FailedKeys {
  /**
   * Whether the limit of delayed answers is reached, for this source or for all sources. While it is, an answer to this
   * source must not depend on whether the key is right.
   */
  readonly isCrowded: (source: string) => boolean
  /** Counts a wrong key. Returns the delay for its answer. Ms. */
  readonly count: (source: string) => number
}

interface Tally {
  /** Wrong keys that still count. */
  level: number
  /** When `level` was computed. Ms. */
  atMs: number
  /**
   * When each delayed answer is sent. An answer whose caller hangs up stays counted, because the delay has revealed that
   * the key is wrong. Ms.
   */
  delayedUntilMs: readonly number[]
}

interface Limits {
  /** Wrong keys answered without delay, for a person who corrects a configuration. */
  readonly free: number
  readonly forgottenPerMinute: number
  readonly maxDelayed: number
}

const perSource: Limits = { free: 10, forgottenPerMinute: 10, maxDelayed: 8 }
const everywhere: Limits = { free: 100, forgottenPerMinute: 100, maxDelayed: 64 }

const firstDelayMs = 100
const longestDelayMs = 2000
const minuteMs = 60_000

/** `Retry-After` for a crowded source: by then all delayed answers have been sent. */
export const crowdSeconds = Math.ceil(longestDelayMs / 1000)

/** Beyond this, the least recently used source is forgotten; `everywhere` still counts its guesses. */
const maxSources = 1000

/**
 * Slows down guessing: delays answers to wrong keys longer each time, and limits how many are delayed at once.
 * @param now ms, monotonic
 */
export function createFailedKeys(now: () => number): FailedKeys {
  const sources = createLruMap<Tally>({ maxEntries: maxSources })
  const total: Tally = { level: 0, atMs: now(), delayedUntilMs: [] }

  function tallyOf(source: string): Tally {
    const known = sources.get(source)
    if (known !== undefined) return known
    const tally: Tally = { level: 0, atMs: now(), delayedUntilMs: [] }
    sources.set(source, tally)
    return tally
  }

  return {
    isCrowded(source) {
      const tally = sources.peek(source)
      return isFull(total, everywhere, now()) || (tally !== undefined && isFull(tally, perSource, now()))
    },
    count(source) {
      const nowMs = now()
      const tally = tallyOf(source)
      const waitMs = Math.max(raise(tally, perSource, nowMs), raise(total, everywhere, nowMs))
      if (waitMs > 0)
        for (const each of [tally, total]) each.delayedUntilMs = [...delayedAt(each, nowMs), nowMs + waitMs]
      return waitMs
    },
  }
}

function isFull(tally: Tally, { maxDelayed }: Limits, nowMs: number): boolean {
  return tally.delayedUntilMs.length >= maxDelayed && delayedAt(tally, nowMs).length >= maxDelayed
}

function delayedAt({ delayedUntilMs }: Tally, nowMs: number): readonly number[] {
  return delayedUntilMs.filter((untilMs) => untilMs > nowMs)
}

/** Counts one wrong key and returns its delay: 0 for the free ones, then doubling. Ms. */
function raise(tally: Tally, { free, forgottenPerMinute }: Limits, nowMs: number): number {
  const forgotten = ((nowMs - tally.atMs) / minuteMs) * forgottenPerMinute
  // Without a ceiling, an hour of guessing would cause delays for days.
  tally.level = Math.min(Math.max(0, tally.level - forgotten) + 1, free * 2)
  tally.atMs = nowMs
  const excess = Math.floor(tally.level) - free
  return excess <= 0 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (excess - 1))
}
