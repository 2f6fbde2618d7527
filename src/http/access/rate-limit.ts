import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../../auth/shared-fetch.ts'
import { createLruMap } from '../../cache/lru-map.ts'
import { Fault } from '../../errors.ts'

export interface RateRule {
  readonly perMinute: number
  /** The setting that states it. */
  readonly setting: string
}

export interface RateLimit {
  /**
   * Counts one request of a caller.
   * @throws Fault `rate_limited`
   */
  readonly count: (caller: string, rule: RateRule) => void
  /**
   * Counts one request of a caller as soon as the limit allows it; requests of a caller wait in the order of arrival.
   * @param maxWaiting requests of all callers together
   * @throws Fault `rate_limited` if more would wait; the signal's reason if aborted while waiting
   */
  readonly wait: (
    caller: string,
    rule: RateRule,
    options: { readonly maxWaiting: number; readonly signal: AbortSignal },
  ) => Promise<void>
  /** Requests that wait now. */
  readonly waiting: () => number
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
  const fullAt = createLruMap<number>({ maxEntries: most, isStale: (full) => full <= now() })
  /** Settles when the last waiting request of a caller no longer waits. */
  const lastTurns = new Map<string, Promise<void>>()
  let waiting = 0

  /** Counts the request and returns 0, or returns how long it has to wait. Ms. */
  function take(caller: string, perMinute: number): number {
    const time = now()
    const full = Math.max(time, fullAt.peek(caller) ?? time) + minuteMs / perMinute
    const waitMs = full - time - minuteMs
    // Tolerates rounding errors of floating-point sums.
    if (waitMs > 1e-6) return waitMs
    fullAt.set(caller, full)
    return 0
  }

  return {
    count(caller, rule) {
      const waitMs = take(caller, rule.perMinute)
      if (waitMs > 0) throw refusal(rule, waitMs)
    },
    async wait(caller, rule, { maxWaiting, signal }) {
      const before = lastTurns.get(caller)
      let waitMs = before === undefined ? take(caller, rule.perMinute) : minuteMs / rule.perMinute
      if (waitMs === 0) return
      if (waiting >= maxWaiting) throw refusal(rule, waitMs)
      waiting += 1
      const turn = Promise.withResolvers<void>()
      lastTurns.set(caller, turn.promise)
      let isFirst = before === undefined
      try {
        if (before !== undefined) {
          await waitFor(before, signal)
          isFirst = true
          waitMs = take(caller, rule.perMinute)
        }
        for (; waitMs > 0; waitMs = take(caller, rule.perMinute)) await sleep(waitMs, undefined, { signal, ref: false })
      } catch (error) {
        throw signal.aborted ? signal.reason : error
      } finally {
        waiting -= 1
        // If this request leaves early, the next one waits for the request before this one.
        const ahead = isFirst ? undefined : before
        turn.resolve(ahead)
        if (lastTurns.get(caller) === turn.promise) {
          if (ahead === undefined) lastTurns.delete(caller)
          else lastTurns.set(caller, ahead)
        }
      }
    },
    waiting: () => waiting,
  }
}

function refusal({ perMinute, setting }: RateRule, waitMs: number): Fault {
  return new Fault({ kind: 'rate_limited', perMinute, setting, retryAfterSeconds: Math.ceil(waitMs / 1000) })
}
