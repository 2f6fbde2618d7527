import type { FailureWish } from '../copilot/failures.ts'
import type { CodexSettings } from './request.ts'
import { ACCESS_TOKEN_SECONDS, CODEX_CLIENT_ID, DEMO_PERSON, DEMO_USE } from './account.ts'
import { DEFAULT_PACE } from '../inference.ts'

/** How `GET /oauth/authorize` redirects the browser. `wrong_state`: like a link that another person made. */
type Authorization = 'approve' | 'deny' | 'wrong_state'

/** One answer to a poll of the device flow. `pending` is a 403, `unknown` a 404; both mean pending. */
export type CodexPollAnswer = 'approve' | 'pending' | 'unknown' | 'unavailable' | 'html' | 'drop'

/** The refusal of a renewal by `POST /oauth/token`, in one of the three shapes of docs/codex-wire.md, "Login". */
interface RenewalFailure {
  readonly status: number
  readonly code: string
  readonly shape?: 'object' | 'text' | 'top'
}

/** The behaviour of the simulated services. `CodexUpstream.configure` changes it while the server runs. */
export interface CodexUpstreamSettings extends CodexSettings {
  readonly clientId: string
  readonly authorization: Authorization
  /** Ports that are registered for redirects to `http://localhost:<port>/auth/callback`. */
  readonly redirectPorts: readonly number[] | 'any'
  /** Refuses every renewal; undefined: renewals succeed. The refresh token stays valid. */
  readonly renewalFailure: RenewalFailure | undefined
  /** Breaks the connection after the tokens were issued: the refresh token is spent, and its successor is lost. */
  readonly losesTokenReply: boolean
  /** Fields to omit from the reply to a renewal. Without `refresh_token`, the old one stays valid. */
  readonly omittedTokenFields: readonly ('access_token' | 'refresh_token' | 'id_token' | 'expires_in')[]
  readonly accessTokenLifetimeSeconds: number
  /** False: the device flow is switched off, and `usercode` answers 404. */
  readonly hasDeviceFlow: boolean
  /** The interval in the reply, a text or a number. The real issuer sends "5". */
  readonly deviceInterval: string | number
  /** The plan of later logins. */
  readonly plan: string
  readonly email: string
  readonly isFedramp: boolean
  /** Models that refuse the standard form, and how (docs/codex-wire.md, "Lite form"). */
  readonly liteOnly: Readonly<Record<string, 'not_found' | 'context'>>
  /** Accepts `instructions: ""` outside the lite form. The behaviour of the real backend is not known. */
  readonly acceptsEmptyInstructions: boolean
  /** The answer to every prompt. */
  readonly failure: FailureWish | undefined
  /** Larger bodies get 413. The number is a guess. */
  readonly maxBodyBytes: number
}

export const DEFAULT_UPSTREAM_SETTINGS: CodexUpstreamSettings = {
  ...DEFAULT_PACE,
  ...DEMO_USE,
  sendsAsides: true,
  catalogueRevision: 1,
  clientId: CODEX_CLIENT_ID,
  authorization: 'approve',
  redirectPorts: [1455, 1457],
  renewalFailure: undefined,
  losesTokenReply: false,
  omittedTokenFields: [],
  accessTokenLifetimeSeconds: ACCESS_TOKEN_SECONDS,
  hasDeviceFlow: true,
  deviceInterval: '1',
  plan: DEMO_PERSON.plan,
  email: DEMO_PERSON.email,
  isFedramp: false,
  liteOnly: {},
  acceptsEmptyInstructions: true,
  failure: undefined,
  maxBodyBytes: 64 * 1024 * 1024,
}
