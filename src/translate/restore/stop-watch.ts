/** What watching a text for stop texts has found in one more piece of it. */
export interface StopVerdict {
  /** What may be shown. */
  readonly text: string
  /** The stop text that was found; nothing after it counts. */
  readonly stop: string | undefined
}

/**
 * Adds `piece` to what was held back and looks for the earliest stop text.
 * @returns the text up to it; else the text without the longest tail that may still become a stop text, which is `held`
 */
export function watchStop(
  held: string,
  piece: string,
  stops: readonly string[],
): StopVerdict & { readonly held: string } {
  const text = held + piece
  let foundAt = -1
  let found: string | undefined
  for (const stop of stops) {
    const at = text.indexOf(stop)
    if (at !== -1 && (foundAt === -1 || at < foundAt)) {
      foundAt = at
      found = stop
    }
  }
  if (found !== undefined) return { text: text.slice(0, foundAt), stop: found, held: '' }
  // Not `Math.max` of all: arguments live on the stack, and the caller decides how many there are.
  const keep = stops.reduce((most, stop) => Math.max(most, tailLength(text, stop)), 0)
  return { text: text.slice(0, text.length - keep), stop: undefined, held: text.slice(text.length - keep) }
}

/** Length of the longest tail of `text` that `stop` begins with. */
function tailLength(text: string, stop: string): number {
  for (let length = Math.min(stop.length - 1, text.length); length > 0; length -= 1) {
    if (stop.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
