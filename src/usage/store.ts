import { closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import nodeProcess from 'node:process'
import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { errnoOf, isForeign, isLoose } from '../auth/records/record-fs.ts'
import type { Tally } from './tally.ts'

export type UsageProblem =
  /** Another process is writing. */
  | 'busy'
  /** The file is no database, or not one of ours. */
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

/** Totals in one SQLite file. Every call may throw a UsageStoreError. */
export interface UsageStore {
  /** Adds to the stored sums, atomically; other processes may do so at any time. */
  readonly add: (tallies: readonly Tally[]) => void
  /** @param day the first, e.g. `2026-11-20` */
  readonly since: (day: string) => readonly Tally[]
  readonly close: () => void
}

export interface UsageStoreOptions {
  /** Changes nothing; a missing file is `unusable`. */
  readonly readOnly?: boolean
  /** How long to wait for another process, blocking this one. Ms. */
  readonly waitMs: number
}

const schemaVersion = 2
// REAL: a multiplier can be 0.33, and billionths of credits outgrow 53 bits.
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
const keyFields = ['day', 'utcDay', 'provider', 'model', 'key'] as const
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
const addRow = `INSERT INTO tallies VALUES (${fields.map((field) => `:${field}`).join(', ')}) ${addUp}`
const readRows = `SELECT ${fields.map((field) => `${columnOf(field)} AS ${field}`).join(', ')} FROM tallies WHERE day >= ?`

/** Version 1 had no keys, no credits and only local days. In the order of `tallies`. */
const readFirstVersion = `
  SELECT day, day AS utcDay, provider, model, '' AS key, requests, errors, input_tokens AS inputTokens,
    output_tokens AS outputTokens, cached_input_tokens AS cachedInputTokens, 0 AS cacheWriteTokens,
    NULL AS premiumRequests, NULL AS measuredNanoAiu, NULL AS estimatedNanoAiu
  FROM totals WHERE day >= ?
`
const hasFirstVersion = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'totals'"

const row = z.object({
  day: z.string(),
  utcDay: z.string(),
  provider: z.string(),
  model: z.string(),
  key: z.string(),
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
export function openUsageStore(file: string, { readOnly = false, waitMs }: UsageStoreOptions): UsageStore {
  const database = withStoreErrors(file, () => {
    const Database = loadSqlite()
    if (Database === undefined) throw new UsageStoreError('unusable', 'this Node.js was built without SQLite')
    preparePrivate(file, readOnly)
    return new Database(file, { readOnly, timeout: waitMs })
  })
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
        database.exec('BEGIN IMMEDIATE')
        try {
          for (const tally of tallies) statement.run({ ...tally })
          database.exec('COMMIT')
        } catch (error) {
          if (database.isTransaction) database.exec('ROLLBACK')
          throw error
        }
      }),
    since: (day) =>
      withStoreErrors(file, () => {
        const rows = z.array(row).safeParse(database.prepare(read).all(day))
        if (rows.success) return rows.data
        throw new UsageStoreError('damaged', `Cannot read the usage totals in ${file}.`)
      }),
    close: () => database.close(),
  }
}

/**
 * Renames a damaged file, replacing an earlier `.damaged` one.
 * @returns the new path; undefined if the file is gone or another process has replaced it
 */
export function setAside(file: string, damaged: FileIdentity): string | undefined {
  const current = identify(file)
  if (current === undefined || current.inode !== damaged.inode) return undefined
  const aside = `${file}.damaged`
  for (const suffix of ['', '-wal', '-shm']) {
    try {
      renameSync(file + suffix, aside + suffix)
    } catch (error) {
      // The companions exist only while the database is open, or after a crash.
      if (suffix === '' || errnoOf(error) !== 'ENOENT') throw error
    }
  }
  return aside
}

export interface FileIdentity {
  readonly inode: bigint
}

export function identify(file: string): FileIdentity | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found && { inode: found.ino }
}

/** Creates the file with mode 0600, which SQLite's companion files inherit; SQLite itself would use the umask. */
function preparePrivate(file: string, readOnly: boolean): void {
  if (!readOnly) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // No symbolic links: the target may be anybody's. Non-blocking: opening a pipe would wait for its writer.
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

/** Returns the query that reads rows: a read-only file may be of version 1. */
function prepareSchema(database: DatabaseSync, file: string, readOnly: boolean): string {
  const version = database.prepare('PRAGMA user_version').get()?.['user_version']
  if (typeof version === 'number' && version > schemaVersion) {
    throw new UsageStoreError('newer', `${file} was written by a newer copilot-proxy.`)
  }
  if (readOnly) return version === 1 ? readFirstVersion : readRows
  // WAL: writers do not wait for readers. NORMAL: a power cut costs the last few writes.
  database.exec('PRAGMA synchronous = NORMAL')
  database.prepare('PRAGMA journal_mode = WAL').get()
  if (version === schemaVersion) return readRows
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(schema)
    // Keep the empty table: a running daemon of version 1 would take the file for damaged without it.
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

/** Loads Node's own SQLite without the warning on stderr that some versions of Node give. Undefined in a Node built without. */
function loadSqlite(): typeof DatabaseSync | undefined {
  const emitWarning = nodeProcess.emitWarning.bind(nodeProcess)
  nodeProcess.emitWarning = () => {}
  try {
    return nodeProcess.getBuiltinModule('node:sqlite')?.DatabaseSync
  } finally {
    nodeProcess.emitWarning = emitWarning
  }
}

/** SQLite's primary result codes. Source: https://www.sqlite.org/rescode.html (2026-11). */
const problems = new Map<number, UsageProblem>([
  // SQLITE_ERROR: a table of another form.
  [1, 'damaged'],
  [5, 'busy'],
  [6, 'busy'],
  [11, 'damaged'],
  [26, 'damaged'],
])

function withStoreErrors<Result>(file: string, act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    if (error instanceof UsageStoreError) throw error
    const isSqlite = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    const problem = (isSqlite && problems.get(Number(error.errcode) & 0xff)) || 'unusable'
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageStoreError(problem, `Cannot use the usage totals in ${file}: ${reason}`, { cause: error })
  }
}
