/** Between two lines of one address. Ms. */
const quietMs = 1000
/** More addresses than this and the one unheard of for longest is forgotten. */
const mostSources = 1000

/** Decides which refusals get a line in the log. Who is not let in may knock as often as it likes, and would fill it. */
export interface RefusalLines {
  /** Says of how many refusals there was no line since the last; undefined: there is to be none of this one either. */
  readonly next: (source: string) => number | undefined
}

/** @param now ms, from a clock that does not jump */
export function createRefusalLines(now: () => number): RefusalLines {
  const sources = new Map<string, { saidAtMs: number; unsaid: number }>()
  return {
    next(source) {
      const last = sources.get(source)
      if (last !== undefined && now() - last.saidAtMs < quietMs) {
        last.unsaid += 1
        return undefined
      }
      sources.delete(source)
      sources.set(source, { saidAtMs: now(), unsaid: 0 })
      const [oldest] = sources.keys()
      if (sources.size > mostSources && oldest !== undefined) sources.delete(oldest)
      return last?.unsaid ?? 0
    },
  }
}
