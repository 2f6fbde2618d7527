import { setImmediate } from 'node:timers/promises'
import { ToolError } from '../tool-error.ts'

/** How long a loop may run before others get their turn. Ms. */
const TURN_MS = 10

/** A step after this much of a turn waits for the next one. Ms. */
const STEP_MS = 2

/** Lets a long loop stop for the event loop and for a cancellation. */
export interface Pace {
  /** Cheap; call it for every step of a loop. */
  readonly isDue: () => boolean
  /** Between two steps that cannot stop: lets others run unless the turn has just begun. @throws ToolError `cancelled` */
  readonly step: () => Promise<void>
  /** Lets others run. @throws ToolError `cancelled` */
  readonly rest: () => Promise<void>
}

export function createPace(signal: AbortSignal): Pace {
  let steps = 0
  let sinceMs = performance.now()
  const rest = async (): Promise<void> => {
    await setImmediate()
    if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
    sinceMs = performance.now()
  }
  return {
    isDue: () => {
      steps += 1
      // A clock reading costs more than most steps.
      return (steps & 0xf) === 0 && performance.now() - sinceMs > TURN_MS
    },
    step: async () => {
      if (performance.now() - sinceMs > STEP_MS) await rest()
    },
    rest,
  }
}
