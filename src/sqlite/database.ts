import { closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import nodeProcess from 'node:process'
import type { DatabaseSync } from 'node:sqlite'
import { errnoOf, isForeign, isLoose } from '../auth/records/record-fs.ts'

export type DatabaseProblem =
  /** Another process is writing. */
  | 'busy'
  /** The file is not a database, or not a database of copilot-proxy. */
  | 'damaged'
  /** A newer version of this program made it. */
  | 'newer'
  /** The disk or the quota is full. */
  | 'full'
  | 'unusable'

/** A file could not be read or written. The message is a sentence that names the file. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  readonly problem: DatabaseProblem

  constructor(problem: DatabaseProblem, message: string, options?: ErrorOptions) {
    super(message, options)
    this.problem = problem
  }
}

/** For an in-memory database. */
export const inMemory = ':memory:'

export interface DatabaseOptions {
  /** Changes nothing; a missing file is `unusable`. */
  readonly readOnly?: boolean
  /** How long to wait for another process, blocking this one. Ms. */
  readonly waitMs: number
}

/**
 * Opens or creates the file, readable by this user alone.
 * @throws DatabaseError, or the error of a system call
 */
export function openDatabase(file: string, { readOnly = false, waitMs }: DatabaseOptions): DatabaseSync {
  const Database = loadSqlite()
  if (Database === undefined) throw new DatabaseError('unusable', 'this Node.js was built without SQLite')
  if (file !== inMemory) preparePrivate(file, readOnly)
  return new Database(file, { readOnly, timeout: waitMs })
}

/** Runs `act`; a failure of SQLite becomes a DatabaseError. @param content what the file holds, e.g. `the usage totals` */
export function withDatabaseErrors<Result>(file: string, content: string, act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    if (error instanceof DatabaseError) throw error
    const isSqlite = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    const problem = (isSqlite && problems.get(Number(error.errcode) & 0xff)) || 'unusable'
    const reason = error instanceof Error ? error.message : String(error)
    throw new DatabaseError(problem, `Cannot use ${content} in ${file}: ${reason}`, { cause: error })
  }
}

/** Runs `act` in a transaction, which is rolled back if it throws. */
export function inTransaction<Result>(database: DatabaseSync, act: () => Result): Result {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = act()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
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
  // No symbolic links, because the target may belong to another user. Non-blocking, because opening a pipe would wait
  // for its writer.
  const common = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const flags = readOnly ? constants.O_RDONLY : constants.O_RDWR | constants.O_CREAT
  const descriptor = openSync(file, flags | common, 0o600)
  try {
    const found = fstatSync(descriptor)
    if (!found.isFile()) throw new DatabaseError('unusable', `${file} is not a plain file.`)
    if (isForeign(found.uid)) throw new DatabaseError('unusable', `${file} belongs to another user.`)
    if (!readOnly && isLoose(found.mode)) fchmodSync(descriptor, 0o600)
  } finally {
    closeSync(descriptor)
  }
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
const problems = new Map<number, DatabaseProblem>([
  // SQLITE_ERROR: a table of another form.
  [1, 'damaged'],
  [5, 'busy'],
  [6, 'busy'],
  [11, 'damaged'],
  [13, 'full'],
  [26, 'damaged'],
])
