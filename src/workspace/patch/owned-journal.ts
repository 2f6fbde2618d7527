import { journalOfOpenFiles, type OpenFiles } from '../open-files.ts'
import { undoneBy, type Journal, type JournalEntry } from './journal.ts'

/** Who makes changes through a journal. */
export interface ChangeMaker {
  /** The id of the key; undefined for a caller without a key, who sees all changes. */
  readonly ownerId: string | undefined
  /** The id of the run whose agent calls. */
  readonly runId?: string | undefined
  /** The files that the person has open in an editor. */
  readonly openFiles?: OpenFiles | undefined
}

/** Returns the journal as the holder of a key sees it: its changes, and the undoing of them by anybody. It can undo no others. */
export function ownedJournal(all: Journal, { ownerId, runId, openFiles }: ChangeMaker): Journal {
  const journal = openFiles === undefined ? all : journalOfOpenFiles(all, openFiles)
  const isOwn = (entry: JournalEntry): boolean => ownerId === undefined || entry.ownerId === ownerId
  return {
    ...journal,
    commit: (changes, options) => journal.commit(changes, { ...options, ownerId, runId }),
    async entries(sinceMs) {
      const entries = await journal.entries(sinceMs)
      const ownIds = new Set(entries.filter(isOwn).map(({ id }) => id))
      return entries.filter((entry) => ownIds.has(entry.id) || undoneBy(entry).some((id) => ownIds.has(id)))
    },
    async rolledBack() {
      const entry = await journal.rolledBack()
      return entry !== undefined && isOwn(entry) ? entry : undefined
    },
  }
}
