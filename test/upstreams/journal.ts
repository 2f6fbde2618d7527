/** A request as it arrived, with its credentials. For assertions in tests only. */
interface RecordedRequest<Route extends string> {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly route: Route
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
}

/** Counts requests, streams and disconnects, and wakes those who wait for a condition on them. */
export interface Journal<Route extends string> {
  readonly log: readonly RecordedRequest<Route>[]
  readonly count: (route: Route) => number
  readonly openStreams: () => number
  readonly aborted: () => number
  readonly until: (condition: () => boolean) => Promise<void>
  readonly request: (recorded: RecordedRequest<Route>) => void
  readonly streamOpened: () => void
  readonly streamClosed: () => void
  readonly clientLeft: () => void
}

/** @param keep the number of newest requests to record */
export function createJournal<Route extends string>(keep: number): Journal<Route> {
  const log: RecordedRequest<Route>[] = []
  const counts = new Map<Route, number>()
  const waiters = new Map<() => boolean, () => void>()
  let openStreams = 0
  let aborted = 0

  const changed = (): void => {
    for (const [condition, wake] of waiters) {
      if (!condition()) continue
      waiters.delete(condition)
      wake()
    }
  }

  return {
    log,
    count: (route) => counts.get(route) ?? 0,
    openStreams: () => openStreams,
    aborted: () => aborted,
    until: (condition) => {
      if (condition()) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      // A separate closure as key, so that two callers can wait for the same condition.
      waiters.set(() => condition(), resolve)
      return promise
    },
    request: (recorded) => {
      counts.set(recorded.route, (counts.get(recorded.route) ?? 0) + 1)
      if (keep > 0) log.push(recorded)
      if (log.length > keep) log.shift()
      changed()
    },
    streamOpened: () => {
      openStreams += 1
      changed()
    },
    streamClosed: () => {
      openStreams -= 1
      changed()
    },
    clientLeft: () => {
      aborted += 1
      changed()
    },
  }
}
