import { Fault } from '../errors.ts'
import type { CopilotToken, CopilotTokenSource } from './copilot-token.ts'
import { copilotRecordKind } from './copilot-record-kind.ts'
import { createMemoryRecordStore } from './memory-record-store.ts'
import type { RecordStore } from './record-store.ts'
import { createTokenKeeper, type TokenKeeperDeps, type TokenKeeperOptions } from './token-keeper.ts'
import { waitFor } from './wait-for.ts'
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
  let flight: { readonly work: Promise<void>; readonly startedAtMs: number } | undefined
  let recordsChanged = false

  /** Reads the store and refreshes where that is due: alone in this process, and under the store's lock among all. */
  const refresh = async (rejected: string | undefined): Promise<void> => {
    let refreshed = false
    try {
      const record = await store.current()
      keeper.follow(record)
      if (record === undefined || !keeper.wantsExchange(rejected)) return
      const latest = await store.update(
        record.id,
        async (current) => {
          // Another process may have refreshed while we waited for the lock.
          keeper.follow(current)
          if (!keeper.wantsExchange(rejected)) return undefined
          const updated = await keeper.exchange(current, rejected, closing.signal)
          refreshed = updated !== undefined
          return updated
        },
        { signal: closing.signal },
      )
      if (latest === undefined) keeper.follow(undefined)
    } catch (error) {
      if (closing.signal.aborted) return
      if (refreshed) deps.log.warn({ err: error }, 'the new Copilot token could not be stored; it is used from memory')
      else keeper.noteStoreTrouble(error)
    }
  }

  /** Joins the refresh under way, or starts one. Never rejects, and nobody who waits for it can cancel it. */
  const join = (rejected?: string): Promise<void> => {
    if (flight === undefined) {
      recordsChanged = false
      const work = refresh(rejected).finally(() => {
        flight = undefined
        if (recordsChanged && !closing.signal.aborted) void join()
      })
      flight = { work, startedAtMs: deps.monotonicMs() }
    }
    return flight.work
  }

  const usableOrThrow = (): CopilotToken => {
    const token = keeper.usable()
    if (token !== undefined) return token
    throw closing.signal.aborted ? new Fault({ kind: 'shutting_down' }) : keeper.unavailable()
  }

  const timer = setInterval(() => {
    if (keeper.usable() === undefined || keeper.isDue()) void join()
  }, TICK_MS)
  timer.unref()
  const unwatch = store.watch(() => {
    recordsChanged = true
    if (flight === undefined) void join()
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

function environmentRecord(githubToken: string): CopilotRecord {
  return {
    id: 'copilot-environment',
    provider: 'copilot',
    label: 'COPILOT_GITHUB_TOKEN',
    attributes: {},
    metadata: { github_access_token: githubToken },
  }
}
