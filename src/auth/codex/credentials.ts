import type { Fault } from '../../errors.ts'

/** What a request to a Codex upstream is made with. The two kinds belong to different hosts and are never mixed. */
export type CodexCredential =
  /** For `codex.base-url` only. */
  | {
      readonly kind: 'chatgpt'
      /** The access token, a JWT. */
      readonly value: string
      /** Of the header `chatgpt-account-id`. */
      readonly accountId: string
      /** The account's data stays in a FedRAMP environment; said by a claim of the token. */
      readonly isFedramp: boolean
    }
  /** For `codex.api-base-url` only. */
  | { readonly kind: 'api-key'; readonly value: string }

export interface CodexLoginStatus {
  /**
   * `starting`: nothing is known yet. `expired`: the next request renews the token. `login_required`: nobody is logged in,
   * or the login was revoked. `unreadable`: the stored login or Codex CLI's file cannot be used. `unreachable`: the
   * token could not be renewed for now.
   */
  readonly state: 'starting' | 'ok' | 'expired' | 'login_required' | 'unreadable' | 'unreachable'
  /** A sentence for a person; no path, no credential. */
  readonly detail: string
  /** The command or wait that helps; '' where nothing is wrong. */
  readonly fix: string
  /** Which login is in use. */
  readonly source?: 'login' | 'codex-cli' | 'api-key'
  readonly recordId?: string
  readonly email?: string
  /** As the token says it, e.g. `plus`; an open set. */
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
  /** Which kind `get` gives; settled by the configuration. */
  readonly kind: CodexCredential['kind']
  /**
   * A credential that is good now; renewed first when due. A renewal that takes long is not waited for while the old token
   * still works.
   * @throws Fault `codex_unavailable`, `shutting_down`; the signal's reason on abort, which ends this wait only
   */
  readonly get: (signal: AbortSignal) => Promise<CodexCredential>
  /**
   * After upstream refused `rejected` with 401: a different credential, or the same when none is to be had. What is stored
   * is read again first, because another process may have renewed it. At most one renewal for each rejected value, and
   * fewer and fewer of them while upstream takes no token at all.
   * @throws as `get`
   */
  readonly replace: (rejected: string, signal: AbortSignal) => Promise<CodexCredential>
  /** Upstream has answered a request made with it. */
  readonly markAccepted: (accepted: string) => void
  /** Upstream says that the login is dead (revoked, invalidated): nothing is tried until there is another one. */
  readonly markRevoked: (rejected: string, detail: string) => void
  /** What to tell a caller whose request upstream refuses with 401 in spite of `replace`. `message` is upstream's, harmless. */
  readonly refused: (message: string) => Fault
  /** What a human should know. No I/O, never throws. */
  readonly status: () => CodexLoginStatus
  /** Called when the account has changed, with undefined when nobody is logged in (any more); returns the way to stop. */
  readonly onChange: (listener: (account: CodexAccount | undefined) => void) => () => void
  /**
   * Starts nothing any more. Settles when a renewal under way is stored: a process that ends before loses its tokens, and
   * with them the login.
   */
  readonly close: () => Promise<void>
}
