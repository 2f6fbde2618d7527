import type { Pace } from '../inference.ts'
import { EVERYWHERE } from './refusals/rows.ts'
import type { HostRefusals } from './refusals/rows.ts'

/** The account's subscription. It determines `/copilot_internal/user` and the token reply. */
type Plan = 'individual' | 'business' | 'free'

/** One answer to a poll of the device flow. `unavailable` is a 503, `html` a 502 page, `drop` a lost connection. */
export type PollAnswer = 'approve' | 'pending' | 'slow_down' | 'denied' | 'expired' | 'unavailable' | 'html' | 'drop'

/** The behaviour of the simulated services. `CopilotUpstream.configure` changes it while the server runs. */
export interface CopilotSettings extends Pace, HostRefusals {
  /** GitHub user name of the only account. */
  readonly login: string
  readonly plan: Plan
  /** The account has AI credits instead of premium requests (docs/copilot-wire.md, "Account and quota"). */
  readonly tokenBasedBilling: boolean
  /**
   * The `notification_id` with which the token exchange is refused (docs/copilot-wire.md, "Token exchange"); '' for an
   * entitled account.
   */
  readonly entitlementProblem: string
  /** Lifetime of a Copilot token from its exchange. */
  readonly tokenLifetimeSeconds: number
  readonly refreshInSeconds: number
  /** `endpoints.api` of the token reply. Undefined: this server. Null: the reply has no `endpoints`. */
  readonly apiUrl: string | null | undefined
  /** `proxy-ep` of the token. Undefined: host and port of this server. */
  readonly proxyEp: string | undefined
  /** The interval between polls that the device flow states. GitHub states 5. */
  readonly deviceIntervalSeconds: number
  /** Whether the account of a GitHub token lacks a model of the list. */
  readonly lacksModel: (githubToken: string, model: string) => boolean
  /** Endpoints that choose a model for `auto`: both, only the one from before August 2026, or neither. */
  readonly autoWays: 'both' | 'session' | 'none'
  /** Larger bodies get 413. The number is a guess, because the real limit is not published. */
  readonly maxBodyBytes: number
  /** Requests with more image bytes in total, decoded, get 413 `failed to parse request`. The number is a guess. */
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
  lacksModel: () => false,
  autoWays: 'both',
  maxBodyBytes: 64 * 1024 * 1024,
  maxImageBytes: 24 * 1024 * 1024,
  refusals: EVERYWHERE,
  windowTokens: undefined,
  eventsPerWrite: 1,
}
