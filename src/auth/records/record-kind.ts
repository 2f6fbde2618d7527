import type { z } from 'zod'

/** As much as the store itself reads of a record. */
export interface StoredRecord {
  readonly id: string
  readonly metadata: {
    /** Seconds since epoch; the newest login is the account in use. */
    readonly logged_in_at?: number | undefined
  }
}

/** One provider's records. Kinds share a folder, and a store sees the files of its own kind only. */
export interface RecordKind<Stored extends StoredRecord> {
  /** Loose: unknown keys survive a rewrite, so that an older program does not lose a newer one's data. */
  readonly schema: z.ZodType<Stored>
  /** Whether an id names a record of this kind; no id belongs to two kinds, and all are safe as file names. */
  readonly isRecordId: (id: string) => boolean
  /** What to run when a record cannot be used. */
  readonly loginCommand: string
  /** The record as it is stored. */
  readonly cleaned: (record: Stored) => Stored
}

/** The account in use. Undefined when there is none. */
export function newestLogin<Stored extends StoredRecord>(records: readonly Stored[]): Stored | undefined {
  return records.toSorted((a, b) => (b.metadata.logged_in_at ?? 0) - (a.metadata.logged_in_at ?? 0))[0]
}
