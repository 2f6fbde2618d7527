import type { z } from 'zod'

/** The members that the store itself reads. */
export interface StoredRecord {
  readonly id: string
  readonly metadata: {
    /** Seconds since epoch. */
    readonly logged_in_at?: number | undefined
    /** When the user chose the account: seconds since epoch, with a fraction. */
    readonly selected_at?: number | undefined
  }
}

/** One provider's records. Kinds share a folder, and a store sees only the files of its own kind. */
export interface RecordKind<Stored extends StoredRecord> {
  /** Loose: unknown keys survive a rewrite, so that an older program does not lose a newer one's data. */
  readonly schema: z.ZodType<Stored>
  /** Whether an id names a record of this kind. No id belongs to two kinds, and every id is safe as a file name. */
  readonly isRecordId: (id: string) => boolean
  /** The command to run if a record cannot be used. */
  readonly loginCommand: string
  /** The record in the form that is stored. */
  readonly cleaned: (record: Stored) => Stored
}

/** The account in use, the one that was logged in or chosen last; undefined if there is none. */
export function newestLogin<Stored extends StoredRecord>(records: readonly Stored[]): Stored | undefined {
  return records.toSorted((a, b) => usedSince(b) - usedSince(a))[0]
}

/** Seconds since epoch. */
export function usedSince({
  metadata: { logged_in_at: loggedIn = 0, selected_at: selected = 0 },
}: StoredRecord): number {
  return Math.max(loggedIn, selected)
}
