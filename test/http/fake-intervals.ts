import { vi } from 'vitest'

/** Lets the time pass after which the record store is looked at again. */
export function fakeIntervals(): () => void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  return () => {
    vi.advanceTimersByTime(2000)
  }
}
