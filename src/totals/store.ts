import { closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { errnoOf, isForeign, isLoose } from '../auth/record-fs.ts'
import { loadSqlite } from './sqlite.ts'
import type { Tally } from './tally.ts'

export type UsageProblem =
  /** Another process writes at this moment. */
  | 'busy'
  /** What is in the file is no database, or not one of ours. */
  | 'damaged'
  /** A newer version of this program made it. */
  | 'newer'
  | 'unusable'

/** The totals could not be read or stored. The message is a sentence that names the file. */
export class UsageStoreError extends Error {
  override readonly name = 'UsageStoreError'
  readonly problem: UsageProblem

  constructor(problem: UsageProblem, message: string, options?: ErrorOptions) {
    super(message, options)
    this.problem = problem
  }
}

/** Totals by day and model in one SQLite file. Every call may throw a UsageStoreError. */
export interface UsageStore {
  /** Adds to what is there, all of it or nothing; other processes may do the same at any time. */
  readonly add: (tallies: readonly Tally[]) => void
  /** @param day the first one, `2026-11-20` */
  readonly since: (day: string) => readonly Tally[]
  readonly close: () => void
}

export interface UsageStoreOptions {
  /** Changes nothing; a file that is not there is `unusable`. */
  readonly readOnly?: boolean
  /** How long another process is waited for; this one stands still meanwhile. Ms. */
  readonly waitMs: number
}

const schemaVersion = 2
// What may be unknown is no whole number either: a multiplier can be 0.33, and billionths of credits outgrow 53 bits.
const schema = `
  CREATE TABLE IF NOT EXISTS tallies (
    day TEXT NOT NULL,
    utc_day TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    key TEXT NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    premium_requests REAL,
    measured_nano_aiu REAL,
    estimated_nano_aiu REAL,
    PRIMARY KEY (day, utc_day, provider, model, key)
  ) STRICT, WITHOUT ROWID;
`
const sums = [
  'requests',
  'errors',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'premium_requests',
  'measured_nano_aiu',
  'estimated_nano_aiu',
]
/** A sum is unknown only where both parts are. */
const addUp = `ON CONFLICT DO UPDATE SET ${sums
  .map((sum) => `${sum} = coalesce(${sum} + excluded.${sum}, ${sum}, excluded.${sum})`)
  .join(', ')}`
const addRow = `INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ${sums.map(() => '?').join(', ')}) ${addUp}`
const readRows = 'SELECT * FROM tallies WHERE day >= ?'

/** What version 1 kept: no keys, no credits, and days of this machine's calendar only. In the order of `tallies`. */
const readFirstVersion = `
  SELECT day, day AS utc_day, provider, model, '' AS key, requests, errors, input_tokens, output_tokens,
    cached_input_tokens, 0 AS cache_write_tokens, NULL AS premium_requests, NULL AS measured_nano_aiu,
    NULL AS estimated_nano_aiu
  FROM totals WHERE day >= ?
`
const hasFirstVersion = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'totals'"

const row = z
  .object({
    day: z.string(),
    utc_day: z.string(),
    provider: z.string(),
    model: z.string(),
    key: z.string(),
    requests: z.number(),
    errors: z.number(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    cached_input_tokens: z.number(),
    cache_write_tokens: z.number(),
    premium_requests: z.number().nullable(),
    measured_nano_aiu: z.number().nullable(),
    estimated_nano_aiu: z.number().nullable(),
  })
  .transform((read): Tally => ({
    day: read.day,
    utcDay: read.utc_day,
    provider: read.provider,
    model: read.model,
    key: read.key,
    requests: read.requests,
    errors: read.errors,
    inputTokens: read.input_tokens,
    outputTokens: read.output_tokens,
    cachedInputTokens: read.cached_input_tokens,
    cacheWriteTokens: read.cache_write_tokens,
    premiumRequests: read.premium_requests,
    measuredNanoAiu: read.measured_nano_aiu,
    estimatedNanoAiu: read.estimated_nano_aiu,
  }))

/**
 * Opens the file, made where it is not there, readable by this user alone.
 * @throws UsageStoreError
 */
export function openUsageStore(file: string, { readOnly = false, waitMs }: UsageStoreOptions): UsageStore {
  const database = telling(file, () => {
    const Database = loadSqlite()
    if (Database === undefined) throw new UsageStoreError('unusable', 'this Node.js was built without SQLite')
    preparePrivate(file, readOnly)
    return new Database(file, { readOnly, timeout: waitMs })
  })
  let read = readRows
  try {
    read = telling(file, () => prepareSchema(database, file, readOnly))
  } catch (error) {
    database.close()
    throw error
  }
  return {
    add: (tallies) =>
      telling(file, () => {
        const statement = database.prepare(addRow)
        database.exec('BEGIN IMMEDIATE')
        try {
          for (const tally of tallies) statement.run(...valuesOf(tally))
          database.exec('COMMIT')
        } catch (error) {
          if (database.isTransaction) database.exec('ROLLBACK')
          throw error
        }
      }),
    since: (day) =>
      telling(file, () => {
        const rows = z.array(row).safeParse(database.prepare(read).all(day))
        if (rows.success) return rows.data
        throw new UsageStoreError('damaged', `The totals in ${file} cannot be read.`)
      }),
    close: () => database.close(),
  }
}

/**
 * Puts a damaged file out of the way, beside where it was; an earlier one of that name goes.
 * @returns where it is now; undefined where it has gone, or another process has made a new one meanwhile
 */
export function setAside(file: string, damaged: FileIdentity): string | undefined {
  const current = identify(file)
  if (current === undefined || current.inode !== damaged.inode) return undefined
  const aside = `${file}.damaged`
  for (const suffix of ['', '-wal', '-shm']) {
    try {
      renameSync(file + suffix, aside + suffix)
    } catch (error) {
      // The other two exist only while the database is open, or was not closed.
      if (suffix === '' || errnoOf(error) !== 'ENOENT') throw error
    }
  }
  return aside
}

export interface FileIdentity {
  readonly inode: bigint
}

/** Which file stands there now. */
export function identify(file: string): FileIdentity | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found && { inode: found.ino }
}

/** SQLite gives a new file the modes of the process' umask; its companions take those of the file. */
function preparePrivate(file: string, readOnly: boolean): void {
  if (!readOnly) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // Not through a link: what it leads to may be anybody's. Not to wait for whoever writes to a pipe.
  const common = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const flags = readOnly ? constants.O_RDONLY : constants.O_RDWR | constants.O_CREAT
  const descriptor = openSync(file, flags | common, 0o600)
  try {
    const found = fstatSync(descriptor)
    if (!found.isFile()) throw new UsageStoreError('unusable', `${file} is not a plain file.`)
    if (isForeign(found.uid)) throw new UsageStoreError('unusable', `${file} belongs to another user.`)
    if (!readOnly && isLoose(found.mode)) fchmodSync(descriptor, 0o600)
  } finally {
    closeSync(descriptor)
  }
}

/** In the order of the columns. */
function valuesOf(tally: Tally) {
  return [
    tally.day,
    tally.utcDay,
    tally.provider,
    tally.model,
    tally.key,
    tally.requests,
    tally.errors,
    tally.inputTokens,
    tally.outputTokens,
    tally.cachedInputTokens,
    tally.cacheWriteTokens,
    tally.premiumRequests,
    tally.measuredNanoAiu,
    tally.estimatedNanoAiu,
  ]
}

/** Returns how rows are read: a file that is not to be changed may be of an older version. */
function prepareSchema(database: DatabaseSync, file: string, readOnly: boolean): string {
  const version = database.prepare('PRAGMA user_version').get()?.['user_version']
  if (typeof version === 'number' && version > schemaVersion) {
    throw new UsageStoreError('newer', `${file} was made by a newer copilot-proxy.`)
  }
  if (readOnly) return version === 1 ? readFirstVersion : readRows
  // Writers do not wait for readers, and nothing is synced with every write: a power cut costs the last few.
  database.exec('PRAGMA synchronous = NORMAL')
  database.prepare('PRAGMA journal_mode = WAL').get()
  if (version === schemaVersion) return readRows
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(schema)
    // The table stays, empty: a daemon of version 1 that has the file open may still add to it, and would take the file
    // for damaged without it.
    if (database.prepare(hasFirstVersion).get() !== undefined) {
      database.prepare(`INSERT INTO tallies ${readFirstVersion} ${addUp}`).run('')
      database.exec('DELETE FROM totals')
    }
    database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT`)
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
  return readRows
}

/** SQLite's primary result codes. Source: https://www.sqlite.org/rescode.html (2026-11). */
const problems = new Map<number, UsageProblem>([
  // SQL of ours that does not fit: a table of another form.
  [1, 'damaged'],
  [5, 'busy'],
  [6, 'busy'],
  [11, 'damaged'],
  [26, 'damaged'],
])

function telling<Result>(file: string, act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    if (error instanceof UsageStoreError) throw error
    const isSqlite = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    const problem = (isSqlite && problems.get(Number(error.errcode) & 0xff)) || 'unusable'
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageStoreError(problem, `The totals in ${file} cannot be used: ${reason}`, { cause: error })
  }
}
