import type { Fault } from '../../errors.ts'
import type { CredentialStatus } from '../refreshing-credential.ts'

/** What a request to a Codex upstream is made with. The two kinds belong to different hosts and are never mixed. */
export type CodexCredential =
  /** For `codex.base-url` only. */
  | {
      readonly kind: 'chatgpt'
      /** The access token, a JWT. */
      readonly value: string
      /** Of the header `chatgpt-account-id`. */
      readonly accountId: string
      /** A claim of the token says that the account's data stays in a FedRAMP environment. */
      readonly isFedramp: boolean
    }
  /** For `codex.api-base-url` only. */
  | { readonly kind: 'api-key'; readonly value: string }

export interface CodexLoginStatus extends CredentialStatus {
  /** Which login is in use. */
  readonly source?: 'login' | 'codex-cli' | 'api-key'
  readonly recordId?: string
  readonly email?: string
  /** As in the token, e.g. `plus`; an open set. */
  readonly plan?: string
  /** Ms since epoch. */
  readonly expiresAtMs?: number
}

/** The account whose models and quota a credential opens. */
export interface CodexAccount {
  /** Changes when another account or key is in use. Holds no secret. */
  readonly id: string
  /** For people. */
  readonly label: string
}

/** The one login for OpenAI Codex that is in use, kept fresh. */
export interface CodexCredentialSource {
  /** The kind that `get` gives, by configuration. */
  readonly kind: CodexCredential['kind']
  /**
   * A credential that is good now; renewed first when due. A renewal that takes long is not waited for while the old
   * token still works.
   * @throws Fault `codex_unavailable`, `shutting_down`; the signal's reason on abort, which ends this wait only
   */
  readonly get: (signal: AbortSignal) => Promise<CodexCredential>
  /**
   * After upstream refused `rejected` with 401: a different credential, or the same if there is no other. The record is
   * read again first, because another process may have renewed it. There is at most one renewal for each rejected
   * value, with growing pauses while upstream accepts no token at all.
   * @throws as `get`
   */
  readonly replace: (rejected: string, signal: AbortSignal) => Promise<CodexCredential>
  /** Upstream has answered a request made with it. */
  readonly markAccepted: (accepted: string) => void
  /** Upstream says that the login is dead (revoked, invalidated): nothing is tried until there is another one. */
  readonly markRevoked: (rejected: string, detail: string) => void
  /**
   * The fault of a caller whose request upstream refuses with 401 in spite of `replace`. `message` is upstream's,
   * harmless.
   */
  readonly refused: (message: string) => Fault
  /** What a human should know. No I/O, never throws. */
  readonly status: () => CodexLoginStatus
  /**
   * Called when the account has changed, with undefined when nobody is logged in. Returns the function that stops
   * listening.
   */
  readonly onChange: (listener: (account: CodexAccount | undefined) => void) => () => void
  /**
   * Starts nothing more. Settles when a renewal under way is stored: a process that ends earlier loses the login.
   */
  readonly close: () => Promise<void>
}
