import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { DatabaseError, inTransaction, openDatabase, withDatabaseErrors } from '../sqlite/database.ts'
import { prepareSessions } from './prepare-sessions.ts'

/** The head of a run. `data` is JSON. */
export interface RunRow {
  readonly id: string
  readonly session: string
  readonly state: string
  /** Ms since epoch. */
  readonly startedMs: number
  readonly endedMs: number | null
  readonly data: string
}

/** A call, an approval, a diff or a text of a run. `key` is unique among the parts of one kind of the run. */
export interface PartRow {
  readonly run: string
  readonly kind: 'call' | 'approval' | 'diff' | 'text'
  readonly key: string
  readonly data: string
}

export interface EventRow {
  readonly id: number
  readonly session: string
  readonly type: string
  /** Ms since epoch. */
  readonly timeMs: number
  /** JSON. */
  readonly data: string
}

/** An entry of a named stream. */
export interface EntryRow {
  readonly id: number
  readonly session: string
  readonly stream: string
  readonly timeMs: number
  readonly data: string
}

export interface Page {
  readonly limit: number
  /** Only what is older than this one. */
  readonly before?: string | undefined
}

/** What is kept beyond these limits is deleted, a part at a time. */
interface KeepLimits {
  /** Runs and entries that are older go. Ms since epoch. */
  readonly sinceMs: number
  readonly runsPerSession: number
  readonly events: number
  readonly entriesPerSession: number
}

/** Sessions in one SQLite file. Every call may throw a DatabaseError. */
export interface SessionStore {
  /** All writes of `act`, or none if it throws. */
  readonly write: (act: () => void) => void
  readonly putRun: (run: RunRow) => void
  readonly putPart: (part: PartRow) => void
  readonly putItems: (session: string, run: string, items: string) => void
  readonly putEvents: (events: readonly EventRow[]) => void
  readonly putEntry: (entry: Omit<EntryRow, 'id'>) => void
  readonly run: (id: string) => RunRow | undefined
  /** The newest last. */
  readonly runsOf: (session: string, page: Page) => readonly RunRow[]
  readonly unfinished: () => readonly RunRow[]
  readonly partsOf: (run: string) => readonly PartRow[]
  readonly approval: (id: string) => PartRow | undefined
  /** The items of the newest runs, oldest first, as long as they fit. @param maxLength characters */
  readonly itemsOf: (session: string, maxLength: number) => readonly string[]
  readonly eventsAfter: (id: number, session: string | undefined, limit: number) => readonly EventRow[]
  /** Of the newest event that was ever stored; 0 if there was none. */
  readonly lastEventId: () => number
  /** Events up to this id may have been deleted. */
  readonly prunedTo: () => number
  readonly setPrunedTo: (id: number) => void
  readonly streamsOf: (
    session: string,
  ) => readonly { readonly name: string; readonly entries: number; readonly lastMs: number }[]
  readonly entriesOf: (session: string, stream: string, page: Page) => readonly EntryRow[]
  /** Deletes a part of what is too old or too much. Returns whether there is more. */
  readonly prune: (limits: KeepLimits) => boolean
  /** Deletes everything of a session, also from the file. */
  readonly forget: (session: string) => void
  readonly close: () => void
}

const runColumns = 'id, session, state, started_ms AS startedMs, ended_ms AS endedMs, data'
const runRow = z.object({
  id: z.string(),
  session: z.string(),
  state: z.string(),
  startedMs: z.number(),
  endedMs: z.number().nullable(),
  data: z.string(),
}) satisfies z.ZodType<RunRow>
const partRow = z.object({
  run: z.string(),
  kind: z.enum(['call', 'approval', 'diff', 'text']),
  key: z.string(),
  data: z.string(),
}) satisfies z.ZodType<PartRow>
const eventColumns = 'id, session, type, time_ms AS timeMs, data'
const eventRow = z.object({
  id: z.number(),
  session: z.string(),
  type: z.string(),
  timeMs: z.number(),
  data: z.string(),
}) satisfies z.ZodType<EventRow>
const entryColumns = 'id, session, stream, time_ms AS timeMs, data'
const entryRow = z.object({
  id: z.number(),
  session: z.string(),
  stream: z.string(),
  timeMs: z.number(),
  data: z.string(),
}) satisfies z.ZodType<EntryRow>
const streamRow = z.object({ name: z.string(), entries: z.number(), lastMs: z.number() })
const dataRow = z.object({ data: z.string() })
const valueRow = z.object({ value: z.number().nullable() })

/** Rows that one call of `prune` deletes from a table: it must not hold up the process. */
const prunedAtOnce = 200

/** More than the limits of `prune` leave of usual messages. */
const defaultMaxBytes = 2 ** 31

/** How long to wait for a process that has the file open, blocking this one. Ms. */
const waitMs = 50

/**
 * Opens or creates the file for this process alone, until `close` or its end: two would take each other's runs for
 * interrupted ones.
 * @param file `:memory:` for one that is not kept
 * @param maxBytes the file grows no larger: a write that would make it so fails as on a full disk
 */
export function openSessionStore(file: string, maxBytes: number = defaultMaxBytes): SessionStore {
  const guarded = <Result>(act: () => Result): Result => withDatabaseErrors(file, 'the sessions', act)
  const database = guarded(() => openDatabase(file, { waitMs }))
  try {
    guarded(() => prepareSessions(database, file, maxBytes))
  } catch (error) {
    database.close()
    if (!(error instanceof DatabaseError) || error.problem !== 'busy') throw error
    throw new DatabaseError('busy', `Another copilot-proxy is using the sessions in ${file}.`, { cause: error })
  }

  const prepared = new Map<string, ReturnType<DatabaseSync['prepare']>>()
  const statement = (sql: string): ReturnType<DatabaseSync['prepare']> => {
    const known = prepared.get(sql)
    if (known !== undefined) return known
    const made = database.prepare(sql)
    prepared.set(sql, made)
    return made
  }
  const all = <Row>(schema: z.ZodType<Row>, sql: string, ...values: readonly (string | number)[]): Row[] =>
    guarded(() => {
      const rows = z.array(schema).safeParse(statement(sql).all(...values))
      if (rows.success) return rows.data
      throw new DatabaseError('damaged', `Cannot read the sessions in ${file}.`)
    })
  const change = (sql: string, ...values: readonly (string | number | null)[]): number =>
    guarded(() => Number(statement(sql).run(...values).changes))
  const write = (act: () => void): void => guarded(() => inTransaction(database, act))

  const putRun = `INSERT INTO runs (id, session, state, started_ms, ended_ms, data) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, started_ms = excluded.started_ms, ended_ms = excluded.ended_ms,
      data = excluded.data`
  const putPart = `INSERT INTO parts (run, kind, key, data) VALUES (?, ?, ?, ?)
    ON CONFLICT (run, kind, key) DO UPDATE SET data = excluded.data`
  const setPrunedTo = (id: number): void => {
    change(
      `INSERT INTO meta VALUES ('pruned_to', ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
      id,
    )
  }
  const prunedTo = (): number => all(valueRow, `SELECT value FROM meta WHERE name = 'pruned_to'`)[0]?.value ?? 0

  function deleteRuns(ids: readonly string[]): void {
    for (const id of ids) {
      change('DELETE FROM parts WHERE run = ?', id)
      change('DELETE FROM items WHERE run = ?', id)
      change('DELETE FROM runs WHERE id = ?', id)
    }
  }

  function idOf(sql: string, ...values: readonly number[]): number | undefined {
    return all(valueRow, sql, ...values)[0]?.value ?? undefined
  }

  /** Events are in the order of time: those before the first that stays are deleted. */
  function pruneEvents(sinceMs: number, most: number): number {
    const first = idOf('SELECT min(id) AS value FROM events')
    if (first === undefined) return 0
    const firstYoung = idOf('SELECT id AS value FROM events WHERE time_ms >= ? ORDER BY id LIMIT 1', sinceMs)
    const firstOfMost = idOf('SELECT id AS value FROM events ORDER BY id DESC LIMIT 1 OFFSET ?', most - 1)
    const firstKept = Math.max(firstYoung ?? Number.MAX_SAFE_INTEGER, firstOfMost ?? first)
    const last = idOf(
      'SELECT max(id) AS value FROM (SELECT id FROM events WHERE id < ? ORDER BY id LIMIT ?)',
      firstKept,
      prunedAtOnce,
    )
    if (last === undefined) return 0
    setPrunedTo(last)
    return change('DELETE FROM events WHERE id <= ?', last)
  }

  return {
    write,
    putRun: ({ id, session, state, startedMs, endedMs, data }) => {
      change(putRun, id, session, state, startedMs, endedMs, data)
    },
    putPart: ({ run, kind, key, data }) => {
      change(putPart, run, kind, key, data)
    },
    putItems: (session, run, items) => {
      change('INSERT OR REPLACE INTO items (session, run, data) VALUES (?, ?, ?)', session, run, items)
    },
    putEvents(events) {
      for (const { id, session, type, timeMs, data } of events) {
        change('INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?)', id, session, type, timeMs, data)
      }
    },
    putEntry: ({ session, stream, timeMs, data }) => {
      change('INSERT INTO entries (session, stream, time_ms, data) VALUES (?, ?, ?, ?)', session, stream, timeMs, data)
    },
    run: (id) => all(runRow, `SELECT ${runColumns} FROM runs WHERE id = ?`, id)[0],
    runsOf: (session, { limit, before }) =>
      before === undefined
        ? all(
            runRow,
            `SELECT ${runColumns} FROM runs WHERE session = ? ORDER BY seq DESC LIMIT ?`,
            session,
            limit,
          ).toReversed()
        : all(
            runRow,
            `SELECT ${runColumns} FROM runs WHERE session = ? AND seq < (SELECT seq FROM runs WHERE id = ?)
              ORDER BY seq DESC LIMIT ?`,
            session,
            before,
            limit,
          ).toReversed(),
    unfinished: () => all(runRow, `SELECT ${runColumns} FROM runs WHERE state <> 'ended' ORDER BY seq`),
    partsOf: (run) => all(partRow, 'SELECT run, kind, key, data FROM parts WHERE run = ? ORDER BY seq', run),
    approval: (id) => all(partRow, `SELECT run, kind, key, data FROM parts WHERE kind = 'approval' AND key = ?`, id)[0],
    itemsOf: (session, maxLength) =>
      all(
        dataRow,
        `SELECT data FROM (
          SELECT seq, data, sum(length(data)) OVER (ORDER BY seq DESC) AS total FROM items WHERE session = ?
        ) WHERE total <= ? ORDER BY seq`,
        session,
        maxLength,
      ).map(({ data }) => data),
    eventsAfter: (id, session, limit) =>
      session === undefined
        ? all(eventRow, `SELECT ${eventColumns} FROM events WHERE id > ? ORDER BY id LIMIT ?`, id, limit)
        : all(
            eventRow,
            `SELECT ${eventColumns} FROM events WHERE session = ? AND id > ? ORDER BY id LIMIT ?`,
            session,
            id,
            limit,
          ),
    lastEventId: () => Math.max(all(valueRow, 'SELECT max(id) AS value FROM events')[0]?.value ?? 0, prunedTo()),
    prunedTo,
    setPrunedTo,
    streamsOf: (session) =>
      all(
        streamRow,
        `SELECT stream AS name, count(*) AS entries, max(time_ms) AS lastMs FROM entries WHERE session = ?
          GROUP BY stream ORDER BY stream`,
        session,
      ),
    entriesOf: (session, stream, { limit, before }) =>
      all(
        entryRow,
        `SELECT ${entryColumns} FROM entries WHERE session = ? AND stream = ? AND id < ? ORDER BY id DESC LIMIT ?`,
        session,
        stream,
        before === undefined ? Number.MAX_SAFE_INTEGER : Number(before),
        limit,
      ).toReversed(),
    prune({ sinceMs, runsPerSession, events, entriesPerSession }) {
      let most = 0
      write(() => {
        const runs = all(
          z.object({ id: z.string() }),
          `SELECT id FROM (
            SELECT id, started_ms, row_number() OVER (PARTITION BY session ORDER BY seq DESC) AS age FROM runs
              WHERE state = 'ended'
          ) WHERE age > ? OR started_ms < ? LIMIT ?`,
          runsPerSession,
          sinceMs,
          prunedAtOnce,
        )
        deleteRuns(runs.map(({ id }) => id))
        const deleted = pruneEvents(sinceMs, events)
        const entries = change(
          `DELETE FROM entries WHERE id IN (
            SELECT id FROM (
              SELECT id, time_ms, row_number() OVER (PARTITION BY session ORDER BY id DESC) AS age FROM entries
            ) WHERE age > ? OR time_ms < ? LIMIT ?
          )`,
          entriesPerSession,
          sinceMs,
          prunedAtOnce,
        )
        most = Math.max(runs.length, deleted, entries)
      })
      if (most > 0) guarded(() => database.exec(`PRAGMA incremental_vacuum(${prunedAtOnce})`))
      return most >= prunedAtOnce
    },
    forget(session) {
      write(() => {
        change('DELETE FROM parts WHERE run IN (SELECT id FROM runs WHERE session = ?)', session)
        for (const table of ['runs', 'items', 'events', 'entries']) {
          change(`DELETE FROM ${table} WHERE session = ?`, session)
        }
      })
      // Otherwise the deleted text would stay in the write-ahead log until its next use.
      guarded(() => database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get())
    },
    close: () => database.close(),
  }
}
