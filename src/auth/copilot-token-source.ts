import { Fault } from '../errors.ts'
import { waitFor } from '../wait-for.ts'
import type { CopilotToken, CopilotTokenSource } from './copilot-token.ts'
import { copilotRecordKind } from './copilot-record-kind.ts'
import { createMemoryRecordStore } from './memory-record-store.ts'
import type { RecordStore } from './record-store.ts'
import { createTokenKeeper, type TokenKeeperDeps, type TokenKeeperOptions } from './token-keeper.ts'
import type { CopilotRecord } from './wire.ts'

export interface CopilotTokenDeps extends TokenKeeperDeps {
  readonly store: RecordStore<CopilotRecord>
}

export type CopilotTokenOptions = TokenKeeperOptions

/** The clock is looked at this often: one long timer would stand still while the machine sleeps (caozhiyuan/copilot-api#170). */
const TICK_MS = 30_000
/** How long a request waits for a refresh while the old token still works. */
const PATIENCE_MS = 2_000

/**
 * Keeps one Copilot token alive for everybody in this process, and shares it with other processes through the store.
 * Begins at once to read the store and, where that is due, to refresh. Does not keep the process alive.
 */
export function createCopilotTokenSource(deps: CopilotTokenDeps, options: CopilotTokenOptions): CopilotTokenSource {
  const store =
    options.githubToken === undefined
      ? deps.store
      : createMemoryRecordStore(copilotRecordKind, [environmentRecord(options.githubToken)])
  const listeners = new Set<(token: CopilotToken | undefined) => void>()
  const keeper = createTokenKeeper(deps, options, (token) => {
    for (const listener of listeners) listener(token)
  })
  const closing = new AbortController()
  /** The last token, while it could not be stored. */
  let unsaved: CopilotRecord | undefined
  let flight: { readonly work: Promise<void>; readonly startedAtMs: number; readonly isLook: boolean } | undefined
  let recordsChanged = false

  /** Stores what could not be stored before. Never rejects. */
  const saveUnsaved = async (): Promise<void> => {
    const waiting = unsaved
    if (waiting === undefined) return
    try {
      const stored = await store.update(waiting.id, (record) => withNewerToken(record, waiting), {
        signal: closing.signal,
      })
      unsaved = undefined
      if (stored?.metadata.access_token === waiting.metadata.access_token) {
        deps.log.info('the Copilot token is stored now')
      }
    } catch (error) {
      deps.log.debug({ err: error }, 'the Copilot token still cannot be stored')
    }
  }

  /**
   * Reads the store and refreshes where that is due: alone in this process, and under the store's lock among all.
   * @param isLook nobody asked for a token: a record that is corrupt may be whole in a moment
   */
  const refresh = async (rejected: string | undefined, isLook: boolean): Promise<void> => {
    let refreshed: CopilotRecord | undefined
    try {
      await saveUnsaved()
      const record = await store.current({ leaveCorrupt: isLook })
      keeper.follow(record)
      if (rejected !== undefined) keeper.noteRejection(rejected)
      if (record === undefined || !keeper.wantsExchange(rejected)) return
      const latest = await store.update(
        record.id,
        async (current) => {
          // Another process may have refreshed while we waited for the lock.
          keeper.follow(current)
          if (!keeper.wantsExchange(rejected)) return undefined
          refreshed = await keeper.exchange(current, rejected, closing.signal)
          return refreshed
        },
        { signal: closing.signal },
      )
      if (latest === undefined) keeper.follow(undefined)
      if (refreshed !== undefined) unsaved = undefined
    } catch (error) {
      if (closing.signal.aborted) return
      if (refreshed === undefined) {
        keeper.noteStoreTrouble(error)
        return
      }
      // Once for as long as it lasts.
      const message = 'the new Copilot token could not be stored; it is used from memory and stored later'
      deps.log[unsaved === undefined ? 'warn' : 'debug']({ err: error }, message)
      unsaved = refreshed
    }
  }

  const startFlight = (rejected: string | undefined, isLook: boolean): Promise<void> => {
    recordsChanged = false
    const work = refresh(rejected, isLook).finally(() => {
      flight = undefined
      if (recordsChanged && !closing.signal.aborted) void startFlight(undefined, true)
    })
    flight = { work, startedAtMs: deps.monotonicMs(), isLook }
    return work
  }

  /** Joins the refresh under way, or starts one. Never rejects, and nobody who waits for it can cancel it. */
  const join = (rejected?: string): Promise<void> => {
    if (flight === undefined) return startFlight(rejected, false)
    if (flight.isLook) return flight.work.then(() => join(rejected))
    return flight.work
  }

  const usableOrThrow = (): CopilotToken => {
    const token = keeper.usable()
    if (token !== undefined) return token
    throw closing.signal.aborted ? new Fault({ kind: 'shutting_down' }) : keeper.unavailable()
  }

  const timer = setInterval(() => {
    if (keeper.usable() === undefined || keeper.isDue() || unsaved !== undefined) void join()
  }, TICK_MS)
  timer.unref()
  const unwatch = store.watch(() => {
    recordsChanged = true
    if (flight === undefined) void startFlight(undefined, true)
  })
  void join()

  return {
    get: async (signal) => {
      signal.throwIfAborted()
      const old = keeper.usable()
      if (old !== undefined && !keeper.isDue()) return old
      if (closing.signal.aborted) return usableOrThrow()
      if (old === undefined) await waitFor(join(), signal)
      else if (flight !== undefined || keeper.wantsExchange(undefined)) {
        const startedAtMs = flight?.startedAtMs ?? deps.monotonicMs()
        const patienceMs = startedAtMs + PATIENCE_MS - deps.monotonicMs()
        const work = join()
        if (patienceMs > 0) await waitFor(work, signal, patienceMs)
      }
      return usableOrThrow()
    },
    replace: async (rejected, signal) => {
      signal.throwIfAborted()
      // A refresh that began before the rejection was known may bring the replacement.
      if (flight !== undefined) await waitFor(flight.work, signal)
      const other = keeper.usable()
      if (other !== undefined && other.value !== rejected) return other
      if (!closing.signal.aborted) await waitFor(join(rejected), signal)
      return usableOrThrow()
    },
    renewBeforeNext: keeper.markStale,
    status: keeper.status,
    onChange: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    close: () => {
      clearInterval(timer)
      unwatch()
      closing.abort()
    },
  }
}

/** What is stored, with the token it would have had; undefined where it is another login's by now, or has a newer one. */
function withNewerToken(stored: CopilotRecord, newer: CopilotRecord): CopilotRecord | undefined {
  const [known, got] = [stored.metadata, newer.metadata]
  const isSameLogin = known.github_access_token === got.github_access_token && known.logged_in_at === got.logged_in_at
  if (!isSameLogin || (known.obtained_at ?? 0) >= (got.obtained_at ?? 0)) return undefined
  return { ...stored, metadata: { ...known, ...got } }
}

function environmentRecord(githubToken: string): CopilotRecord {
  return {
    id: 'copilot-environment',
    provider: 'copilot',
    label: 'COPILOT_GITHUB_TOKEN',
    attributes: {},
    metadata: { github_access_token: githubToken },
  }
}
