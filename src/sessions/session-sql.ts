import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { DatabaseError, inTransaction, withDatabaseErrors } from '../sqlite/database.ts'

/** Runs statements on the file of the sessions and prepares each one once. Every call may throw a DatabaseError. */
export interface SessionSql {
  readonly all: <Row>(schema: z.ZodType<Row>, sql: string, ...values: readonly (string | number | null)[]) => Row[]
  /** Returns the number of changed rows. */
  readonly change: (sql: string, ...values: readonly (string | number | null)[]) => number
  /** Does all writes of `act`, or none if it throws. */
  readonly write: (act: () => void) => void
  readonly pragma: (text: string) => void
  /** Estimated growth of the write-ahead log since `resetLogged`. Bytes. */
  readonly logged: () => number
  /** Adds bytes that a statement writes besides its values. */
  readonly addLogged: (bytes: number) => void
  readonly resetLogged: () => void
}

/** Estimate of the pages of tables and indexes that a transaction writes besides its texts. Bytes. */
const writeOverhead = 4 * 4096

export function createSessionSql(database: DatabaseSync, file: string): SessionSql {
  const prepared = new Map<string, ReturnType<DatabaseSync['prepare']>>()
  let logged = 0
  const guarded = <Result>(act: () => Result): Result => withDatabaseErrors(file, 'the sessions', act)
  const statement = (sql: string): ReturnType<DatabaseSync['prepare']> => {
    const known = prepared.get(sql)
    if (known !== undefined) return known
    const made = database.prepare(sql)
    prepared.set(sql, made)
    return made
  }
  return {
    all: (schema, sql, ...values) =>
      guarded(() => {
        const rows = z.array(schema).safeParse(statement(sql).all(...values))
        if (rows.success) return rows.data
        throw new DatabaseError('damaged', `Cannot read the sessions in ${file}.`)
      }),
    change(sql, ...values) {
      for (const value of values) if (typeof value === 'string') logged += value.length
      return guarded(() => Number(statement(sql).run(...values).changes))
    },
    write(act) {
      logged += writeOverhead
      guarded(() => inTransaction(database, act))
    },
    pragma: (text) => guarded(() => database.exec(`PRAGMA ${text}`)),
    logged: () => logged,
    addLogged: (bytes) => void (logged += bytes),
    resetLogged: () => void (logged = 0),
  }
}
