/**
 * Processor time after which a task on a text is stopped. An ordinary text of 4 MB takes 3 s. Elapsed time would depend on other
 * processes. Ms.
 */
export function processorTime(text: string): number {
  return 5000 + text.length / 1400
}

/** Leaves a task that can stop itself the time to report what it has found. Ms. */
export const reportMs = 2000
