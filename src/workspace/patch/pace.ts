import { setImmediate } from 'node:timers/promises'
import { ToolError } from '../tool-error.ts'

/** A loop may block the event loop for this time. Ms. */
const TURN_MS = 10

/** `step` pauses if the loop has run for this time. Ms. */
const STEP_MS = 2

/** Lets a long loop pause for the event loop and check for cancellation. */
export interface Pace {
  /** Returns whether the loop should call `rest`. Cheap enough for each iteration. */
  readonly isDue: () => boolean
  /** Call it between long operations that cannot pause: it calls `rest` after `STEP_MS`. @throws ToolError `cancelled` */
  readonly step: () => Promise<void>
  /** Gives the event loop a turn. @throws ToolError `cancelled` */
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
      // Reading the clock takes longer than most iterations, so do it for every sixteenth.
      return (steps & 0xf) === 0 && performance.now() - sinceMs > TURN_MS
    },
    step: async () => {
      if (performance.now() - sinceMs > STEP_MS) await rest()
    },
    rest,
  }
}
