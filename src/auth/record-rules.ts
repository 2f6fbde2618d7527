import type { StoredRecord } from './record-kind.ts'

/** The account in use. Undefined when there is none. */
export function newestLogin<Stored extends StoredRecord>(records: readonly Stored[]): Stored | undefined {
  return records.toSorted((a, b) => (b.metadata.logged_in_at ?? 0) - (a.metadata.logged_in_at ?? 0))[0]
}
