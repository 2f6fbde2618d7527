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

/**
 * Deletions in steps, because SQLite blocks the event loop: each `next()` deletes at most about 256 KB, which takes up to 20 ms
 * with the checkpoint that it may cause (measured, 2026-11).
 */
export interface OldRows {
  /** Deletes the rows beyond the limits. */
  readonly prune: (limits: KeepLimits) => Iterator<void>
  /**
   * Deletes the rows of a session, but none that are stored after this call.
   * @param viewer the key whose rows are deleted; undefined: all rows
   */
  readonly forget: (session: string, viewer: string | undefined) => Iterator<void>
  /** Deletes a conversation with its runs and their events, but none that are stored after this call. */
  readonly forgetConversation: (id: string) => Iterator<void>
  /** Deletes runs and their events in this order, so that a deletion which a crash interrupts leaves no gap: the newest first. */
  readonly forgetRuns: (ids: readonly string[]) => Iterator<void>
}

/** Maximum of one step. Bytes count because `secure_delete` overwrites deleted pages, which takes most of the time. */
const rowsAtOnce = 200
const bytesAtOnce = 256 * 1024

/** The clock may have been wrong when a run started, so that many of the oldest runs are searched for old ones. */
const oldestRuns = 1000

/** Older conversations without messages are deleted. */
const keptConversations = 1000

type Table = 'runs' | 'parts' | 'items' | 'texts' | 'events' | 'entries'

const keyOf = (table: Table): 'id' | 'seq' => (table === 'events' || table === 'entries' ? 'id' : 'seq')

const numberRow = z.object({ value: z.number().nullable() })
const nameRow = z.object({ value: z.string() })

export function createOldRows(
  { all, change, remove, pragma }: SessionSql,
  setPrunedTo: (eventId: number) => void,
): OldRows {
  const numberOf = (sql: string, ...values: readonly (string | number)[]): number | undefined =>
    all(numberRow, sql, ...values)[0]?.value ?? undefined
  const newestOf = (table: Table): number => numberOf(`SELECT max(${keyOf(table)}) AS value FROM ${table}`) ?? 0

  /** Deletes the matching rows, oldest first. */
  function* deleteRows(table: Table, where: string, ...values: readonly (string | number)[]): Generator<void> {
    const key = keyOf(table)
    const sizes = `SELECT ${key} AS key, octet_length(data) AS size FROM ${table} WHERE ${where} ORDER BY ${key} LIMIT ${rowsAtOnce}`
    const sums = `SELECT key, sum(size) OVER (ORDER BY key) - size AS before FROM (${sizes})`
    const last = `SELECT max(key) AS value FROM (${sums}) WHERE before < ${bytesAtOnce}`
    for (let to = numberOf(last, ...values); to !== undefined; to = numberOf(last, ...values)) {
      remove(`DELETE FROM ${table} WHERE ${where} AND ${key} <= ?`, ...values, to)
      // Returns the pages of deleted rows to the file system.
      pragma(`incremental_vacuum(${rowsAtOnce})`)
      yield
    }
  }

  /** Deletes the matching runs with their parts. A run's own row goes last, so that an interrupted deletion can continue. */
  function* deleteRuns(where: string, ...values: readonly (string | number)[]): Generator<void> {
    const next = `SELECT id AS value FROM runs WHERE ${where} ORDER BY seq LIMIT 1`
    for (let [run] = all(nameRow, next, ...values); run !== undefined; [run] = all(nameRow, next, ...values)) {
      // Delete `texts` after the `items` that refer to them.
      for (const table of ['parts', 'items', 'texts'] as const) yield* deleteRows(table, 'run = ?', run.value)
      remove('DELETE FROM runs WHERE id = ?', run.value)
      yield
    }
  }

  /** Returns the id of the last row before the first one that is young enough: rows are in the order of time. */
  function lastBefore(table: 'events' | 'entries', sinceMs: number): number {
    const first = `SELECT id AS value FROM ${table} WHERE time_ms >= ? ORDER BY id LIMIT 1`
    return (numberOf(first, sinceMs) ?? newestOf(table) + 1) - 1
  }

  function* prune({ sinceMs, runsPerSession, events, entriesPerSession }: KeepLimits): Generator<void> {
    const lastEntry = lastBefore('entries', sinceMs)
    const sessions = all(nameRow, 'SELECT session AS value FROM runs UNION SELECT session FROM entries')
    for (const { value: session } of sessions) {
      yield
      const tooMany = 'SELECT seq AS value FROM runs WHERE session = ? ORDER BY seq DESC LIMIT 1 OFFSET ?'
      const to = numberOf(tooMany, session, runsPerSession) ?? 0
      const oldest = `SELECT seq FROM runs WHERE session = ? ORDER BY seq LIMIT ${oldestRuns}`
      const isOld = `state = 'ended' AND (seq <= ? OR started_ms < ?)`
      yield* deleteRuns(`seq IN (${oldest}) AND ${isOld}`, session, to, sinceMs)
      // Prune tool calls apart from reports of providers, because many calls would displace the reports.
      for (const where of ['session = ? AND stream = ?', 'session = ? AND stream <> ?']) {
        const values = [session, toolCallStream]
        const excess = `SELECT id AS value FROM entries WHERE ${where} ORDER BY id DESC LIMIT 1 OFFSET ?`
        const toEntry = Math.max(lastEntry, numberOf(excess, ...values, entriesPerSession) ?? 0)
        yield* deleteRows('entries', `${where} AND id <= ?`, ...values, toEntry)
      }
    }
    deleteEmpty(`(created_ms < ? OR seq <= (SELECT max(seq) - ${keptConversations} FROM conversations))`, sinceMs)
    const excess = numberOf('SELECT id AS value FROM events ORDER BY id DESC LIMIT 1 OFFSET ?', events) ?? 0
    const toEvent = Math.max(lastBefore('events', sinceMs), excess)
    const lastEvent = numberOf('SELECT max(id) AS value FROM events WHERE id <= ?', toEvent)
    if (lastEvent === undefined) return
    setPrunedTo(lastEvent)
    yield* deleteRows('events', 'id <= ?', lastEvent)
  }

  /** Deletes conversations without runs. */
  function deleteEmpty(where: string, ...values: readonly (string | number)[]): void {
    change(
      `DELETE FROM conversations WHERE ${where} AND NOT EXISTS (SELECT 1 FROM runs WHERE conversation = conversations.id)`,
      ...values,
    )
  }

  return {
    prune,
    forget(session, viewer) {
      const where = viewer === undefined ? 'session = ?' : 'session = ? AND owner = ?'
      const values = viewer === undefined ? [session] : [session, viewer]
      const newest = { runs: newestOf('runs'), events: newestOf('events'), entries: newestOf('entries') }
      const newestConversation = numberOf('SELECT max(seq) AS value FROM conversations') ?? 0
      return (function* () {
        yield* deleteRuns(`${where} AND seq <= ?`, ...values, newest.runs)
        yield* deleteRows('events', `${where} AND id <= ?`, ...values, newest.events)
        yield* deleteRows('entries', `${where} AND id <= ?`, ...values, newest.entries)
        deleteEmpty(`${where} AND seq <= ?`, ...values, newestConversation)
      })()
    },
    *forgetRuns(ids) {
      for (const id of ids) {
        const [row] = all(nameRow, 'SELECT conversation AS value FROM runs WHERE id = ?', id)
        yield* deleteRuns('id = ?', id)
        // A message that joined the run has an id of its own.
        const ofRun = `conversation = ? AND coalesce(data ->> '$.runId', data ->> '$.id') = ?`
        if (row !== undefined) yield* deleteRows('events', ofRun, row.value, id)
      }
    },
    forgetConversation(id) {
      const newest = { runs: newestOf('runs'), events: newestOf('events') }
      return (function* () {
        yield* deleteRuns('conversation = ? AND seq <= ?', id, newest.runs)
        yield* deleteRows('events', 'conversation = ? AND id <= ?', id, newest.events)
        deleteEmpty('id = ?', id)
      })()
    },
  }
}
