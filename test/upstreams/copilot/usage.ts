import type { CatalogueRow } from './catalogue.ts'
import type { HeaderMap } from '../http/outcome.ts'

/** The account's subscription, as the token reply, the token and `/copilot_internal/user` name it. */
export const DEMO_SKU = 'monthly_subscriber_quota'

const UNLIMITED = {
  unlimited: true,
  entitlement: 0,
  remaining: 0,
  quota_remaining: 0,
  percent_remaining: 100,
  has_quota: true,
  overage_count: 0,
  overage_permitted: false,
  quota_reset_at: 0,
}

/**
 * Body of `GET /copilot_internal/user` (docs/copilot-wire.md, "Account and quota"). The numbers are fixed. The quota
 * resets on the first of the month after `nowMs`.
 */
export function accountUsage(login: string, nowMs: number, endpoints: HeaderMap) {
  const resetsAt = nextMonth(nowMs)
  const timestamp = new Date(nowMs).toISOString()
  return {
    login,
    access_type_sku: DEMO_SKU,
    analytics_tracking_id: 'demo',
    assigned_date: '2025-10-17T08:51:52+02:00',
    can_signup_for_limited: false,
    chat_enabled: true,
    cli_enabled: true,
    copilot_plan: 'individual',
    can_upgrade_plan: true,
    token_based_billing: false,
    organization_login_list: [],
    organization_list: [],
    endpoints,
    quota_reset_date: resetsAt.slice(0, 10),
    quota_reset_date_utc: resetsAt,
    limited_user_quotas: null,
    monthly_quotas: null,
    quota_snapshots: {
      chat: { quota_id: 'chat', ...UNLIMITED, timestamp_utc: timestamp },
      completions: { quota_id: 'completions', ...UNLIMITED, timestamp_utc: timestamp },
      premium_interactions: {
        quota_id: 'premium_interactions',
        ...UNLIMITED,
        unlimited: false,
        ...quotaOf(300),
        timestamp_utc: timestamp,
      },
    },
  }
}

/** A partly used quota. */
export function quotaOf(entitlement: number) {
  return {
    entitlement,
    remaining: entitlement - 33,
    quota_remaining: entitlement - 32.6,
    percent_remaining: Math.round((1000 * (entitlement - 32.6)) / entitlement) / 10,
  }
}

/** The catalogue members that determine a model's price. */
type Billed = Pick<CatalogueRow, 'profile' | 'price' | 'long'>

interface ReplyTokens {
  /** Without cached tokens. */
  readonly input: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly output: number
}

/**
 * A reply's statement of its credits (docs/copilot-wire.md, "Credits"), as a member to spread. Empty for Grok and for
 * models without prices, because upstream does not promise this member on every reply.
 */
export function copilotUsage({ profile, price: normal, long }: Billed, tokens: ReplyTokens) {
  if (profile === 'grok' || normal === undefined) return {}
  const { input, cacheRead = 0, cacheWrite = 0, output } = tokens
  const isLong = long !== undefined && input + cacheRead + cacheWrite > long.defaultPrompt * 1000
  const price = isLong ? long.price : normal
  const details = [
    ['input', input, price.input],
    ['cache_read', cacheRead, price.cacheRead],
    ['cache_write', cacheWrite, price.cacheWrite ?? price.input],
    ['output', output, price.output],
  ] as const
  const counted = details.filter(([type, count]) => count > 0 || type === 'input' || type === 'output')
  return {
    copilot_usage: {
      token_details: counted.map(([type, count, cost]) => ({
        token_type: type,
        token_count: count,
        cost_per_batch: cost,
        batch_size: 1_000_000,
      })),
      // One credit per million tokens is 1,000 billionths of a credit per token.
      total_nano_aiu: counted.reduce((sum, [, count, cost]) => sum + count * cost * 1000, 0),
    },
  }
}

/** Quota headers of every 2xx of an inference route, before the body (docs/copilot-wire.md, "Response headers"). */
export function quotaHeaders(nowMs: number): HeaderMap {
  const reset = encodeURIComponent(nextMonth(nowMs).replace('.000Z', 'Z'))
  return {
    'x-quota-snapshot-chat': `ent=-1&ov=0.0&ovPerm=false&rem=100.0&rst=${reset}`,
    'x-quota-snapshot-completions': `ent=-1&ov=0.0&ovPerm=false&rem=100.0&rst=${reset}`,
    'x-quota-snapshot-premium_interactions': `ent=300&ov=0.0&ovPerm=false&rem=89.1&rst=${reset}&totRem=267.4`,
    'x-usage-ratelimit-session': `ent=0&rem=97.5&rst=${reset}`,
    'x-usage-ratelimit-weekly': `ent=0&rem=99.1&rst=${reset}`,
  }
}

/** The quota in the last event of a `/responses` stream, where some numbers are strings. */
export function quotaSnapshots(nowMs: number): unknown {
  return {
    premium_interactions: {
      entitlement: '300',
      percent_remaining: 89.1,
      overage_permitted: false,
      overage_count: 0,
      reset_date: nextMonth(nowMs),
    },
  }
}

/** First moment of the next month, UTC, as an ISO date. */
function nextMonth(nowMs: number): string {
  const now = new Date(nowMs)
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString()
}
