import type { AutoWays } from './auto.ts'

/** What the simulated account pays for; decides `/copilot_internal/user` and the quota headers. */
type DemoPlan = 'individual' | 'business' | 'free'

/** One answer to a poll of the device flow. `unavailable` is a 503, `html` a 502 page, `drop` a lost connection. */
export type PollAnswer = 'approve' | 'pending' | 'slow_down' | 'denied' | 'expired' | 'unavailable' | 'html' | 'drop'

/** How the simulated services behave. Can be changed while the server runs (`DemoServer.configure`). */
export interface DemoSettings {
  /** GitHub user name of the only account. */
  readonly login: string
  readonly plan: DemoPlan
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
  /** How `auto` is chosen. */
  readonly autoWays: AutoWays
  /** `Host` values answered with 421, e.g. `localhost:4000`. */
  readonly misdirectedHosts: readonly string[]
  /** Larger bodies get 413. The real limit is not published; this is a guess. */
  readonly maxBodyBytes: number
  /** Images that together are larger get 413 `failed to parse request`. Decoded; a guess. */
  readonly maxImageBytes: number
  /** Wait between the events of an answer, unless a `[demo:slow]` marker says otherwise. */
  readonly eventDelayMs: number
  /** Events joined into one write: 1 shows every event as a chunk of its own, more is cheaper. */
  readonly eventsPerWrite: number
}

export const DEFAULT_DEMO_SETTINGS: DemoSettings = {
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
