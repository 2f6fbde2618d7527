import type { CredentialSource, CredentialStatus } from '../refreshing-credential.ts'

/** A short-lived token of one account, and where it may be sent. */
export interface CopilotToken {
  readonly value: string
  readonly recordId: string
  /** It is the GitHub token itself, which was not exchanged. */
  readonly direct?: true
  /** Base URLs in the order to try, none ending in a slash; never empty. */
  readonly candidates: readonly string[]
}

export interface CopilotTokenStatus extends CredentialStatus {
  readonly login?: string | undefined
}

/** Listeners are also called when the base URLs have changed. `close` cancels a token exchange under way. */
export interface CopilotTokenSource extends CredentialSource<CopilotToken, CopilotToken> {
  /**
   * After upstream answered `refused` with 402 or 403: the next `get` fetches a new token first, where the last one is
   * not quite new. A policy or a budget that the user has changed is in a new token only.
   */
  readonly renewBeforeNext: (refused: string) => void
  /** What a human should know. No I/O, never throws. */
  readonly status: () => CopilotTokenStatus
}
