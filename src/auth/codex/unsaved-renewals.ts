import type { CodexRecord } from './record.ts'

/**
 * Renewed logins that could not be stored. Memory knows better than the file for as long as the file holds the refresh
 * token that was spent for them; any other one in its place comes from somebody who knows more.
 */
export interface UnsavedRenewals {
  readonly keep: (spent: CodexRecord, renewed: CodexRecord) => void
  readonly drop: (id: string) => void
  readonly ids: () => readonly string[]
  /** What is stored, with the tokens it would have had; `stored` itself when there is nothing to add. */
  readonly over: (stored: CodexRecord) => CodexRecord
}

export function createUnsavedRenewals(): UnsavedRenewals {
  const renewals = new Map<string, { readonly spent: string; readonly metadata: CodexRecord['metadata'] }>()
  return {
    keep(spent, { id, metadata }) {
      // Of several in a row the file knows the first: it is the one to look for.
      const first = renewals.get(id)
      const stillFirst = first !== undefined && first.metadata.refresh_token === spent.metadata.refresh_token
      renewals.set(id, { spent: stillFirst ? first.spent : spent.metadata.refresh_token, metadata })
    },
    drop: (id) => void renewals.delete(id),
    ids: () => [...renewals.keys()],
    over(stored) {
      const renewal = renewals.get(stored.id)
      if (renewal === undefined) return stored
      if (renewal.spent === stored.metadata.refresh_token) {
        const { renewal_begun: _, ...metadata } = stored.metadata
        return { ...stored, metadata: { ...metadata, ...renewal.metadata } }
      }
      renewals.delete(stored.id)
      return stored
    },
  }
}
