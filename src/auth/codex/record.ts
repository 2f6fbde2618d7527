import { hash } from 'node:crypto'
import { z } from 'zod'
import type { RecordKind } from '../records/record-kind.ts'
import type { Moment, TokenLife } from '../token-life.ts'
import { readClaims, readLoginClaims } from './claims.ts'
import type { LoginTokens, RenewedTokens } from './token-endpoint.ts'

/** The fix if nobody is logged in or the login has ended. */
export const codexLoginFix = 'Run: copilot-proxy login codex'

/**
 * One ChatGPT login, as stored in `auth/<id>.json`. Unknown keys survive a rewrite, so that an older program does not
 * lose a newer one's data.
 */
const codexRecord = z.looseObject({
  id: z.string().min(1),
  provider: z.literal('codex'),
  label: z.string(),
  attributes: z.looseObject({}),
  metadata: z.looseObject({
    /** A JWT, sent to the ChatGPT backend. */
    access_token: z.string().min(1),
    /** Single use. Every renewal returns another one. */
    refresh_token: z.string().min(1),
    id_token: z.string().optional(),
    /** Value of the header `chatgpt-account-id`. */
    account_id: z.string().min(1),
    email: z.string().optional(),
    plan: z.string().optional(),
    /** Expiry of the access token. Seconds since epoch, by this machine's clock. Absent if unknown. */
    expires_at: z.number().optional(),
    /** Time of the login or of the last renewal. Seconds since epoch, by this machine's clock. */
    last_refresh: z.number().optional(),
    /** Seconds since epoch; the newest login is the account in use. */
    logged_in_at: z.number().optional(),
    /** The login server that accepts the refresh token. Default: `codex.issuer`. */
    issuer: z.string().optional(),
    /**
     * Identifies the refresh token that is being redeemed. It is stored before the token is sent, and removed when the
     * new token is stored. If it matches `refresh_token`, a renewal was interrupted and the token may be spent.
     */
    renewal_begun: z.string().optional(),
  }),
})
export type CodexRecord = z.infer<typeof codexRecord>

const RECORD_ID = /^codex-[a-z0-9_-]{1,80}$/

/** Logins for OpenAI Codex. */
export const codexRecordKind: RecordKind<CodexRecord> = {
  schema: codexRecord,
  isRecordId: (id) => RECORD_ID.test(id),
  loginCommand: 'copilot-proxy login codex',
  cleaned: (record) => record,
}

/**
 * `codex-<account>`: the id of this account's record, safe as a file name. It is lower case, because some file systems
 * ignore case. A digest distinguishes accounts that differ only in replaced characters.
 */
export function codexRecordId(account: string): string {
  const plain = account.toLowerCase()
  const safe = plain.replaceAll(/[^a-z0-9_-]/g, '-').slice(0, 64)
  return safe === plain && safe !== '' ? `codex-${safe}` : `codex-${safe}-${hash('sha256', account).slice(0, 12)}`
}

/**
 * The record of a new login. Undefined if its tokens name no ChatGPT account, because the backend answers no request
 * without one.
 */
export function toCodexRecord(
  tokens: LoginTokens,
  login: {
    /** Ms since epoch. */
    readonly nowMs: number
    readonly issuer: string
  },
): CodexRecord | undefined {
  const claims = readLoginClaims(tokens.accessToken, tokens.idToken)
  if (claims.accountId === undefined) return undefined
  const nowSeconds = Math.floor(login.nowMs / 1000)
  return {
    id: codexRecordId(claims.accountId),
    provider: 'codex',
    label: claims.email ?? claims.accountId,
    attributes: {},
    metadata: {
      ...describeTokens(tokens, tokens.accessToken, nowSeconds),
      access_token: tokens.accessToken,
      refresh_token: tokens.refreshToken,
      account_id: claims.accountId,
      logged_in_at: nowSeconds,
      issuer: login.issuer,
    },
  }
}

/** The record of a new login, with the fields that other programs added to an older record of the account. */
export function withForeignFields(record: CodexRecord, earlier: CodexRecord | undefined): CodexRecord {
  const known = codexRecord.shape.metadata.shape
  const foreign = Object.entries(earlier?.metadata ?? {}).filter(([key]) => !Object.hasOwn(known, key))
  return {
    ...earlier,
    ...record,
    attributes: earlier?.attributes ?? record.attributes,
    metadata: { ...Object.fromEntries(foreign), ...record.metadata },
  }
}

/** The record after a renewal. Fields that the reply omits, and the account, do not change. */
export function withRenewedTokens(record: CodexRecord, tokens: RenewedTokens, nowMs: number): CodexRecord {
  const { expires_at: oldExpiry, renewal_begun: _, ...metadata } = record.metadata
  const { accessToken = metadata.access_token, refreshToken = metadata.refresh_token } = tokens
  const keepsOld = tokens.accessToken === undefined && oldExpiry !== undefined
  return {
    ...record,
    metadata: {
      ...metadata,
      ...describeTokens(tokens, accessToken, Math.floor(nowMs / 1000)),
      ...(keepsOld && { expires_at: oldExpiry }),
      access_token: accessToken,
      refresh_token: refreshToken,
    },
  }
}

/** The record while its refresh token is being redeemed. */
export function withRenewalBegun(record: CodexRecord): CodexRecord {
  const renewal_begun = markOf(record.metadata.refresh_token)
  return { ...record, metadata: { ...record.metadata, renewal_begun } }
}

/** Whether a process has sent the refresh token and has not stored the outcome. */
export function isRenewalInDoubt({ metadata }: CodexRecord): boolean {
  return metadata.renewal_begun === markOf(metadata.refresh_token)
}

/** Identifies a token without revealing it. */
function markOf(token: string): string {
  return hash('sha256', token).slice(0, 16)
}

/**
 * `expires_at` is computed from this machine's clock and the lifetime that upstream states. A wrong clock here then
 * does not make every token look expired.
 */
function describeTokens(
  tokens: RenewedTokens,
  accessToken: string,
  nowSeconds: number,
): Pick<CodexRecord['metadata'], 'email' | 'expires_at' | 'id_token' | 'last_refresh' | 'plan'> {
  const { email, plan, expiresAtSeconds, issuedAtSeconds } = readLoginClaims(accessToken, tokens.idToken)
  const lifeSeconds =
    expiresAtSeconds !== undefined && issuedAtSeconds !== undefined && expiresAtSeconds > issuedAtSeconds
      ? expiresAtSeconds - issuedAtSeconds
      : undefined
  const expiresAt =
    lifeSeconds === undefined
      ? (expiresAtSeconds ?? (tokens.expiresInSeconds === undefined ? undefined : nowSeconds + tokens.expiresInSeconds))
      : nowSeconds + lifeSeconds
  return {
    last_refresh: nowSeconds,
    ...(tokens.idToken !== undefined && { id_token: tokens.idToken }),
    ...(email !== undefined && { email }),
    ...(plan !== undefined && { plan }),
    ...(expiresAt !== undefined && { expires_at: Math.floor(expiresAt) }),
  }
}

/** The token is renewed when less than this remains (docs/codex-wire.md, "Login"). Ms. */
const MARGIN_MS = 5 * 60_000
/** Random part of the margin, so that processes do not all renew at once. Ms. */
const MAX_JITTER_MS = 30_000
/** The token is renewed at this age if its expiry is unknown (docs/codex-wire.md, "Login"). Ms. */
const RENEW_AFTER_MS = 8 * 24 * 3600_000
/** A record from further in the future than this was stored before the clock was set back. Ms. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * How long the record's access token may be used, counted from `at`. Margin and jitter take at most half of a short
 * lifetime. `random` is in 0…1 and chosen once for each token.
 */
export function accessLife({ metadata }: CodexRecord, random: number, at: Moment): TokenLife {
  const { expiresAtSeconds, issuedAtSeconds } = readClaims(metadata.access_token)
  const endsAtSeconds = metadata.expires_at ?? expiresAtSeconds
  if (endsAtSeconds === undefined) return { seenAt: at, dueAfterMs: dueByAge(metadata, at), expiresAfterMs: Infinity }
  const statedMs =
    expiresAtSeconds === undefined || issuedAtSeconds === undefined ? NaN : (expiresAtSeconds - issuedAtSeconds) * 1000
  const lifeMs = statedMs > 0 ? statedMs : Infinity
  // More than the stated lifetime cannot remain, so the clock has been set back.
  const remainsMs = Math.min(endsAtSeconds * 1000 - at.wallMs, lifeMs)
  const earlyMs = Math.min(MARGIN_MS + random * MAX_JITTER_MS, lifeMs / 2)
  return { seenAt: at, dueAfterMs: remainsMs - earlyMs, expiresAfterMs: remainsMs }
}

function dueByAge({ last_refresh: lastRefresh }: CodexRecord['metadata'], at: Moment): number {
  if (lastRefresh === undefined) return 0
  const ageMs = at.wallMs - lastRefresh * 1000
  return ageMs < -CLOCK_TOLERANCE_MS ? 0 : RENEW_AFTER_MS - Math.max(0, ageMs)
}
