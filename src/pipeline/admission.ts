import { Fault } from '../errors.ts'

export interface AdmissionLimits {
  /** Requests that run at the same time. */
  readonly maxConcurrent: number
  /** Requests that wait for admission, in all flows together. */
  readonly maxQueued: number
}

export interface Admission {
  /**
   * Waits for admission and returns the function that ends it; calling that twice is harmless.
   * @param flow identifies the caller; flows take turns, so one busy program cannot starve another
   * @throws Fault `queue_full`; the signal's reason if aborted while waiting
   */
  readonly enter: (flow: string, signal: AbortSignal) => Promise<() => void>
  /** Admits waiting requests after a limit was raised. */
  readonly limitsChanged: () => void
  readonly active: () => number
  readonly queued: () => number
}

/** For `Retry-After`: one of the running requests usually ends within this time. */
const retryAfterSeconds = 2

/** A bounded number of running requests and a bounded queue that serves its flows in turn. */
export function createAdmission(limits: () => AdmissionLimits): Admission {
  // A Map keeps insertion order: the flow at the front is served next and goes to the back.
  const flows = new Map<string, (() => void)[]>()
  let active = 0
  let queued = 0

  function occupy(): () => void {
    active += 1
    let held = true
    return () => {
      if (!held) return
      held = false
      active -= 1
      admitNext()
    }
  }

  function admitNext(): void {
    while (queued > 0 && active < limits().maxConcurrent) {
      const next = flows.entries().next()
      if (next.done) return
      const [flow, waiters] = next.value
      const start = waiters.shift()
      flows.delete(flow)
      if (waiters.length > 0) flows.set(flow, waiters)
      queued -= 1
      start?.()
    }
  }

  function leaveQueue(flow: string, start: () => void): void {
    const waiters = flows.get(flow)
    const at = waiters?.indexOf(start) ?? -1
    if (waiters === undefined || at === -1) return
    waiters.splice(at, 1)
    if (waiters.length === 0) flows.delete(flow)
    queued -= 1
  }

  return {
    enter(flow, signal) {
      if (signal.aborted) return Promise.reject(signal.reason)
      const { maxConcurrent, maxQueued } = limits()
      if (active < maxConcurrent && queued === 0) return Promise.resolve(occupy())
      if (queued >= maxQueued) return Promise.reject(new Fault({ kind: 'queue_full', retryAfterSeconds }))

      return new Promise((resolve, reject) => {
        const onAbort = () => {
          leaveQueue(flow, start)
          reject(signal.reason)
        }
        const start = () => {
          signal.removeEventListener('abort', onAbort)
          resolve(occupy())
        }
        signal.addEventListener('abort', onAbort, { once: true })
        const waiters = flows.get(flow)
        if (waiters === undefined) flows.set(flow, [start])
        else waiters.push(start)
        queued += 1
      })
    },
    limitsChanged: admitNext,
    active: () => active,
    queued: () => queued,
  }
}
