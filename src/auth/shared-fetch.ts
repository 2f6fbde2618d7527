/** A value that is fetched on request and then kept for a while. */
export interface SharedFetch<Value> {
  /** @throws the fetch's error; the signal's reason on abort, which does not cancel the fetch */
  readonly get: (signal: AbortSignal) => Promise<Value>
  /** Drops the kept value and the fetch under way. The next caller starts another fetch. */
  readonly forget: () => void
}

export interface SharedFetchOptions<Value> {
  readonly fetch: (signal: AbortSignal) => Promise<Value>
  /** Ms; never jumps. */
  readonly monotonicMs: () => number
  readonly keepMs: number
  /** Failures are kept too, because status lines ask every few seconds. */
  readonly keepFailureMs: number
}

/** Concurrent callers share one fetch, which no caller can cancel. */
export function createSharedFetch<Value>(options: SharedFetchOptions<Value>): SharedFetch<Value> {
  const { fetch, monotonicMs, keepMs, keepFailureMs } = options
  let kept: { readonly value: Promise<Value>; readonly settled: Promise<void>; untilMs: number } | undefined

  const begin = () => {
    const value = fetch(new AbortController().signal)
    const keep = (forMs: number) => () => {
      begun.untilMs = monotonicMs() + forMs
    }
    const begun = { value, settled: value.then(keep(keepMs), keep(keepFailureMs)), untilMs: Infinity }
    return begun
  }

  return {
    async get(signal) {
      if (kept !== undefined && monotonicMs() >= kept.untilMs) kept = undefined
      const own = (kept ??= begin())
      await waitFor(own.settled, signal)
      return own.value
    },
    forget() {
      kept = undefined
    },
  }
}

/**
 * Waits for work that other callers wait for too. Ends when the work ends, after `limitMs`, or with the signal's reason
 * as soon as this caller's `signal` is aborted. The work itself continues in every case. `work` must not reject.
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
