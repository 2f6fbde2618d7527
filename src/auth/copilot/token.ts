import type { CredentialStatus } from '../refreshing-credential.ts'

/** A short-lived token of one account, and where it may be sent. */
export interface CopilotToken {
  readonly value: string
  readonly recordId: string
  /** It is the GitHub token itself, which was not exchanged. */
  readonly direct?: true
  /** Base URLs in the order to try, none ending in a slash; never empty. */
  readonly candidates: readonly string[]
  /** When it stops working, by this machine's clock. Ms since epoch; Infinity for a direct one. */
  readonly expiresAtMs: number
}

export interface CopilotTokenStatus extends CredentialStatus {
  readonly recordId?: string
  readonly login?: string
  readonly sku?: string
  /** Ms since epoch. */
  readonly expiresAtMs?: number
}

export interface CopilotTokenSource {
  /**
   * A token that is good now; refreshed first when due. A refresh that takes long is not waited for while the old token
   * still works.
   * @throws Fault `copilot_unavailable`, `shutting_down`; the signal's reason on abort, which ends this wait only
   */
  readonly get: (signal: AbortSignal) => Promise<CopilotToken>
  /**
   * After upstream refused `rejected`: a different token, or the same when none is to be had. At most one exchange for
   * each rejected value.
   * @throws as `get`
   */
  readonly replace: (rejected: string, signal: AbortSignal) => Promise<CopilotToken>
  /**
   * After upstream answered `refused` with 402 or 403: the next `get` fetches a new token first, where the last one is
   * not quite new. A policy or a budget that the user has changed is in a new token only.
   */
  readonly renewBeforeNext: (refused: string) => void
  /** What a human should know. No I/O, never throws. */
  readonly status: () => CopilotTokenStatus
  /**
   * Called with the token when the account or its base URLs have changed, with undefined when nobody is logged in (any
   * more); returns the way to stop.
   */
  readonly onChange: (listener: (token: CopilotToken | undefined) => void) => () => void
  /** Cancels a token exchange under way. */
  readonly close: () => Promise<void>
}
