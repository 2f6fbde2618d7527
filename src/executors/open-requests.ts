import type { StoredRecord } from '../auth/records/record-kind.ts'
import type { RecordStore } from '../auth/records/record-store.ts'

interface Entry<Member> {
  readonly member: Member
  at: number
}

/**
 * An unordered set whose members come and go with every request. Not a Set: V8 does not reuse the entries that a Set
 * deletes, and makes a new table every few additions, to which the old table points. An old table in V8's old generation
 * keeps all later tables, and the requests in them, alive until the next full collection (Node 24.21). With a Set,
 * garbage collection takes 26 µs a request instead of 12, and a busy daemon holds 40 MB more.
 */
export class OpenRequests<Member> {
  readonly #entries: Entry<Member>[] = []

  get size(): number {
    return this.#entries.length
  }

  /** A copy: later changes do not affect it. */
  members(): readonly Member[] {
    return this.#entries.map(({ member }) => member)
  }

  /** @returns the function that removes the member; calling it twice is harmless */
  add(member: Member): () => void {
    const entry = { member, at: this.#entries.length }
    this.#entries.push(entry)
    return () => this.#remove(entry)
  }

  #remove(entry: Entry<Member>): void {
    if (this.#entries[entry.at] !== entry) return
    const last = this.#entries.pop()
    if (last === undefined || last === entry) return
    this.#entries[entry.at] = last
    last.at = entry.at
  }
}

/** Closes one request and rejects it with this reason. */
type End = (reason: Error) => void

/** The requests that run now, by the account they run as. */
export interface AccountRequests {
  /**
   * Registers requests of the account. Returns a function that adds a request and returns the function that removes it.
   * The latter lives as long as an answer streams, so it is made here, where its closure holds nothing of the request.
   */
  readonly begin: (account: string) => (end: End) => () => void
  /** Accounts that have requests running. */
  readonly accounts: () => readonly string[]
  readonly endAll: (account: string, reason: Error) => void
}

export function createAccountRequests(): AccountRequests {
  // An empty set stays: a machine has a handful of accounts.
  const running = new Map<string, OpenRequests<End>>()
  return {
    begin: (account) => (end) => {
      const open = running.get(account) ?? new OpenRequests()
      running.set(account, open)
      return open.add(end)
    },
    accounts: () => [...running].filter(([, open]) => open.size > 0).map(([account]) => account),
    endAll(account, reason) {
      for (const end of running.get(account)?.members() ?? []) end(reason)
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
