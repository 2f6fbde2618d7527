import type { Journal, JournalEntry } from './journal.ts'

/**
 * Returns the journal as the holder of a key sees it: its changes, and the undoing of them by anybody. It can undo no others.
 * @param ownerId the id of the key; undefined for a caller without a key, who sees all changes
 */
export function ownedJournal(journal: Journal, ownerId: string | undefined): Journal {
  const isOwn = (entry: JournalEntry): boolean => ownerId === undefined || entry.ownerId === ownerId
  return {
    ...journal,
    commit: (changes, options) => journal.commit(changes, { ...options, ownerId }),
    async entries(sinceMs) {
      const entries = await journal.entries(sinceMs)
      const ownIds = new Set(entries.filter(isOwn).map(({ id }) => id))
      return entries.filter(({ id, undoes }) => ownIds.has(id) || (undoes !== null && ownIds.has(undoes)))
    },
    async rolledBack() {
      const entry = await journal.rolledBack()
      return entry !== undefined && isOwn(entry) ? entry : undefined
    },
  }
}
