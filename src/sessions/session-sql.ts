import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { DatabaseError, inTransaction, withDatabaseErrors } from '../sqlite/database.ts'

type Value = string | number | null

/** Runs statements on the file of the sessions and prepares each one once. Every call may throw a DatabaseError. */
export interface SessionSql {
  readonly all: <Row>(schema: z.ZodType<Row>, sql: string, ...values: readonly Value[]) => Row[]
  readonly change: (sql: string, ...values: readonly Value[]) => void
  /** Deletes rows that a statement has found. In a damaged file, there may be none, again and again. */
  readonly remove: (sql: string, ...values: readonly Value[]) => void
  /** Does all changes of `act`, or none if it throws. */
  readonly together: (act: () => void) => void
  readonly pragma: (text: string) => void
}

export function createSessionSql(database: DatabaseSync, file: string): SessionSql {
  const prepared = new Map<string, ReturnType<DatabaseSync['prepare']>>()
  const damaged = (): DatabaseError => new DatabaseError('damaged', `Cannot read the sessions in ${file}.`)
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
        throw damaged()
      }),
    change: (sql, ...values) => guarded(() => void statement(sql).run(...values)),
    remove(sql, ...values) {
      const { changes } = guarded(() => statement(sql).run(...values))
      if (changes === 0) throw damaged()
    },
    together: (act) => guarded(() => inTransaction(database, act)),
    pragma: (text) => guarded(() => database.exec(`PRAGMA ${text}`)),
  }
}
