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
  const running = new Map<string, Bag<End>>()
  return {
    begin: (account) => (end) => {
      const own = running.get(account) ?? new Bag()
      if (own.size === 0) running.set(account, own)
      const leave = own.add(end)
      return () => {
        leave()
        if (own.size === 0 && running.get(account) === own) running.delete(account)
      }
    },
    accounts: () => [...running.keys()],
    endAll(account, reason) {
      for (const end of running.get(account)?.members() ?? []) end(reason)
    },
  }
}
