import type { FailureWish } from '../../../src/demo/failures.ts'
import type { CodexSettings } from './request.ts'
import { DEMO_USE } from '../../../src/demo/codex/route.ts'
import { ACCESS_TOKEN_SECONDS, CODEX_CLIENT_ID, DEMO_PERSON } from '../../../src/demo/codex/server.ts'
import { DEFAULT_PACE } from '../../../src/demo/inference.ts'

/** How `GET /oauth/authorize` sends the browser back; `wrong_state` as somebody else's link would. */
type Authorization = 'approve' | 'deny' | 'wrong_state'

/** One answer to a poll of the device flow: `pending` is 403, `unknown` 404, which means pending too. */
export type CodexPollAnswer = 'approve' | 'pending' | 'unknown' | 'unavailable' | 'html' | 'drop'

/** How `POST /oauth/token` refuses a renewal, in one of the three shapes of docs/codex-wire.md, "Login". */
interface RenewalFailure {
  readonly status: number
  readonly code: string
  readonly shape?: 'object' | 'text' | 'top'
}

/** How the simulated services behave. Can be changed while the server runs (`CodexUpstream.configure`). */
export interface CodexUpstreamSettings extends CodexSettings {
  readonly clientId: string
  readonly authorization: Authorization
  /** Ports of `http://localhost:<port>/auth/callback` that are on the list of redirects. */
  readonly redirectPorts: readonly number[] | 'any'
  /** Refuses every renewal; undefined = they succeed. The refresh token stays good. */
  readonly renewalFailure: RenewalFailure | undefined
  /** The connection breaks after the tokens were issued: the refresh token sent is spent, its successor lost. */
  readonly losesTokenReply: boolean
  /** Fields left out of the reply to a renewal; without `refresh_token` the old one stays good. */
  readonly omittedTokenFields: readonly ('access_token' | 'refresh_token' | 'id_token' | 'expires_in')[]
  readonly accessTokenLifetimeSeconds: number
  /** `usercode` answers 404 where the flow is switched off. */
  readonly hasDeviceFlow: boolean
  /** As the reply has it: a text or a number. The real one says "5". */
  readonly deviceInterval: string | number
  /** Of logins that are made from now on. */
  readonly plan: string
  readonly email: string
  readonly isFedramp: boolean
  /** Models that refuse the standard form, and how (docs/codex-wire.md, "Lite form"). */
  readonly liteOnly: Readonly<Record<string, 'not_found' | 'context'>>
  /** Whether `instructions: ""` is taken outside the lite form is not known. */
  readonly acceptsEmptyInstructions: boolean
  /** Every prompt is answered with it. */
  readonly failure: FailureWish | undefined
  /** Larger bodies get 413. A guess. */
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
