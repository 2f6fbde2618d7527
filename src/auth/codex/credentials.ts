import type { Fault } from '../../errors.ts'
import type { CredentialSource } from '../credential/credential.ts'
import type { CredentialStatus } from '../credential/state.ts'

/** The credential of a request to a Codex upstream. The two kinds belong to different hosts and are never mixed. */
export type CodexCredential =
  /** Sent to `codex.base-url` only. */
  | {
      readonly kind: 'chatgpt'
      /** The access token, a JWT. */
      readonly value: string
      /** Value of the header `chatgpt-account-id`. */
      readonly accountId: string
      /** A claim of the token states that the account's data stays in a FedRAMP environment. */
      readonly isFedramp: boolean
    }
  /** Sent to `codex.api-base-url` only. */
  | { readonly kind: 'api-key'; readonly value: string }

export interface CodexLoginStatus extends CredentialStatus {
  /** The login in use. */
  readonly source?: 'login' | 'codex-cli' | 'api-key'
  readonly recordId?: string | undefined
  readonly email?: string | undefined
  /** As in the token, e.g. `plus`. An open set. */
  readonly plan?: string | undefined
  /** Ms since epoch. */
  readonly expiresAtMs?: number | undefined
}

/** The account whose models and quota a credential gives access to. */
export interface CodexAccount {
  /** Changes when another account or key is in use. Holds no secret. */
  readonly id: string
  /** Text for users. */
  readonly label: string
}

/** The OpenAI Codex login in use. A process that ends before `close` settles may lose the login. */
export interface CodexCredentialSource extends CredentialSource<CodexCredential, CodexAccount> {
  /** The kind that `get` returns, which the configuration decides. */
  readonly kind: CodexCredential['kind']
  /** Call when upstream has answered a request with this credential. */
  readonly markAccepted: (accepted: string) => void
  /**
   * Call when upstream says that the login has ended (revoked, invalidated). No refresh is made until there is another
   * login.
   */
  readonly markRevoked: (rejected: string, detail: string) => void
  /**
   * The fault for a request that upstream still refuses with 401 after `replace`. `message` is upstream's, sanitised.
   */
  readonly refused: (message: string) => Fault
  /** Status for users. No I/O, never throws. */
  readonly status: () => CodexLoginStatus
}
