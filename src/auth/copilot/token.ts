import type { CredentialSource } from '../credential/credential.ts'
import type { CredentialStatus } from '../credential/state.ts'

/** A short-lived token of one account, and the hosts that may receive it. */
export interface CopilotToken {
  readonly value: string
  readonly recordId: string
  /** It is the GitHub token itself, which was not exchanged. */
  readonly direct?: true
  /** Base URLs in the order to try, without a final slash; never empty. */
  readonly candidates: readonly string[]
  /** The base URL for code completion. */
  readonly completionsUrl: string
}

export interface CopilotTokenStatus extends CredentialStatus {
  readonly login?: string | undefined
}

/** Listeners are also called when the base URLs change. `close` cancels a token exchange under way. */
export interface CopilotTokenSource extends CredentialSource<CopilotToken, CopilotToken> {
  /**
   * Call when upstream answered `refused` with 402 or 403. The next `get` fetches a new token first, at most once a
   * minute. Only a new token contains a policy or a budget that the user has changed.
   */
  readonly renewBeforeNext: (refused: string) => void
  /** Status for users. No I/O, never throws. */
  readonly status: () => CopilotTokenStatus
}
