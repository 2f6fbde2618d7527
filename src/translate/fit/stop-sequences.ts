export interface StopSearch {
  /** Text to emit. */
  readonly text: string
  /** The stop sequence that was found; the text after it is dropped. */
  readonly stop: string | undefined
  /** The end of the text that may become a stop sequence with the next piece. */
  readonly held: string
}

/** Appends `piece` to the held text and finds the earliest stop sequence. */
export function findStop(held: string, piece: string, stops: readonly string[]): StopSearch {
  const text = held + piece
  let stopAt = -1
  let earliest: string | undefined
  for (const stop of stops) {
    const at = text.indexOf(stop)
    if (at !== -1 && (stopAt === -1 || at < stopAt)) {
      stopAt = at
      earliest = stop
    }
  }
  if (earliest !== undefined) return { text: text.slice(0, stopAt), stop: earliest, held: '' }
  // Not one `Math.max(...)`: a caller may send more stop sequences than the stack takes arguments.
  const keep = stops.reduce((most, stop) => Math.max(most, tailLength(text, stop)), 0)
  return { text: text.slice(0, text.length - keep), stop: undefined, held: text.slice(text.length - keep) }
}

/** Length of the longest end of `text` with which `stop` begins. */
function tailLength(text: string, stop: string): number {
  for (let length = Math.min(stop.length - 1, text.length); length > 0; length -= 1) {
    if (stop.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
