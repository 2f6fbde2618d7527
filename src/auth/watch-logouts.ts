import type { StoredRecord } from './record-kind.ts'
import type { RecordStore } from './record-store.ts'

export interface LogoutWatch<Account> {
  /** Accounts that something runs as. */
  readonly inUse: () => readonly Account[]
  readonly recordIdOf: (account: Account) => string
  readonly onLogout: (account: Account) => void
}

/**
 * Tells of accounts whose record is gone, whichever process removed it: within the time in which the store looks at its
 * files. A record that cannot be read, or is corrupt, is not gone. Returns the way to stop.
 */
export function watchLogouts<Stored extends StoredRecord, Account>(
  store: Pick<RecordStore<Stored>, 'has' | 'watch'>,
  { inUse, recordIdOf, onLogout }: LogoutWatch<Account>,
): () => void {
  const look = async (account: Account): Promise<void> => {
    try {
      if (!(await store.has(recordIdOf(account)))) onLogout(account)
    } catch {
      // Whether it is there is not known; who reads it is told what is wrong.
    }
  }
  return store.watch(() => void Promise.all(inUse().map(look)))
}
