import { ToolError } from './tool-error.ts'

interface LaneLimits {
  /** Calls of one key that run at the same time. */
  readonly perKey: number
  /** Calls of all keys that run at the same time. */
  readonly total: number
}

/** Starts a call when its turn comes. @throws ToolError `cancelled` if the signal is aborted while the call waits */
export type Lanes = <Value>(key: string, signal: AbortSignal, run: () => Promise<Value>) => Promise<Value>

/**
 * Limits how many calls run at the same time, for each key and in total. The calls of one key wait in order. A call that waits
 * for its own key does not delay the calls of other keys.
 */
export function createLanes({ perKey, total }: LaneLimits): Lanes {
  const running = new Map<string, number>()
  const waiting = new Set<{ readonly key: string; readonly start: () => void }>()
  let runningCount = 0

  function startNext(): void {
    for (const call of waiting) {
      if (runningCount >= total) return
      const count = running.get(call.key) ?? 0
      if (count >= perKey) continue
      waiting.delete(call)
      running.set(call.key, count + 1)
      runningCount += 1
      call.start()
    }
  }

  function end(key: string): void {
    const count = (running.get(key) ?? 1) - 1
    if (count === 0) running.delete(key)
    else running.set(key, count)
    runningCount -= 1
    startNext()
  }

  return async (key, signal, run) => {
    if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
    const turn = Promise.withResolvers<void>()
    const call = { key, start: turn.resolve }
    const leave = (): void => {
      // A call that has started is stopped by its own handling of the signal.
      if (waiting.delete(call)) turn.reject(new ToolError({ kind: 'cancelled' }))
    }
    waiting.add(call)
    signal.addEventListener('abort', leave, { once: true })
    startNext()
    try {
      await turn.promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
    try {
      return await run()
    } finally {
      end(key)
    }
  }
}
