import { Fault } from '../errors.ts'

export interface RateLimit {
  /**
   * Counts one request of a caller.
   * @throws Fault `rate_limited`
   */
  readonly count: (caller: string, perMinute: number) => void
}

const minuteMs = 60_000

/** Beyond this, the least recently used caller is forgotten and starts with a full allowance. */
const maxCallers = 10_000

/**
 * A token bucket that holds one minute's requests, so that all of them may come at once. It stores when the bucket is
 * full again (the "generic cell rate algorithm"), so a changed limit applies from the next request.
 * @param now ms, monotonic
 */
export function createRateLimit(now: () => number, most: number = maxCallers): RateLimit {
  // Ordered by last use: a Map iterates in insertion order.
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
      // Tolerates rounding errors of floating-point sums.
      if (waitMs > 1e-6)
        throw new Fault({ kind: 'rate_limited', perMinute, retryAfterSeconds: Math.ceil(waitMs / 1000) })
      fullAt.delete(caller)
      forgetIdle(time)
      fullAt.set(caller, full)
    },
  }
}
