import { removeFrom } from '../cache/remove-from.ts'
import type { StoredRecord } from '../auth/records/record-kind.ts'
import type { RecordStore } from '../auth/records/record-store.ts'

/** Closes one request and rejects it with this reason. */
type End = (reason: Error) => void

/** The requests that run now, by the account they run as. */
export interface AccountRequests {
  /** Registers requests of the account. Returns a function that adds a request and returns the function that removes it. */
  readonly begin: (account: string) => (end: End) => () => void
  /** Accounts that have requests running. */
  readonly accounts: () => readonly string[]
  readonly endAll: (account: string, reason: Error) => void
}

export function createAccountRequests(): AccountRequests {
  // An empty list stays: a machine has a handful of accounts.
  const running = new Map<string, End[]>()
  return {
    begin: (account) => (end) => {
      const open = running.get(account) ?? []
      open.push(end)
      running.set(account, open)
      return () => removeFrom(open, end)
    },
    accounts: () => [...running].filter(([, open]) => open.length > 0).map(([account]) => account),
    endAll(account, reason) {
      for (const end of running.get(account)?.splice(0) ?? []) end(reason)
    },
  }
}

/**
 * Ends the requests of an account when its record is gone, whichever process removed it. Notices the removal when the
 * store next checks its files. A record that is corrupt or cannot be read is not gone. Returns the function that stops
 * watching.
 */
export function endOnLogout<Stored extends StoredRecord>(
  requests: AccountRequests,
  store: Pick<RecordStore<Stored>, 'has' | 'watch'>,
  recordIdOf: (account: string) => string,
  reason: () => Error,
): () => void {
  const check = async (account: string): Promise<void> => {
    try {
      if (!(await store.has(recordIdOf(account)))) requests.endAll(account, reason())
    } catch {
      // The record may still exist. The next reader of the record reports the error.
    }
  }
  return store.watch(() => void Promise.all(requests.accounts().map(check)))
}
