import { createLruMap } from '../cache/lru-map.ts'

/** The shortest time between two lines about one address. Ms. */
const lineIntervalMs = 1000
/** Beyond this many addresses, the least recently refused is forgotten. */
const maxSources = 1000

/** Decides which refusals are logged, so that a caller without access cannot fill the log. */
export interface RefusalLines {
  /** Returns how many refusals were suppressed since the last line, or undefined if this one is suppressed too. */
  readonly next: (source: string) => number | undefined
}

/** @param now ms, monotonic */
export function createRefusalLines(now: () => number): RefusalLines {
  const sources = createLruMap<{ readonly loggedAtMs: number; suppressed: number }>({ maxEntries: maxSources })
  return {
    next(source) {
      const last = sources.peek(source)
      if (last !== undefined && now() - last.loggedAtMs < lineIntervalMs) {
        last.suppressed += 1
        return undefined
      }
      sources.set(source, { loggedAtMs: now(), suppressed: 0 })
      return last?.suppressed ?? 0
    },
  }
}
