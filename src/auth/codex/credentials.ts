import type { Fault } from '../../errors.ts'
import type { CredentialSource, CredentialStatus } from '../refreshing-credential.ts'

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
  readonly recordId?: string | undefined
  readonly email?: string | undefined
  /** As in the token, e.g. `plus`; an open set. */
  readonly plan?: string | undefined
  /** Ms since epoch. */
  readonly expiresAtMs?: number | undefined
}

/** The account whose models and quota a credential opens. */
export interface CodexAccount {
  /** Changes when another account or key is in use. Holds no secret. */
  readonly id: string
  /** For people. */
  readonly label: string
}

/** The one login for OpenAI Codex that is in use. A process that ends before `close` settles may lose the login. */
export interface CodexCredentialSource extends CredentialSource<CodexCredential, CodexAccount> {
  /** The kind that `get` gives, by configuration. */
  readonly kind: CodexCredential['kind']
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
}
