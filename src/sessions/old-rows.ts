import { z } from 'zod'
import type { SessionSql } from './session-sql.ts'

/** The stream of a session with the audit lines of tool calls. All other streams are reports of providers. */
export const toolCallStream = 'tool-calls'

/** Limits of the stored rows. */
interface KeepLimits {
  /** Older rows are deleted. Ms since epoch. */
  readonly sinceMs: number
  readonly runsPerSession: number
  readonly events: number
  readonly entriesPerSession: number
}

/** Keys of the newest rows of all sessions. */
interface NewestRows {
  readonly run: number
  readonly event: number
  readonly entry: number
}

/** Deletes few rows with each call, because SQLite blocks the event loop. */
export interface OldRows {
  /** Deletes some rows beyond the limits. Returns whether there may be more. */
  readonly prune: (limits: KeepLimits) => boolean
  readonly newest: () => NewestRows
  /**
   * Deletes some rows of a session up to `newest`. Returns whether there may be more.
   * @param viewer the key whose rows are deleted; undefined: all rows
   */
  readonly forget: (session: string, newest: NewestRows, viewer: string | undefined) => boolean
}

/** Maximum of one call. Bytes count because `secure_delete` overwrites deleted pages, which takes most of the time. */
const rowsAtOnce = 200
const bytesAtOnce = 256 * 1024

/** Must exceed the number of runs of a session that can be in progress: the oldest rows may all be such runs. */
const runsSeen = 50

const numberRow = z.object({ value: z.number().nullable() })
const nameRow = z.object({ value: z.string().nullable() })
const sizedRow = z.object({ key: z.number(), timeMs: z.number(), size: z.number() })
const runRow = z.object({ seq: z.number(), id: z.string(), state: z.string(), timeMs: z.number() })

interface Budget {
  rows: number
  bytes: number
}

const isSpent = ({ rows, bytes }: Budget): boolean => rows <= 0 || bytes <= 0

export function createOldRows(
  { all, change, write, pragma, addLogged }: SessionSql,
  setPrunedTo: (eventId: number) => void,
): OldRows {
  /** `prune` continues with the session after this one. */
  let pruned = ''

  const numberOf = (sql: string, ...values: readonly (string | number)[]): number | undefined =>
    all(numberRow, sql, ...values)[0]?.value ?? undefined

  /** Returns the session after `pruned` in the order of ids. */
  function nextSession(): string | undefined {
    const names = ['runs', 'entries'].map(
      (table) => all(nameRow, `SELECT min(session) AS value FROM ${table} WHERE session > ?`, pruned)[0]?.value,
    )
    return names.filter((name) => typeof name === 'string').toSorted()[0]
  }

  /** Deletes rows from the first on, within the budget. Returns the key of the last deleted row. */
  function deleteFirst(
    budget: Budget,
    table: 'parts' | 'items' | 'texts' | 'events' | 'entries',
    rows: readonly z.infer<typeof sizedRow>[],
    isOld: (row: z.infer<typeof sizedRow>, at: number) => boolean = () => true,
  ): number | undefined {
    const key = table === 'events' || table === 'entries' ? 'id' : 'seq'
    let last: number | undefined
    for (const [at, row] of rows.entries()) {
      if (isSpent(budget) || !isOld(row, at)) break
      change(`DELETE FROM ${table} WHERE ${key} = ?`, row.key)
      // SQLite also writes the overwritten pages to the write-ahead log.
      addLogged(row.size)
      budget.rows -= 1
      budget.bytes -= row.size
      last = row.key
    }
    return last
  }

  /** Deletes the run itself only after all its parts and items, which may take several calls. */
  function deleteRun(budget: Budget, id: string): void {
    // Delete `texts` after the `items` that refer to them.
    for (const table of ['parts', 'items', 'texts'] as const) {
      const sql = `SELECT seq AS key, 0 AS timeMs, octet_length(data) AS size FROM ${table} WHERE run = ? ORDER BY seq LIMIT ?`
      deleteFirst(budget, table, all(sizedRow, sql, id, rowsAtOnce))
      if (isSpent(budget)) return
    }
    const size = numberOf('SELECT octet_length(data) AS value FROM runs WHERE id = ?', id) ?? 0
    change('DELETE FROM runs WHERE id = ?', id)
    addLogged(size)
    budget.rows -= 1
    budget.bytes -= size
  }

  function pruneRuns(budget: Budget, session: string, { sinceMs, runsPerSession }: KeepLimits): void {
    const tooMany = numberOf(
      'SELECT seq AS value FROM runs WHERE session = ? ORDER BY seq DESC LIMIT 1 OFFSET ?',
      session,
      runsPerSession,
    )
    const oldest = all(
      runRow,
      'SELECT seq, id, state, started_ms AS timeMs FROM runs WHERE session = ? ORDER BY seq LIMIT ?',
      session,
      runsSeen,
    )
    for (const { seq, id, state, timeMs } of oldest) {
      if (isSpent(budget)) return
      if (state === 'ended' && (seq <= (tooMany ?? 0) || timeMs < sinceMs)) deleteRun(budget, id)
    }
  }

  function pruneEntries(budget: Budget, session: string, { sinceMs, entriesPerSession }: KeepLimits): void {
    // Prune tool calls apart from reports of providers, because many calls would displace the reports.
    for (const streams of ['stream = ?', 'stream <> ?']) {
      const tooMany = numberOf(
        `SELECT id AS value FROM entries WHERE session = ? AND ${streams} ORDER BY id DESC LIMIT 1 OFFSET ?`,
        session,
        toolCallStream,
        entriesPerSession,
      )
      const rows = all(
        sizedRow,
        `SELECT id AS key, time_ms AS timeMs, octet_length(data) AS size FROM entries
          WHERE id IN (SELECT id FROM entries WHERE session = ? AND ${streams} ORDER BY id LIMIT ?) ORDER BY id`,
        session,
        toolCallStream,
        rowsAtOnce,
      )
      deleteFirst(budget, 'entries', rows, ({ key, timeMs }) => key <= (tooMany ?? 0) || timeMs < sinceMs)
    }
  }

  /** Stops at the first event that stays, because events are in the order of time. */
  function pruneEvents(budget: Budget, { sinceMs, events }: KeepLimits): void {
    const excess = (numberOf('SELECT count(*) AS value FROM events') ?? 0) - events
    const rows = all(
      sizedRow,
      'SELECT id AS key, time_ms AS timeMs, octet_length(data) AS size FROM events ORDER BY id LIMIT ?',
      rowsAtOnce,
    )
    const last = deleteFirst(budget, 'events', rows, ({ timeMs }, at) => at < excess || timeMs < sinceMs)
    if (last !== undefined) setPrunedTo(last)
  }

  /** Returns whether anything was deleted. */
  function deleteSome(act: (budget: Budget) => void): boolean {
    const budget = { rows: rowsAtOnce, bytes: bytesAtOnce }
    write(() => act(budget))
    const isSome = budget.rows < rowsAtOnce
    // Returns the pages of deleted rows to the file system.
    if (isSome) pragma(`incremental_vacuum(${rowsAtOnce})`)
    return isSome
  }

  return {
    prune(limits) {
      let session: string | undefined
      const isSome = deleteSome((budget) => {
        session = nextSession()
        if (session !== undefined) {
          pruneRuns(budget, session, limits)
          pruneEntries(budget, session, limits)
        }
        pruneEvents(budget, limits)
      })
      if (isSome) return true
      pruned = session ?? ''
      return session !== undefined
    },
    newest: () => ({
      run: numberOf('SELECT max(seq) AS value FROM runs') ?? 0,
      event: numberOf('SELECT max(id) AS value FROM events') ?? 0,
      entry: numberOf('SELECT max(id) AS value FROM entries') ?? 0,
    }),
    forget: (session, newest, viewer) =>
      deleteSome((budget) => {
        const ofViewer = viewer === undefined ? '' : 'AND owner = ?'
        const viewers = viewer === undefined ? [] : [viewer]
        const runs = all(
          z.object({ id: z.string() }),
          `SELECT id FROM runs WHERE session = ? ${ofViewer} AND seq <= ? ORDER BY seq LIMIT ?`,
          session,
          ...viewers,
          newest.run,
          rowsAtOnce,
        )
        for (const { id } of runs) if (!isSpent(budget)) deleteRun(budget, id)
        for (const [table, last] of [['events', newest.event] as const, ['entries', newest.entry] as const]) {
          if (isSpent(budget)) return
          const sql = `SELECT id AS key, time_ms AS timeMs, octet_length(data) AS size FROM ${table} WHERE session = ? ${ofViewer} AND id <= ? ORDER BY id LIMIT ?`
          deleteFirst(budget, table, all(sizedRow, sql, session, ...viewers, last, rowsAtOnce))
        }
      }),
  }
}
