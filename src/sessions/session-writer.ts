import type { Logger } from '../logging/logger.ts'
import { DatabaseError } from '../sqlite/database.ts'
import type { SessionFile } from './session-file.ts'
import type { EventRow, SessionStore } from './session-store.ts'

export interface SessionWriterDeps {
  readonly file: Pick<SessionFile, 'use'>
  /** Monotonic. Ms. */
  readonly now: () => number
  readonly log: Pick<Logger, 'error' | 'info' | 'warn'>
  /** The writer calls it with the first failed flush after a successful one. */
  readonly onFailure: (error: DatabaseError) => void
}

/** Gathers writes for one transaction. Never throws a DatabaseError: writes that fail wait for the next flush. */
export interface SessionWriter {
  /** @param key a later write with the same key replaces this one @param length the length of its text, in characters */
  readonly put: (key: string, length: number, write: (store: SessionStore) => void) => void
  /** Stores the gathered writes and these events. Returns false if it stored nothing. */
  readonly flush: (events: readonly EventRow[]) => boolean
}

/** While writes fail, the oldest ones are dropped above this size. Characters. */
const maxWaiting = 8 * 1024 * 1024

/** Minimum time between a failed attempt and the next one. Ms. */
const retryMs = 1000

export function createSessionWriter({ file, now, log, onFailure }: SessionWriterDeps): SessionWriter {
  const waiting = new Map<string, { readonly length: number; readonly write: (store: SessionStore) => void }>()
  let length = 0
  let failure: { lastMs: number; lost: number } | undefined

  function remove(key: string): void {
    length -= waiting.get(key)?.length ?? 0
    waiting.delete(key)
  }

  /** Drops a write larger than the limit first, so that it does not displace all others. */
  function dropExcess(lossy: { lost: number }): void {
    const large = [...waiting].filter(([, write]) => write.length > maxWaiting)
    for (const [key] of [...large, ...waiting]) {
      if (length <= maxWaiting) return
      if (waiting.has(key)) lossy.lost += 1
      remove(key)
    }
  }

  function fail(error: DatabaseError): void {
    const isNew = failure === undefined
    failure = { lastMs: now(), lost: failure?.lost ?? 0 }
    dropExcess(failure)
    if (!isNew) return
    log.error({ problem: error.problem }, `sessions cannot be stored: ${error.message}`)
    onFailure(error)
  }

  function succeed(): void {
    if (failure !== undefined) log.info({ lost: failure.lost }, 'sessions are stored again')
    failure = undefined
  }

  return {
    put(key, added, write) {
      remove(key)
      waiting.set(key, { length: added, write })
      length += added
      // While writes succeed, the next flush stores them all, whatever their size.
      if (failure !== undefined) dropExcess(failure)
    },
    flush(events) {
      if (waiting.size === 0 && events.length === 0) return true
      if (failure !== undefined && now() - failure.lastMs < retryMs) return false
      try {
        file.use((store) =>
          store.write(() => {
            for (const { write } of waiting.values()) write(store)
            store.putEvents(events)
          }),
        )
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error
        fail(error)
        return false
      }
      waiting.clear()
      length = 0
      succeed()
      return true
    },
  }
}
