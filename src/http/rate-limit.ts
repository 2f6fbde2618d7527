import { Fault } from '../errors.ts'

export interface RateLimit {
  /**
   * Counts one request of a caller.
   * @throws Fault `rate_limited` where the caller has made as many in a minute as it may
   */
  readonly count: (caller: string, perMinute: number) => void
}

const minuteMs = 60_000

/**
 * A machine has a handful of callers; beyond this many the one that was quiet the longest is forgotten, and so begins
 * anew.
 */
const mostCallers = 10_000

/**
 * As many requests at once as a minute allows, then as many as time gives back: a token bucket, kept as the moment at
 * which it is full again (the "generic cell rate algorithm"), so that a changed limit holds for the next request.
 * @param now ms, of a clock that is never set
 */
export function createRateLimit(now: () => number, most: number = mostCallers): RateLimit {
  // In the order of last use: a Map iterates by insertion.
  const fullAt = new Map<string, number>()

  function forgetIdle(time: number): void {
    for (const [caller, full] of fullAt) {
      if (full > time && fullAt.size < most) return
      fullAt.delete(caller)
    }
  }

  return {
    count(caller, perMinute) {
      const time = now()
      const full = Math.max(time, fullAt.get(caller) ?? time) + minuteMs / perMinute
      const waitMs = full - time - minuteMs
      // Sums of fractions: a hair too much is none.
      if (waitMs > 1e-6)
        throw new Fault({ kind: 'rate_limited', perMinute, retryAfterSeconds: Math.ceil(waitMs / 1000) })
      fullAt.delete(caller)
      forgetIdle(time)
      fullAt.set(caller, full)
    },
  }
}
