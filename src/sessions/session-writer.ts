import type { Logger } from '../logging/logger.ts'
import { DatabaseError } from '../sqlite/database.ts'
import type { SessionFile } from './session-file.ts'
import type { ConversationRow, EventRow, Rows } from './session-store.ts'

export interface SessionWriterDeps {
  readonly file: Pick<SessionFile, 'use'>
  /** Returns a function that cancels the timer. Must not keep the process alive. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly log: Pick<Logger, 'error' | 'info'>
}

/** Stores rows at once. Rows that cannot be stored wait in memory, so a write never throws a DatabaseError. */
export interface SessionWriter {
  /** Returns the reason if the rows cannot be stored and the rows before them could be. */
  readonly write: (rows: Rows) => DatabaseError | undefined
  readonly waitingEvents: () => readonly EventRow[]
  readonly waitingConversations: () => readonly ConversationRow[]
  /** The ids of events that were dropped from memory before they could be stored. */
  readonly lost: () => { readonly from: number; readonly to: number } | undefined
  /** Drops the waiting rows of a session. @param viewer the key whose rows are dropped; undefined: all */
  readonly forget: (session: string, viewer: string | undefined) => void
  /** Stores the waiting rows if possible. Later rows are not stored. */
  readonly close: () => void
}

/** Maximum of the waiting rows: the oldest are dropped first. Bytes, about. */
const maxWaiting = 8 * 1024 * 1024

/** Delay before the writer tries again to store rows. Ms. */
const retryMs = 1000

/** Maximum of waiting rows that are stored in one turn of the event loop. Bytes, about. */
const storedAtOnce = 1024 * 1024

export function createSessionWriter({ file, setTimer, log }: SessionWriterDeps): SessionWriter {
  let waiting: Rows[] = []
  let waitingSize = 0
  /** The number of writes that were dropped since the first failure. */
  let dropped = 0
  let lost: { readonly from: number; readonly to: number } | undefined
  let endRetry: (() => void) | undefined
  let isClosed = false

  function store(rows: Rows): DatabaseError | undefined {
    try {
      file.use((opened) => opened.put(rows))
      return undefined
    } catch (error) {
      if (error instanceof DatabaseError) return error
      throw error
    }
  }

  function keep(rows: Rows): void {
    waiting.push(rows)
    waitingSize += sizeOf(rows)
    while (waitingSize > maxWaiting) drop()
  }

  function drop(): void {
    const rows = waiting.shift() ?? {}
    waitingSize -= sizeOf(rows)
    dropped += 1
    if (rows.event !== undefined) lost = { from: lost?.from ?? rows.event.id, to: rows.event.id }
  }

  /** Stores waiting rows, at most about `most` bytes. Returns false if it could not. */
  function storeWaiting(most: number): boolean {
    const enough = waitingSize - most
    for (let rows = waiting[0]; rows !== undefined && waitingSize > enough; [rows] = waiting) {
      if (store(rows) !== undefined) return false
      waiting.shift()
      waitingSize -= sizeOf(rows)
    }
    if (waiting.length > 0) return true
    log.info({ lost: dropped }, 'sessions are stored again')
    dropped = 0
    return true
  }

  function retry(): void {
    const isStored = storeWaiting(storedAtOnce)
    endRetry = waiting.length === 0 ? undefined : setTimer(retry, isStored ? 0 : retryMs)
  }

  return {
    write(rows) {
      // A call that ends after the close stands in the log only: storing it would open the file again.
      if (isClosed) return undefined
      // Rows are stored in their order.
      const failure = endRetry === undefined ? store(rows) : undefined
      if (endRetry === undefined && failure === undefined) return undefined
      keep(rows)
      if (failure === undefined) return undefined
      endRetry = setTimer(retry, retryMs)
      log.error({ problem: failure.problem }, `sessions cannot be stored: ${failure.message}`)
      return failure
    },
    waitingEvents: () => waiting.flatMap(({ event }) => event ?? []),
    waitingConversations: () => waiting.flatMap(({ conversation }) => conversation ?? []),
    lost: () => lost,
    forget(session, viewer) {
      waiting = waiting.filter(({ conversation, run, items, event, entry }) => {
        const row = conversation ?? run ?? items ?? event ?? entry
        return row !== undefined && (row.session !== session || (viewer !== undefined && row.owner !== viewer))
      })
      waitingSize = waiting.reduce((sum, rows) => sum + sizeOf(rows), 0)
    },
    close() {
      isClosed = true
      endRetry?.()
      if (waiting.length > 0) storeWaiting(Infinity)
    },
  }
}

/** The memory that rows take, about. */
function sizeOf({ run, part, items, event, entry }: Rows): number {
  let size = 1024
  for (const row of [run, part, items, event, entry]) size += row?.data.length ?? 0
  return size
}
