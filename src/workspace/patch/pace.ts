import { setImmediate } from 'node:timers/promises'
import { ToolError } from '../tool-error.ts'

/** How long a loop may run before others get their turn. Ms. */
const TURN_MS = 10

/** Lets a long loop stop for the event loop and for a cancellation. */
export interface Pace {
  /** Cheap; call it for every step of a loop. */
  readonly isDue: () => boolean
  /** Lets others run. @throws ToolError `cancelled` */
  readonly rest: () => Promise<void>
}

export function createPace(signal: AbortSignal): Pace {
  let steps = 0
  let sinceMs = performance.now()
  return {
    isDue: () => {
      steps += 1
      // A clock reading costs more than most steps.
      return (steps & 0xf) === 0 && performance.now() - sinceMs > TURN_MS
    },
    rest: async () => {
      await setImmediate()
      if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
      sinceMs = performance.now()
    },
  }
}
