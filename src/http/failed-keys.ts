export interface FailedKeys {
  /**
   * Whether so many answers to wrong keys are held back, of that source or of all, that none more can be. Whatever key
   * comes from there now, its answer must not depend on whether it is right.
   */
  readonly isCrowded: (source: string) => boolean
  /** A wrong key came from there. Returns for how long its answer is to be held back. Ms. */
  readonly count: (source: string) => number
}

interface Tally {
  /** Wrong keys not forgotten yet. */
  level: number
  /** When `level` was true. Ms. */
  atMs: number
  /** When the answers that are held back leave. Who hangs up frees no place: it has learned that the key was wrong. Ms. */
  heldUntilMs: readonly number[]
}

interface Limits {
  /** Wrong keys that are answered without delay: somebody corrects a configuration. */
  readonly free: number
  /** How many are forgotten within a minute. */
  readonly forgottenPerMinute: number
  readonly mostHeld: number
}

const perSource: Limits = { free: 10, forgottenPerMinute: 10, mostHeld: 8 }
const everywhere: Limits = { free: 100, forgottenPerMinute: 100, mostHeld: 64 }

const firstDelayMs = 100
const longestDelayMs = 2000
const minuteMs = 60_000

/** For who meets a crowd: by then places have become free. */
export const crowdSeconds = Math.ceil(longestDelayMs / 1000)

/** More sources than this and the one unheard of for longest is forgotten; `everywhere` still remembers its guesses. */
const mostSources = 1000

/**
 * Slows down who guesses: the answers to wrong keys are held back ever longer, and only so many at the same time.
 * @param now ms, from a clock that does not jump
 */
export function createFailedKeys(now: () => number): FailedKeys {
  const sources = new Map<string, Tally>()
  const total: Tally = { level: 0, atMs: now(), heldUntilMs: [] }

  function tallyOf(source: string): Tally {
    const tally = sources.get(source) ?? { level: 0, atMs: now(), heldUntilMs: [] }
    sources.delete(source)
    sources.set(source, tally)
    const [oldest] = sources.keys()
    if (sources.size > mostSources && oldest !== undefined) sources.delete(oldest)
    return tally
  }

  return {
    isCrowded(source) {
      const tally = sources.get(source)
      return isFull(total, everywhere, now()) || (tally !== undefined && isFull(tally, perSource, now()))
    },
    count(source) {
      const nowMs = now()
      const tally = tallyOf(source)
      const waitMs = Math.max(raise(tally, perSource, nowMs), raise(total, everywhere, nowMs))
      if (waitMs > 0) for (const each of [tally, total]) each.heldUntilMs = [...heldOf(each, nowMs), nowMs + waitMs]
      return waitMs
    },
  }
}

function isFull(tally: Tally, { mostHeld }: Limits, nowMs: number): boolean {
  return tally.heldUntilMs.length >= mostHeld && heldOf(tally, nowMs).length >= mostHeld
}

function heldOf({ heldUntilMs }: Tally, nowMs: number): readonly number[] {
  return heldUntilMs.filter((untilMs) => untilMs > nowMs)
}

/** Adds one and returns the delay it has earned: none at first, then twice as long each time. Ms. */
function raise(tally: Tally, { free, forgottenPerMinute }: Limits, nowMs: number): number {
  const forgotten = ((nowMs - tally.atMs) / minuteMs) * forgottenPerMinute
  // Without a ceiling, who has guessed for an hour would be slowed for days after it stopped.
  tally.level = Math.min(Math.max(0, tally.level - forgotten) + 1, free * 2)
  tally.atMs = nowMs
  const excess = Math.floor(tally.level) - free
  return excess <= 0 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (excess - 1))
}
