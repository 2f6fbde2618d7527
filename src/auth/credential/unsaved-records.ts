import type { Logger } from '../../logging/logger.ts'
import type { StoredRecord } from '../records/record-kind.ts'
import type { RecordStore } from '../records/record-store.ts'

/** A refreshed record that could not be stored, and the record that was refreshed. */
export interface UnsavedRecord<Stored> {
  readonly before: Stored
  readonly after: Stored
}

/**
 * Refreshed records that could not be stored. They are used from memory, and stored as soon as that works.
 * @param withUnsaved returns the stored record with the refreshed credential; undefined if the stored record is newer
 * @param what the record, for the log
 */
export function createUnsavedRecords<Stored extends StoredRecord>(
  store: RecordStore<Stored>,
  withUnsaved: (stored: Stored, unsaved: UnsavedRecord<Stored>) => Stored | undefined,
  log: Logger,
  what: string,
) {
  const unsaved = new Map<string, UnsavedRecord<Stored>>()

  /** The newer of the stored record and the one in memory. */
  const newestOf = (stored: Stored): Stored => {
    const waiting = unsaved.get(stored.id)
    if (waiting === undefined) return stored
    const newer = withUnsaved(stored, waiting)
    if (newer === undefined) unsaved.delete(stored.id)
    return newer ?? stored
  }

  return {
    newestOf,
    hasAny: () => unsaved.size > 0,
    /** Call after the record has been stored. */
    isSaved: (id: string) => void unsaved.delete(id),
    /** Call when `after` could not be stored. */
    keep({ before, after }: UnsavedRecord<Stored>, error: unknown): void {
      // If several refreshes in a row could not be stored, the store still holds the record from before the first.
      const first = unsaved.get(before.id)
      const message = `${what} could not be stored; it is used from memory and stored later`
      log[first === undefined ? 'warn' : 'debug']({ err: error }, message)
      unsaved.set(before.id, { before: first?.before ?? before, after })
    },
    /** Tries to store them. Never rejects. */
    async save(): Promise<void> {
      for (const id of unsaved.keys()) {
        try {
          await store.update(id, (stored) => {
            const newer = newestOf(stored)
            return newer === stored ? undefined : newer
          })
          if (unsaved.delete(id)) log.info({ recordId: id }, `${what} is stored now`)
        } catch (error) {
          log.debug({ err: error, recordId: id }, `${what} still cannot be stored`)
        }
      }
    },
  }
}
