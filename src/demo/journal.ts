import type { DemoRoute } from './script.ts'

/** A request as it arrived, credentials included: for assertions in tests only. */
interface RecordedRequest {
  readonly method: string
  /** With query. */
  readonly path: string
  readonly route: DemoRoute
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
}

/** Counts what happened and wakes whoever waits for it. */
export interface Journal {
  readonly log: readonly RecordedRequest[]
  readonly count: (route: DemoRoute) => number
  readonly openStreams: () => number
  readonly aborted: () => number
  readonly until: (condition: () => boolean) => Promise<void>
  readonly request: (recorded: RecordedRequest) => void
  readonly streamOpened: () => void
  readonly streamClosed: () => void
  readonly clientLeft: () => void
}

/** `keep` requests are recorded, the newest; 0 records none. */
export function createJournal(keep: number): Journal {
  const log: RecordedRequest[] = []
  const counts = new Map<DemoRoute, number>()
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
      // A closure of its own, so that one condition can be waited for twice.
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
