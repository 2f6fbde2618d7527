import { z } from 'zod'
import { DatabaseError, openDatabase, withDatabaseErrors } from '../sqlite/database.ts'
import { everyone } from './session-event.ts'
import type { TextPiece } from './long-texts.ts'
import { createOldRows, type OldRows } from './old-rows.ts'
import { prepareSessions } from './prepare-sessions.ts'
import { createSessionSql } from './session-sql.ts'

/** A run without its parts and items. `data` is JSON of `runData`. */
export interface RunRow {
  readonly id: string
  readonly session: string
  /** The id of the key that made it. Null: made without a key. */
  readonly owner: string | null
  /** The id of its conversation. */
  readonly conversation: string
  readonly state: string
  /** Ms since epoch. */
  readonly startedMs: number
  readonly endedMs: number | null
  readonly data: string
}

export interface ConversationRow {
  readonly id: string
  readonly session: string
  /** As in RunRow. All its runs have the same. */
  readonly owner: string | null
  /** '' until the first message proposes one. */
  readonly title: string
  /** Ms since epoch. */
  readonly createdMs: number
}

/** A call, an approval, a diff, the plan or a text of a run. `key` is unique within the run and kind. */
export interface PartRow {
  readonly run: string
  readonly kind: 'call' | 'approval' | 'diff' | 'plan' | 'text'
  readonly key: string
  readonly data: string
}

export interface EventRow {
  readonly id: number
  readonly session: string
  /** Who may see it: as in RunRow, or `everyone`. */
  readonly owner: string | null
  /** Null: an event outside of runs. */
  readonly conversation: string | null
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
  /** As in RunRow. */
  readonly owner: string | null
  readonly stream: string
  readonly timeMs: number
  readonly data: string
}

/** Rows that are stored together. */
export interface Rows {
  /** Replaces the title of an earlier one with the same id. */
  readonly conversation?: ConversationRow | undefined
  readonly run?: RunRow
  readonly part?: PartRow
  /** The items that a run adds to the history: JSON. */
  readonly items?: Pick<EventRow, 'session' | 'owner' | 'data'> & { readonly run: string }
  readonly event?: EventRow
  readonly entry?: Omit<EntryRow, 'id'>
}

/** The items that a run has added to the history. */
export interface ItemsRow {
  readonly seq: number
  readonly run: string
  /** JSON. */
  readonly data: string
  /** Size of `data` and the long texts. Bytes. */
  readonly size: number
}

export interface EventFilter {
  readonly session?: string | undefined
  readonly viewer?: string | undefined
}

export interface Page {
  readonly limit: number
  /** Selects rows older than the one with this id. */
  readonly before?: string | undefined
}

/**
 * Sessions in one SQLite file. Every call may throw a DatabaseError. A `viewer` is the id of a key, which selects what that key
 * may see; undefined selects everything.
 */
export interface SessionStore extends OldRows {
  /** Stores all the rows or, if it throws, none. A run, a part or an event replaces an earlier one with the same id. */
  readonly put: (rows: Rows) => void
  /** Stores a piece of a long text. Call it before the items that refer to the text are stored. */
  readonly putPiece: (run: string, piece: TextPiece) => void
  readonly run: (id: string) => RunRow | undefined
  /** Oldest first. Fewer than the limit if the rows are long. @param conversation undefined: those of all conversations */
  readonly runsOf: (session: string, page: Page, viewer: string | undefined, conversation?: string) => readonly RunRow[]
  readonly conversation: (id: string) => ConversationRow | undefined
  /** The conversation that was used last is first. `lastMs`: when its last run started. */
  readonly conversationsOf: (
    session: string,
    viewer: string | undefined,
  ) => readonly (ConversationRow & { readonly lastMs: number | null })[]
  readonly unfinished: () => readonly RunRow[]
  readonly partsOf: (run: string) => readonly PartRow[]
  readonly approval: (id: string) => PartRow | undefined
  /** Returns the items that were stored last before `seq`, among those of a conversation. */
  readonly itemsBefore: (conversation: string, seq: number) => ItemsRow | undefined
  readonly itemsOf: (run: string) => ItemsRow | undefined
  /** Returns the next piece of the long texts of a run. `seq` is that of the piece before it, or 0. */
  readonly pieceAfter: (run: string, seq: number) => (TextPiece & { readonly seq: number }) | undefined
  /** Fewer than the limit if the events are long. Empty only at the end. */
  readonly eventsAfter: (id: number, filter: EventFilter, limit: number) => readonly EventRow[]
  /** Id of the newest event that was ever stored, or 0. */
  readonly lastEventId: () => number
  /** Events up to this id may have been deleted. */
  readonly prunedTo: () => number
  readonly setPrunedTo: (id: number) => void
  readonly streamsOf: (
    session: string,
    viewer: string | undefined,
  ) => readonly { readonly name: string; readonly entries: number; readonly lastMs: number }[]
  readonly entriesOf: (session: string, stream: string, page: Page, viewer: string | undefined) => readonly EntryRow[]
  /** Moves the log into the file and truncates it: otherwise deleted text would stay in the log until SQLite overwrites it. */
  readonly emptyLog: () => void
  readonly close: () => void
}

const runColumns = 'id, session, owner, conversation, state, started_ms AS startedMs, ended_ms AS endedMs, data'
const runRow = z.object({
  id: z.string(),
  session: z.string(),
  owner: z.string().nullable(),
  conversation: z.string(),
  state: z.string(),
  startedMs: z.number(),
  endedMs: z.number().nullable(),
  data: z.string(),
}) satisfies z.ZodType<RunRow>
const conversationColumns = 'id, session, owner, title, created_ms AS createdMs'
const conversationRow = z.object({
  id: z.string(),
  session: z.string(),
  owner: z.string().nullable(),
  title: z.string(),
  createdMs: z.number(),
}) satisfies z.ZodType<ConversationRow>
const usedRow = conversationRow.extend({ lastMs: z.number().nullable() })
const partRow = z.object({
  run: z.string(),
  kind: z.enum(['call', 'approval', 'diff', 'plan', 'text']),
  key: z.string(),
  data: z.string(),
}) satisfies z.ZodType<PartRow>
const eventColumns = 'id, session, owner, conversation, type, time_ms AS timeMs, data'
const eventRow = z.object({
  id: z.number(),
  session: z.string(),
  owner: z.string().nullable(),
  conversation: z.string().nullable(),
  type: z.string(),
  timeMs: z.number(),
  data: z.string(),
}) satisfies z.ZodType<EventRow>
const entryColumns = 'id, session, owner, stream, time_ms AS timeMs, data'
const entryRow = z.object({
  id: z.number(),
  session: z.string(),
  owner: z.string().nullable(),
  stream: z.string(),
  timeMs: z.number(),
  data: z.string(),
}) satisfies z.ZodType<EntryRow>
const streamRow = z.object({ name: z.string(), entries: z.number(), lastMs: z.number() })
const itemsRow = z.object({
  seq: z.number(),
  run: z.string(),
  data: z.string(),
  size: z.number(),
}) satisfies z.ZodType<ItemsRow>
const selectItems = `SELECT seq, run, data, octet_length(data)
    + (SELECT coalesce(sum(octet_length(data)), 0) FROM texts WHERE texts.run = items.run) AS size FROM items`
const pieceRow = z.object({ seq: z.number(), number: z.number(), data: z.string() })
const valueRow = z.object({ value: z.number().nullable() })
const sizeRow = z.object({ key: z.number(), size: z.number() })

/** Returns a condition for a statement, and its value, if there is a viewer. */
function seen(viewer: string | undefined) {
  return viewer === undefined ? { and: '', values: [] } : { and: 'AND owner = ?', values: [viewer] }
}

/** Selects the events after an id. For a viewer, it reads no rows of others, however many there are. */
function selectEvents(id: number, { session, viewer }: EventFilter, limit: number) {
  const ofSession = session === undefined ? '' : 'AND session = ?'
  const sessions = session === undefined ? [] : [session]
  if (viewer === undefined) return { where: `WHERE id > ? ${ofSession}`, values: [id, ...sessions] }
  const one = `SELECT * FROM (SELECT id FROM events WHERE owner = ? AND id > ? ${ofSession} ORDER BY id LIMIT ?)`
  return {
    where: `WHERE id IN (SELECT id FROM (${one} UNION ALL ${one}) ORDER BY id LIMIT ?)`,
    values: [viewer, id, ...sessions, limit, everyone, id, ...sessions, limit, limit],
  }
}

/** More than usual messages need within the limits of `prune`. */
const defaultMaxBytes = 2 ** 31

/** Maximum size of the rows that are read at once, because reading blocks the event loop. Bytes. */
const maxRuns = 4 * 1024 * 1024
const maxEvents = 256 * 1024

/** Returns the key of the last row before the sum of sizes exceeds `most`; at least that of the first row. */
function lastWithin(rows: readonly z.infer<typeof sizeRow>[], most: number): number | undefined {
  let sum = 0
  const over = rows.findIndex(({ size }, at) => (sum += size) > most && at > 0)
  return rows.at(over === -1 ? -1 : over - 1)?.key
}

/** Time to wait for another process that has the file open. Blocks this process. Ms. */
const waitMs = 50

/**
 * Opens or creates the file and locks it until `close` or the end of the process: two processes would treat each other's runs
 * as interrupted.
 * @param file with `:memory:`, sessions last until `close`
 * @param maxBytes a write that would make the file larger fails as on a full disk
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
  const sql = createSessionSql(database, file)
  const { all, change, together } = sql

  const putConversation = `INSERT INTO conversations (id, session, owner, title, created_ms) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET title = excluded.title`
  const putRun = `INSERT INTO runs (id, session, owner, conversation, state, started_ms, ended_ms, data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, started_ms = excluded.started_ms, ended_ms = excluded.ended_ms,
      data = excluded.data`
  const putPart = `INSERT INTO parts (run, kind, key, data) VALUES (?, ?, ?, ?)
    ON CONFLICT (run, kind, key) DO UPDATE SET data = excluded.data`
  const putEvent = `INSERT OR REPLACE INTO events (id, session, owner, conversation, type, time_ms, data)
    VALUES (?, ?, ?, ?, ?, ?, ?)`
  const putEntry = `INSERT INTO entries (session, owner, stream, time_ms, data) VALUES (?, ?, ?, ?, ?)`
  const putItems = `INSERT OR REPLACE INTO items (session, run, owner, data) VALUES (?, ?, ?, ?)`
  const setPrunedTo = (id: number): void => {
    change(
      `INSERT INTO meta VALUES ('pruned_to', ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
      id,
    )
  }
  const seqOf = (run: string, viewer: string | undefined): number | undefined => {
    const { and, values } = seen(viewer)
    return all(valueRow, `SELECT seq AS value FROM runs WHERE id = ? ${and}`, run, ...values)[0]?.value ?? undefined
  }
  const prunedTo = (): number => all(valueRow, `SELECT value FROM meta WHERE name = 'pruned_to'`)[0]?.value ?? 0

  return {
    put({ conversation, run, part, items, event, entry }) {
      together(() => {
        if (conversation !== undefined) {
          const { id, session, owner, title, createdMs } = conversation
          change(putConversation, id, session, owner, title, createdMs)
        }
        if (run !== undefined) {
          const { id, session, owner, state, startedMs, endedMs, data } = run
          change(putRun, id, session, owner, run.conversation, state, startedMs, endedMs, data)
        }
        if (part !== undefined) change(putPart, part.run, part.kind, part.key, part.data)
        if (items !== undefined) change(putItems, items.session, items.run, items.owner, items.data)
        if (event !== undefined) {
          const { id, session, owner, type, timeMs, data } = event
          change(putEvent, id, session, owner, event.conversation, type, timeMs, data)
        }
        if (entry !== undefined) change(putEntry, entry.session, entry.owner, entry.stream, entry.timeMs, entry.data)
      })
    },
    putPiece: (run, { number, data }) => {
      change('INSERT INTO texts (run, number, data) VALUES (?, ?, ?)', run, number, data)
    },
    run: (id) => all(runRow, `SELECT ${runColumns} FROM runs WHERE id = ?`, id)[0],
    runsOf(session, { limit, before }, viewer, conversation) {
      const below = before === undefined ? Number.MAX_SAFE_INTEGER : (seqOf(before, viewer) ?? 0)
      const of = conversation === undefined ? 'session = ?' : 'conversation = ? AND session = ?'
      const { and, values: ofViewer } = seen(viewer)
      const values = [...(conversation === undefined ? [] : [conversation]), session, ...ofViewer]
      const sizes = `SELECT seq AS key, octet_length(data) AS size FROM runs WHERE ${of} ${and} AND seq < ?
        ORDER BY seq DESC LIMIT ?`
      const first = lastWithin(all(sizeRow, sizes, ...values, below, limit), maxRuns)
      if (first === undefined) return []
      const rows = `SELECT ${runColumns} FROM runs WHERE ${of} ${and} AND seq >= ? AND seq < ? ORDER BY seq`
      return all(runRow, rows, ...values, first, below)
    },
    conversation: (id) => all(conversationRow, `SELECT ${conversationColumns} FROM conversations WHERE id = ?`, id)[0],
    conversationsOf(session, viewer) {
      const { and, values } = seen(viewer)
      const last = `SELECT started_ms FROM runs WHERE conversation = c.id ORDER BY runs.seq DESC LIMIT 1`
      return all(
        usedRow,
        `SELECT ${conversationColumns}, (${last}) AS lastMs FROM conversations AS c WHERE session = ? ${and}
          ORDER BY max(created_ms, coalesce(lastMs, 0)) DESC, seq DESC`,
        session,
        ...values,
      )
    },
    unfinished: () => all(runRow, `SELECT ${runColumns} FROM runs WHERE state <> 'ended' ORDER BY seq`),
    partsOf: (run) => all(partRow, 'SELECT run, kind, key, data FROM parts WHERE run = ? ORDER BY seq', run),
    approval: (id) => all(partRow, `SELECT run, kind, key, data FROM parts WHERE kind = 'approval' AND key = ?`, id)[0],
    itemsBefore: (conversation, seq) =>
      // The inner statement reads indexes alone.
      all(
        itemsRow,
        `${selectItems} WHERE seq = (SELECT max(items.seq) FROM runs JOIN items ON items.run = runs.id
          WHERE runs.conversation = ? AND items.seq < ?)`,
        conversation,
        seq,
      )[0],
    itemsOf: (run) => all(itemsRow, `${selectItems} WHERE run = ?`, run)[0],
    pieceAfter: (run, seq) =>
      all(pieceRow, 'SELECT seq, number, data FROM texts WHERE run = ? AND seq > ? ORDER BY seq LIMIT 1', run, seq)[0],
    eventsAfter(id, filter, limit) {
      const { where, values } = selectEvents(id, filter, limit)
      const sizes = `SELECT id AS key, octet_length(data) AS size FROM events ${where} ORDER BY id LIMIT ?`
      const last = lastWithin(all(sizeRow, sizes, ...values, limit), maxEvents)
      if (last === undefined) return []
      return all(eventRow, `SELECT ${eventColumns} FROM events ${where} AND id <= ? ORDER BY id`, ...values, last)
    },
    lastEventId: () => Math.max(all(valueRow, 'SELECT max(id) AS value FROM events')[0]?.value ?? 0, prunedTo()),
    prunedTo,
    setPrunedTo,
    streamsOf(session, viewer) {
      const { and, values } = seen(viewer)
      return all(
        streamRow,
        `SELECT stream AS name, count(*) AS entries, max(time_ms) AS lastMs FROM entries WHERE session = ? ${and}
          GROUP BY stream ORDER BY stream`,
        session,
        ...values,
      )
    },
    entriesOf(session, stream, { limit, before }, viewer) {
      const { and, values } = seen(viewer)
      return all(
        entryRow,
        `SELECT ${entryColumns} FROM entries WHERE session = ? ${and} AND stream = ? AND id < ? ORDER BY id DESC LIMIT ?`,
        session,
        ...values,
        stream,
        before === undefined ? Number.MAX_SAFE_INTEGER : Number(before),
        limit,
      ).toReversed()
    },
    ...createOldRows(sql, setPrunedTo),
    emptyLog: () => sql.pragma('wal_checkpoint(TRUNCATE)'),
    close: () => database.close(),
  }
}
