import type { CallerKey } from '../../config/caller.ts'
import { keyLimitsOf } from '../../config/api-keys.ts'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'
import type { UsageRecorder } from '../../usage/recorder.ts'

export interface CreditLimit {
  /**
   * Checks the credits that a key has left today. Returns the function that ends the request; calling it twice is
   * harmless.
   * @throws Fault `credits_spent`
   */
  readonly enter: (key: CallerKey | undefined) => () => void
}

const none = (): void => {}

/**
 * Limits the credits of a key in a calendar day of this machine. The cost of a request is known only at its end, so each
 * running request counts with the average of the key's requests of the day.
 * @param now ms since epoch
 */
export function createCreditLimit(
  totals: Pick<UsageRecorder, 'spentToday'>,
  server: () => Config['server'],
  now: () => number,
): CreditLimit {
  /** By the id of the key. */
  const running = new Map<string, number>()
  return {
    enter(key) {
      const perDay = keyLimitsOf(server(), key?.name)?.['credits-per-day']
      if (key === undefined || perDay === undefined) return none
      const { requests, nanoAiu } = totals.spentToday(key)
      const open = running.get(key.id) ?? 0
      const reserved = requests === 0 ? 0 : (open * nanoAiu) / requests
      if ((nanoAiu + reserved) / 1e9 >= perDay) {
        // If only the estimates of running requests exceed the limit, a retry may succeed once they have ended.
        const retryAfterSeconds = nanoAiu / 1e9 < perDay ? 5 : secondsToMidnight(now())
        throw new Fault({ kind: 'credits_spent', perDay, keyName: key.name, retryAfterSeconds })
      }
      running.set(key.id, open + 1)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        const left = (running.get(key.id) ?? 1) - 1
        if (left === 0) running.delete(key.id)
        else running.set(key.id, left)
      }
    },
  }
}

/** Until the calendar day of this machine ends. */
function secondsToMidnight(nowMs: number): number {
  return Math.max(1, Math.ceil((new Date(nowMs).setHours(24, 0, 0, 0) - nowMs) / 1000))
}
