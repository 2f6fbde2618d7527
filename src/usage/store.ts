import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { DatabaseError, inTransaction, openDatabase, withDatabaseErrors } from '../sqlite/database.ts'
import type { DatabaseOptions } from '../sqlite/database.ts'
import type { Tally } from './tally.ts'

/** Totals in one SQLite file. Every call may throw a DatabaseError. */
export interface UsageStore {
  /** Adds to the stored sums, atomically; other processes may do so at any time. */
  readonly add: (tallies: readonly Tally[]) => void
  /** @param day the first, e.g. `2026-11-20` */
  readonly since: (day: string) => readonly Tally[]
  /** Adds the totals of sessions before the day together, so that the file does not grow by every session for ever. */
  readonly forgetSessionsBefore: (day: string) => void
  /** Stores that the owner lifted the budget for the day. */
  readonly liftBudget: (day: string) => void
  readonly isBudgetLifted: (day: string) => boolean
  readonly close: () => void
}

const schemaVersion = 4
// REAL: a multiplier can be 0.33, and billionths of credits outgrow 53 bits.
const schema = `
  CREATE TABLE IF NOT EXISTS session_tallies (
    day TEXT NOT NULL,
    utc_day TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    key TEXT NOT NULL,
    key_id TEXT NOT NULL,
    client TEXT NOT NULL,
    session TEXT NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    premium_requests REAL,
    measured_nano_aiu REAL,
    estimated_nano_aiu REAL,
    PRIMARY KEY (day, utc_day, provider, model, key, key_id, client, session)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS lifted_budgets (day TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`
const keyFields = ['day', 'utcDay', 'provider', 'model', 'key', 'keyId', 'client', 'session'] as const
const sumFields = [
  'requests',
  'errors',
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'premiumRequests',
  'measuredNanoAiu',
  'estimatedNanoAiu',
] as const
/** In the order of the columns. */
const fields = [...keyFields, ...sumFields]
const columnOf = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
/** A sum is null only if both parts are. */
const addUp = `ON CONFLICT DO UPDATE SET ${sumFields
  .map(columnOf)
  .map((sum) => `${sum} = coalesce(${sum} + excluded.${sum}, ${sum}, excluded.${sum})`)
  .join(', ')}`
const addRow = `INSERT INTO session_tallies VALUES (${fields.map((field) => `:${field}`).join(', ')}) ${addUp}`
const ofSessions = "WHERE day < :day AND (client <> '' OR session <> '')"
const foldSessions = `INSERT INTO session_tallies SELECT ${[
  ...keyFields.map((field) => (field === 'client' || field === 'session' ? "''" : columnOf(field))),
  ...sumFields.map((field) => `sum(${columnOf(field)})`),
].join(', ')} FROM session_tallies ${ofSessions} GROUP BY day, utc_day, provider, model, key, key_id ${addUp}`
const readRows = `SELECT ${fields.map((field) => `${columnOf(field)} AS ${field}`).join(', ')} FROM session_tallies WHERE day >= ?`

/** Version 1 had no keys, no credits and only local days. In the order of `session_tallies`, as the next ones. */
const readFirstVersion = `
  SELECT day, day AS utcDay, provider, model, '' AS key, '' AS keyId, '' AS client, '' AS session, requests, errors, input_tokens AS inputTokens,
    output_tokens AS outputTokens, cached_input_tokens AS cachedInputTokens, 0 AS cacheWriteTokens,
    NULL AS premiumRequests, NULL AS measuredNanoAiu, NULL AS estimatedNanoAiu
  FROM totals WHERE day >= ?
`
/** Reads a table that lacks some columns. */
const readWithout = (table: string, absent: readonly string[]): string => {
  const columns = fields.map((field) => `${absent.includes(field) ? "''" : columnOf(field)} AS ${field}`)
  return `SELECT ${columns.join(', ')} FROM ${table} WHERE day >= ?`
}
/** Version 2 had the names of keys only. */
const readSecondVersion = readWithout('tallies', ['keyId', 'client', 'session'])
/** Version 3 had no sessions. */
const readThirdVersion = readWithout('key_tallies', ['client', 'session'])
const olderTables = [
  { table: 'totals', readAll: readFirstVersion },
  { table: 'tallies', readAll: readSecondVersion },
  { table: 'key_tallies', readAll: readThirdVersion },
] as const
/** By the version of the file. */
const olderReads: readonly (string | undefined)[] = [undefined, readFirstVersion, readSecondVersion, readThirdVersion]
const hasTable = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"

const row = z.object({
  day: z.string(),
  utcDay: z.string(),
  provider: z.string(),
  model: z.string(),
  key: z.string(),
  keyId: z.string(),
  client: z.string(),
  session: z.string(),
  requests: z.number(),
  errors: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cachedInputTokens: z.number(),
  cacheWriteTokens: z.number(),
  premiumRequests: z.number().nullable(),
  measuredNanoAiu: z.number().nullable(),
  estimatedNanoAiu: z.number().nullable(),
}) satisfies z.ZodType<Tally>

/** Opens or creates the file, readable by this user alone. */
export function openUsageStore(file: string, options: DatabaseOptions): UsageStore {
  const { readOnly = false } = options
  const database = withStoreErrors(file, () => openDatabase(file, options))
  let read = readRows
  try {
    read = withStoreErrors(file, () => prepareSchema(database, file, readOnly))
  } catch (error) {
    database.close()
    throw error
  }
  return {
    add: (tallies) =>
      withStoreErrors(file, () => {
        const statement = database.prepare(addRow)
        inTransaction(database, () => {
          for (const tally of tallies) statement.run({ ...tally })
        })
      }),
    since: (day) =>
      withStoreErrors(file, () => {
        const rows = z.array(row).safeParse(database.prepare(read).all(day))
        if (rows.success) return rows.data
        throw new DatabaseError('damaged', `Cannot read the usage totals in ${file}.`)
      }),
    forgetSessionsBefore: (day) =>
      withStoreErrors(file, () =>
        inTransaction(database, () => {
          database.prepare(foldSessions).run({ day })
          database.prepare(`DELETE FROM session_tallies ${ofSessions}`).run({ day })
        }),
      ),
    liftBudget: (day) =>
      withStoreErrors(file, () => {
        database.prepare('INSERT OR IGNORE INTO lifted_budgets VALUES (?)').run(day)
      }),
    isBudgetLifted: (day) =>
      withStoreErrors(
        file,
        () => database.prepare('SELECT 1 FROM lifted_budgets WHERE day = ?').get(day) !== undefined,
      ),
    close: () => database.close(),
  }
}

/** Returns the query that reads rows: a read-only file may be of an earlier version. */
function prepareSchema(database: DatabaseSync, file: string, readOnly: boolean): string {
  const version = database.prepare('PRAGMA user_version').get()?.['user_version']
  if (typeof version === 'number' && version > schemaVersion) {
    throw new DatabaseError('newer', `${file} was written by a newer copilot-proxy.`)
  }
  if (readOnly) return (typeof version === 'number' ? olderReads[version] : undefined) ?? readRows
  // WAL: writers do not wait for readers. NORMAL: a power cut costs the last few writes.
  database.exec('PRAGMA synchronous = NORMAL')
  database.prepare('PRAGMA journal_mode = WAL').get()
  if (version === schemaVersion) return readRows
  inTransaction(database, () => {
    database.exec(schema)
    // Keep the empty tables: a running daemon of an earlier version would take the file for damaged without its own.
    for (const { table, readAll } of olderTables) {
      if (database.prepare(hasTable).get(table) === undefined) continue
      database.prepare(`INSERT INTO session_tallies ${readAll} ${addUp}`).run('')
      database.exec(`DELETE FROM ${table}`)
    }
    database.exec(`PRAGMA user_version = ${schemaVersion}`)
  })
  return readRows
}

function withStoreErrors<Result>(file: string, act: () => Result): Result {
  return withDatabaseErrors(file, 'the usage totals', act)
}
