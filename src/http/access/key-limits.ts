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
  readonly enter: (keyName: string | undefined) => () => void
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
  const running = new Map<string, number>()
  return {
    enter(keyName) {
      const perDay = keyLimitsOf(server(), keyName)?.['credits-per-day']
      if (keyName === undefined || perDay === undefined) return none
      const { requests, nanoAiu } = totals.spentToday(keyName)
      const open = running.get(keyName) ?? 0
      const reserved = requests === 0 ? 0 : (open * nanoAiu) / requests
      if ((nanoAiu + reserved) / 1e9 >= perDay) {
        // If only the estimates of running requests exceed the limit, a retry may succeed once they have ended.
        const retryAfterSeconds = nanoAiu / 1e9 < perDay ? 5 : secondsToMidnight(now())
        throw new Fault({ kind: 'credits_spent', perDay, keyName, retryAfterSeconds })
      }
      running.set(keyName, open + 1)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        const left = (running.get(keyName) ?? 1) - 1
        if (left === 0) running.delete(keyName)
        else running.set(keyName, left)
      }
    },
  }
}

/** Until the calendar day of this machine ends. */
function secondsToMidnight(nowMs: number): number {
  return Math.max(1, Math.ceil((new Date(nowMs).setHours(24, 0, 0, 0) - nowMs) / 1000))
}
