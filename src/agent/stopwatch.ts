export interface StopwatchDeps {
  /** Monotonic. Ms. */
  readonly now: () => number
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

/** Calls `onEnd` after `limitMs`. The time between `pause` and `resume` does not count. */
export function createStopwatch({ now, setTimer }: StopwatchDeps, limitMs: number, onEnd: () => void) {
  let leftMs = limitMs
  let sinceMs = now()
  let endTimer: (() => void) | undefined = setTimer(onEnd, leftMs)
  let isOver = false
  return {
    pause(): void {
      if (endTimer === undefined) return
      endTimer()
      endTimer = undefined
      leftMs -= now() - sinceMs
    },
    resume(): void {
      if (isOver || endTimer !== undefined) return
      sinceMs = now()
      endTimer = setTimer(onEnd, Math.max(leftMs, 0))
    },
    end(): void {
      isOver = true
      endTimer?.()
      endTimer = undefined
    },
  }
}
