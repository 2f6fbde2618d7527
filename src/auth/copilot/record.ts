import { hasCodexSuffix } from './endpoint.ts'
import type { RecordKind } from '../records/record-kind.ts'
import type { Moment, TokenLife } from '../token-life.ts'
import { copilotRecord, type CopilotRecord } from './wire.ts'

/**
 * Logins for GitHub Copilot. An `attributes.base_url` that ends in `/backend-api/codex` is removed, because that path
 * belongs to another API.
 */
export const copilotRecordKind: RecordKind<CopilotRecord> = {
  schema: copilotRecord,
  isRecordId: isCopilotRecordId,
  loginCommand: 'copilot-proxy login',
  cleaned(record) {
    const { base_url, ...attributes } = record.attributes
    return base_url !== undefined && hasCodexSuffix(base_url) ? { ...record, attributes } : record
  },
}

/** File names of records. The host follows for accounts outside github.com. */
const RECORD_ID = /^copilot-[A-Za-z0-9_-]{1,64}(?:@[A-Za-z0-9-][A-Za-z0-9.-]{0,190})?$/

/**
 * `copilot-<login>`, or `copilot-<login>@SUB.ghe.com`: the id of this account's record, safe as a file name. Lower
 * case, because logins and some file systems ignore case.
 */
export function copilotRecordId(login: string, githubBaseUrl: string): string {
  const name =
    login
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]/g, '-')
      .slice(0, 64) || 'account'
  const { hostname } = new URL(githubBaseUrl)
  const host = hostname.replaceAll(/[^a-z0-9.-]/g, '-').slice(0, 190)
  return hostname === 'github.com' ? `copilot-${name}` : `copilot-${name}@${host}`
}

export function isCopilotRecordId(id: string): boolean {
  return RECORD_ID.test(id)
}

/** Upstream accepts a token this much longer than `refresh_in`. GitHub's own clients rely on the same minute. */
const ALLOWANCE_MS = 60_000
/** A longer `refresh_in` is a mistake. */
const MAX_REFRESH_IN_MS = 24 * 3600_000
const MAX_JITTER_MS = 30_000
/** A token from further in the future than this was stored before the clock was set back. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * The token is due at `obtained + refresh_in − margin − jitter` and expires at `obtained + refresh_in + 60 s`.
 * Upstream's `expires_at` is not used, because GitHub's clock may differ. The margin takes at most half of `refresh_in`,
 * whatever is configured. `random` is in 0…1 and chosen once for each token.
 */
export function tokenLife(
  token: { readonly obtainedAtSeconds: number; readonly refreshInSeconds: number },
  settings: { readonly marginSeconds: number; readonly random: number },
  at: Moment,
): TokenLife {
  const refreshInMs = Math.min(Math.max(0, token.refreshInSeconds * 1000), MAX_REFRESH_IN_MS)
  const ageMs = at.wallMs - token.obtainedAtSeconds * 1000
  // A token of unknown age is due at once, and valid for the extra minute only.
  const spentMs = ageMs < -CLOCK_TOLERANCE_MS ? refreshInMs : Math.max(0, ageMs)
  const marginMs = Math.min(settings.marginSeconds * 1000, refreshInMs / 2)
  const jitterMs = settings.random * Math.min(MAX_JITTER_MS, refreshInMs / 20)
  return {
    seenAt: at,
    dueAfterMs: refreshInMs - marginMs - jitterMs - spentMs,
    expiresAfterMs: refreshInMs + ALLOWANCE_MS - spentMs,
  }
}
