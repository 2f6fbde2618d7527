import { Bag } from '../bag.ts'

/** Closes one request and gives whoever waits for it this reason. */
type End = (reason: Error) => void

/** The requests that run right now, by the account they run as: a logout ends them. */
export interface AccountRequests {
  /**
   * How requests of the account begin; that returns what to call when the request is over. It is kept for as long as an
   * answer streams, and therefore made here, where it holds nothing of the request.
   */
  readonly begin: (account: string) => (end: End) => () => void
  /** Those that have requests running. */
  readonly accounts: () => readonly string[]
  readonly endAll: (account: string, reason: Error) => void
}

export function createAccountRequests(): AccountRequests {
  // Kept where it has become empty: a machine has a handful of accounts.
  const running = new Map<string, Bag<End>>()
  return {
    begin: (account) => (end) => {
      const own = running.get(account) ?? new Bag()
      running.set(account, own)
      return own.add(end)
    },
    accounts: () => [...running].filter(([, own]) => own.size > 0).map(([account]) => account),
    endAll(account, reason) {
      for (const end of running.get(account)?.members() ?? []) end(reason)
    },
  }
}
