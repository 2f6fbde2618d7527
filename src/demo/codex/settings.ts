import type { FailureWish } from './failures.ts'

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

/** How the simulated services behave. Can be changed while the server runs (`DemoCodex.configure`). */
export interface CodexSettings {
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
  /** Another number is another list of models, with an ETag of its own. */
  readonly catalogueRevision: number
  /** Models that refuse the standard form, and how (docs/codex-wire.md, "Lite form"). */
  readonly liteOnly: Readonly<Record<string, 'not_found' | 'context'>>
  /** Whether `instructions: ""` is taken outside the lite form is not known. */
  readonly acceptsEmptyInstructions: boolean
  /** Comments, and events of the ChatGPT backend that the dialect does not have. OpenAI's SDK fails on them. */
  readonly sendsAsides: boolean
  /** Every prompt is answered with it. */
  readonly failure: FailureWish | undefined
  /** Percent of the two windows, as the rate-limit headers tell. */
  readonly primaryUsedPercent: number
  readonly secondaryUsedPercent: number
  /** Larger bodies get 413. A guess. */
  readonly maxBodyBytes: number
  /** Wait between the events of an answer, unless a `[demo:slow]` marker says otherwise. */
  readonly eventDelayMs: number
  /** Events joined into one write: 1 shows every event as a chunk of its own, more is cheaper. */
  readonly eventsPerWrite: number
}

export const DEFAULT_CODEX_SETTINGS: CodexSettings = {
  clientId: 'app_EMoamEEZ73f0CkXaXp7hrann',
  authorization: 'approve',
  redirectPorts: [1455, 1457],
  renewalFailure: undefined,
  losesTokenReply: false,
  omittedTokenFields: [],
  accessTokenLifetimeSeconds: 864_000,
  hasDeviceFlow: true,
  deviceInterval: '1',
  plan: 'plus',
  email: 'demo@example.com',
  isFedramp: false,
  catalogueRevision: 1,
  liteOnly: {},
  acceptsEmptyInstructions: true,
  sendsAsides: true,
  failure: undefined,
  primaryUsedPercent: 12.5,
  secondaryUsedPercent: 40,
  maxBodyBytes: 64 * 1024 * 1024,
  eventDelayMs: 0,
  eventsPerWrite: 1,
}
