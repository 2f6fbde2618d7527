import type { Pace } from '../../../src/demo/inference.ts'

/** What the simulated account pays for; decides `/copilot_internal/user` and the token reply. */
type Plan = 'individual' | 'business' | 'free'

/** One answer to a poll of the device flow. `unavailable` is a 503, `html` a 502 page, `drop` a lost connection. */
export type PollAnswer = 'approve' | 'pending' | 'slow_down' | 'denied' | 'expired' | 'unavailable' | 'html' | 'drop'

/** How the simulated services behave. Can be changed while the server runs (`CopilotUpstream.configure`). */
export interface CopilotSettings extends Pace {
  /** GitHub user name of the only account. */
  readonly login: string
  readonly plan: Plan
  /** AI credits instead of premium requests (docs/copilot-wire.md, "Account and quota"). */
  readonly tokenBasedBilling: boolean
  /** A `notification_id` (docs/copilot-wire.md, "Token exchange") to refuse the exchange with. '' = entitled. */
  readonly entitlementProblem: string
  /** Of a Copilot token, from its exchange. */
  readonly tokenLifetimeSeconds: number
  readonly refreshInSeconds: number
  /** `endpoints.api` of the token reply; undefined = this server, null = the reply has no `endpoints`. */
  readonly apiUrl: string | null | undefined
  /** `proxy-ep` of the token; undefined = host and port of this server. */
  readonly proxyEp: string | undefined
  /** Wait between polls that the device flow asks for. GitHub says 5. */
  readonly deviceIntervalSeconds: number
  /** How `auto` is chosen: as of August 2026 and as before it, only as before, or not at all. */
  readonly autoWays: 'both' | 'session' | 'none'
  /** `Host` values answered with 421, e.g. `localhost:4000`. */
  readonly misdirectedHosts: readonly string[]
  /** Larger bodies get 413. The real limit is not published; this is a guess. */
  readonly maxBodyBytes: number
  /** Images that together are larger get 413 `failed to parse request`. Decoded; a guess. */
  readonly maxImageBytes: number
}

export const DEFAULT_COPILOT_SETTINGS: CopilotSettings = {
  login: 'demo-user',
  plan: 'individual',
  tokenBasedBilling: false,
  entitlementProblem: '',
  tokenLifetimeSeconds: 1800,
  refreshInSeconds: 1500,
  apiUrl: undefined,
  proxyEp: undefined,
  deviceIntervalSeconds: 1,
  autoWays: 'both',
  misdirectedHosts: [],
  maxBodyBytes: 64 * 1024 * 1024,
  maxImageBytes: 24 * 1024 * 1024,
  eventDelayMs: 0,
  eventsPerWrite: 1,
}
