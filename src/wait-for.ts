/**
 * Waits for work that others wait for too: ends with the work, after `limitMs`, or with the signal's reason as an
 * error as soon as this waiter's own `signal` is aborted. The work itself goes on in every case. `work` must not reject.
 */
export function waitFor(work: Promise<void>, signal: AbortSignal, limitMs?: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
      resolve()
    }
    const leave = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = limitMs === undefined ? undefined : setTimeout(done, limitMs)
    if (signal.aborted) return leave()
    signal.addEventListener('abort', leave, { once: true })
    // oxlint-disable-next-line promise/no-callback-in-promise -- `done` settles this very promise
    void work.then(done)
  })
}
