import { waitFor } from './wait-for.ts'

/** Something that is fetched when somebody asks, and then kept for a while. */
export interface SharedFetch<Value> {
  /** @throws what the fetch threw; the signal's reason on abort, which leaves the fetch alone */
  readonly get: (signal: AbortSignal) => Promise<Value>
  /** What is kept, or on its way, is somebody else's: who asks from now on gets another. */
  readonly forget: () => void
}

export interface SharedFetchOptions<Value> {
  readonly fetch: (signal: AbortSignal) => Promise<Value>
  /** Ms; never jumps. */
  readonly monotonicMs: () => number
  readonly keepMs: number
  /** A failure is kept too: status lines ask every few seconds. */
  readonly keepFailureMs: number
}

/** One fetch, from its beginning until what it brought is too old. */
interface Flight<Value> {
  /** Never rejects. */
  readonly work: Promise<void>
  /** Undefined while it is under way. */
  untilMs?: number
  result?: () => Value
}

/** All who ask at the same time wait for one fetch, and none of them can end it. */
export function createSharedFetch<Value>(options: SharedFetchOptions<Value>): SharedFetch<Value> {
  const { fetch, monotonicMs, keepMs, keepFailureMs } = options
  const neverAborted = new AbortController().signal
  let flight: Flight<Value> | undefined

  function begin(): Flight<Value> {
    const begun: Flight<Value> = {
      work: fetch(neverAborted).then(
        (value) => settle(() => value, keepMs),
        (error: unknown) =>
          settle(() => {
            throw error
          }, keepFailureMs),
      ),
    }
    function settle(result: () => Value, forMs: number): void {
      begun.result = result
      begun.untilMs = monotonicMs() + forMs
    }
    return begun
  }

  return {
    async get(signal) {
      if (flight?.untilMs !== undefined && monotonicMs() >= flight.untilMs) flight = undefined
      const own = (flight ??= begin())
      if (own.result === undefined) await waitFor(own.work, signal)
      if (own.result === undefined) throw new Error('a fetch ended without a result')
      return own.result()
    },
    forget() {
      flight = undefined
    },
  }
}
