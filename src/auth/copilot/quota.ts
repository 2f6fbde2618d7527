import type { CopilotUserReply, QuotaSnapshot } from './wire.ts'

/** Plan and quota of an account, in terms that stay valid when GitHub's billing changes. */
export interface CopilotAccount {
  readonly login?: string | undefined
  /**
   * `free`, `individual`, `individual_pro`, `business`, …; `unknown` if GitHub does not state it. Any string is
   * possible.
   */
  readonly plan: string
  readonly sku?: string | undefined
  /** True: `premium_interactions` counts AI credits (1 credit = US$0.01). False: it counts premium requests. */
  readonly tokenBasedBilling: boolean
  readonly quotas: readonly Quota[]
  /** When the monthly numbers reset. ISO 8601, UTC. */
  readonly resetsAt?: string | undefined
}

/** GitHub does not show plan and quota to tokens of this kind. The account itself is fine. */
export interface UnreportedAccount {
  /** A sentence for users. */
  readonly problem: string
}

export interface Quota {
  /** `premium_interactions`, `chat`, `completions` or an unknown id. */
  readonly id: string
  readonly unlimited: boolean
  /** Per month. Absent if unlimited or not reported. */
  readonly entitlement?: number | undefined
  /** Negative if more was used than granted; absent if unlimited or not reported. */
  readonly remaining?: number | undefined
  /** 0…100; below 0 if `remaining` is. Absent if unknown. */
  readonly percentRemaining?: number | undefined
  readonly creditsUsed?: number | undefined
  /** Use beyond the entitlement, in the unit of the quota. */
  readonly overageCount?: number | undefined
  readonly overagePermitted?: boolean | undefined
  readonly overageEntitlement?: number | undefined
}

/** The free plan's sku. Its plan string may still be `individual`. */
const FREE_SKU = 'free_limited_copilot'

/** Reads a /copilot_internal/user reply. Never fails; leaves out unknown and missing parts. */
export function toCopilotAccount(reply: CopilotUserReply): CopilotAccount {
  const sku = reply.access_type_sku ?? undefined
  return {
    login: reply.login || undefined,
    plan: sku === FREE_SKU ? 'free' : (reply.copilot_plan ?? 'unknown'),
    sku,
    tokenBasedBilling: reply.token_based_billing ?? false,
    quotas: quotasOf(reply),
    resetsAt: resetOf(reply),
  }
}

/**
 * Paid plans have snapshots, the free plan two plain tables. If both contain a quota, the snapshot wins, because it has
 * more members.
 */
function quotasOf(reply: CopilotUserReply): readonly Quota[] {
  const quotas = new Map<string, Quota>()
  for (const [id, remaining] of Object.entries(reply.limited_user_quotas ?? {})) {
    const entitlement = reply.monthly_quotas?.[id]
    if (typeof remaining === 'number') quotas.set(id, toQuota(id, { unlimited: false, entitlement, remaining }))
  }
  for (const [id, snapshot] of Object.entries(reply.quota_snapshots ?? {})) {
    if (snapshot) quotas.set(id, toQuota(id, snapshot))
  }
  return [...quotas.values()]
}

function toQuota(id: string, snapshot: QuotaSnapshot): Quota {
  // Uncapped quotas have the flag and an entitlement of 0 or -1. Older replies have only -1.
  const unlimited = snapshot.unlimited ?? snapshot.entitlement === -1
  const creditsUsed = snapshot.credits_used ?? undefined
  // Seats that share a pool have no cap of their own. The other numbers then mean nothing, and no overage applies.
  if (unlimited && snapshot.has_quota === false) {
    return { id, unlimited: false, remaining: 0, percentRemaining: 0, creditsUsed }
  }
  const remaining = snapshot.quota_remaining ?? snapshot.remaining ?? undefined
  const entitlement = snapshot.entitlement ?? undefined
  const percentRemaining = snapshot.percent_remaining ?? percentOf(remaining, entitlement)
  return {
    id,
    unlimited,
    ...(!unlimited && { remaining, entitlement, percentRemaining }),
    creditsUsed,
    overageCount: snapshot.overage_count ?? undefined,
    overagePermitted: snapshot.overage_permitted ?? undefined,
    overageEntitlement: snapshot.overage_entitlement ?? undefined,
  }
}

function percentOf(remaining: number | undefined, entitlement = 0): number | undefined {
  return entitlement > 0 && remaining !== undefined ? Math.round((remaining / entitlement) * 1000) / 10 : undefined
}

/** The account's own date, otherwise a snapshot's `quota_reset_at` unless it is 0, which means unknown. */
function resetOf(reply: CopilotUserReply): string | undefined {
  const dates = [reply.quota_reset_date_utc, reply.quota_reset_date, reply.limited_user_reset_date]
  const snapshots = Object.values(reply.quota_snapshots ?? {}).map((snapshot) => snapshot?.quota_reset_at)
  return [...dates, ...snapshots].map(toIsoDate).find((date) => date !== undefined)
}

/** Parses seconds since epoch or an ISO 8601 date; a day alone means midnight UTC. */
function toIsoDate(value: number | string | null | undefined): string | undefined {
  if (value === null || value === undefined || value === 0 || value === '') return undefined
  const date = new Date(typeof value === 'number' ? value * 1000 : value)
  return Number.isFinite(date.getTime()) && date.getTime() > 0 ? date.toISOString() : undefined
}
