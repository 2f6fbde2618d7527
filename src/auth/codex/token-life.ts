import type { Moment, TokenLife } from '../token-life.ts'
import { readClaims } from './claims.ts'
import type { CodexRecord } from './record.ts'

/** Renewed when less than this remains (docs/codex-wire.md, "Login"). Ms. */
const MARGIN_MS = 5 * 60_000
/** Brings a renewal forward, so that processes do not all begin at once. Ms. */
const MAX_JITTER_MS = 30_000
/** Renewed at this age if nothing says when the token runs out (docs/codex-wire.md, "Login"). Ms. */
const RENEW_AFTER_MS = 8 * 24 * 3600_000
/** A time from this far in the future was stored under a clock that has been set back since. Ms. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * How long the record's access token may be used, counted from `at`. Margin and jitter take at most half of a short
 * life. `random` is in 0…1 and chosen once for each token.
 */
export function accessLife({ metadata }: CodexRecord, random: number, at: Moment): TokenLife {
  const { expiresAtSeconds, issuedAtSeconds } = readClaims(metadata.access_token)
  const endsAtSeconds = metadata.expires_at ?? expiresAtSeconds
  if (endsAtSeconds === undefined) return { seenAt: at, dueAfterMs: dueByAge(metadata, at), expiresAfterMs: Infinity }
  const statedMs =
    expiresAtSeconds === undefined || issuedAtSeconds === undefined ? NaN : (expiresAtSeconds - issuedAtSeconds) * 1000
  const lifeMs = statedMs > 0 ? statedMs : Infinity
  // More than the stated life cannot remain: the clock has been set back.
  const remainsMs = Math.min(endsAtSeconds * 1000 - at.wallMs, lifeMs)
  const earlyMs = Math.min(MARGIN_MS + random * MAX_JITTER_MS, lifeMs / 2)
  return { seenAt: at, dueAfterMs: remainsMs - earlyMs, expiresAfterMs: remainsMs }
}

function dueByAge({ last_refresh: lastRefresh }: CodexRecord['metadata'], at: Moment): number {
  if (lastRefresh === undefined) return 0
  const ageMs = at.wallMs - lastRefresh * 1000
  return ageMs < -CLOCK_TOLERANCE_MS ? 0 : RENEW_AFTER_MS - Math.max(0, ageMs)
}
