import type { FailureWish } from '../copilot/failures.ts'
import type { CodexSettings } from './request.ts'
import { CODEX_CLIENT_ID, DEMO_PERSON, DEMO_USE } from './account.ts'
import { DEFAULT_PACE } from '../inference.ts'

/** The behaviour of the simulated services. `CodexUpstream.configure` changes it while the server runs. */
export interface CodexUpstreamSettings extends CodexSettings {
  readonly clientId: string
  /** The plan of later logins. */
  readonly plan: string
  readonly email: string
  readonly isFedramp: boolean
  /** Models that refuse the standard form, and how (docs/codex-wire.md, "Lite form"). */
  readonly liteOnly: Readonly<Record<string, 'not_found' | 'context'>>
  /** The answer to every prompt. */
  readonly failure: FailureWish | undefined
  /** Larger bodies get 413. The number is a guess. */
  readonly maxBodyBytes: number
}

export const DEFAULT_UPSTREAM_SETTINGS: CodexUpstreamSettings = {
  ...DEFAULT_PACE,
  ...DEMO_USE,
  sendsAsides: true,
  clientId: CODEX_CLIENT_ID,
  plan: DEMO_PERSON.plan,
  email: DEMO_PERSON.email,
  isFedramp: false,
  liteOnly: {},
  failure: undefined,
  maxBodyBytes: 64 * 1024 * 1024,
}
