import { z } from 'zod'
import type { Body } from './body.ts'

/** Sums over a period. Null: not known. */
const totalsRow = z.object({
  requests: z.number(),
  errors: z.number(),
  premium_requests: z.number().nullable(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_input_tokens: z.number(),
  cache_write_tokens: z.number(),
  /** Share of the input that came from a cache, 0 to 1. */
  cache_hit_rate: z.number().nullable(),
  /** AI credits, `estimated_credits` included. */
  credits: z.number().nullable(),
  estimated_credits: z.number().nullable(),
  /** At least one reply's credits are an estimate. */
  estimated: z.boolean(),
})
export type TotalsRow = Body<typeof totalsRow>

const modelTotals = totalsRow.extend({ provider: z.string(), model: z.string() })
export type ModelTotals = Body<typeof modelTotals>

const keyTotals = totalsRow.extend({
  /** Null: requests without a key. */
  key: z.string().nullable(),
  /** The day of the key's last request in the period. */
  last_day: z.string(),
})
export type KeyTotals = Body<typeof keyTotals>

const sessionTotals = totalsRow.extend({
  /** Null: the requests of the client that name no session. */
  session: z.string().nullable(),
  /** Null: not known. */
  client: z.string().nullable(),
  key: z.string().nullable(),
  /** The day of the session's last request in the period. */
  last_day: z.string(),
})
export type SessionTotals = Body<typeof sessionTotals>

const dayTotals = totalsRow.extend({ day: z.string() })
export type DayTotals = Body<typeof dayTotals>

const monthTotals = totalsRow.extend({
  /** First day of GitHub's billing month, in UTC. */
  since: z.string(),
})
export type MonthTotals = Body<typeof monthTotals>

/** Each list starts with the row of most requests. */
export interface Periods<Row> {
  readonly today: readonly Row[]
  readonly last_7_days: readonly Row[]
  readonly month_to_date: readonly Row[]
  readonly last_30_days: readonly Row[]
}

function periodsOf<Row extends z.ZodType>(row: Row) {
  const rows = z.array(row)
  return z.object({ today: rows, last_7_days: rows, month_to_date: rows, last_30_days: rows })
}

const usageTotals = periodsOf(modelTotals).extend({
  by_key: periodsOf(keyTotals),
  /** The most expensive sessions first. */
  by_session: periodsOf(sessionTotals),
  /** The last 30 days, the latest first. */
  by_day: z.array(dayTotals),
  month: monthTotals,
})
export type UsageTotals = Body<typeof usageTotals>

const quota = z.object({
  /** `premium_interactions`, `chat`, `completions` or an unknown id. */
  id: z.string(),
  unlimited: z.boolean(),
  /** Per month. Absent if unlimited or not reported. */
  entitlement: z.number().optional(),
  /** Negative if more was used than granted; absent if unlimited or not reported. */
  remaining: z.number().optional(),
  /** 0…100; below 0 if `remaining` is. Absent if unknown. */
  percent_remaining: z.number().optional(),
  credits_used: z.number().optional(),
  /** Use beyond the entitlement, in the unit of the quota. */
  overage_count: z.number().optional(),
  overage_permitted: z.boolean().optional(),
  overage_entitlement: z.number().optional(),
})
export type Quota = Body<typeof quota>

/** How much of a ChatGPT plan is used, as OpenAI's backend reports it. */
const planUse = z.object({
  /** OpenAI's own name of the plan. */
  plan: z.string().optional(),
  /** One or two windows, depending on the plan; the shortest is first. */
  windows: z.array(
    z.object({
      /** 0…100; more if the plan is exceeded. */
      used_percent: z.number(),
      minutes: z.number(),
      /** ISO 8601, UTC. */
      resets_at: z.string().optional(),
    }),
  ),
  /** When the backend reported it. ISO 8601, UTC. */
  reported_at: z.string(),
})
export type PlanUse = Body<typeof planUse>

/** A budget of the owner: `usage.credits-per-day` or `usage.credits-per-month`. */
const budget = z.object({
  period: z.enum(['day', 'month']),
  /** AI credits. */
  limit: z.number(),
  used: z.number(),
  /** `warning`: nearly used up. `spent`: requests are refused. `lifted`: not before tomorrow. */
  state: z.enum(['ok', 'warning', 'spent', 'lifted']),
})
export type Budget = Body<typeof budget>

/** `POST /usage/allow`. */
export const allowance = z.object({ budgets: z.array(budget) })
export type Allowance = Body<typeof allowance>

/** GitHub's data about the account in use, and why it is missing. */
const account = z.object({
  login: z.string().optional(),
  /** `free`, `individual`, `individual_pro`, `business`, …; `unknown` if GitHub does not state it. Any text is possible. */
  plan: z.string().optional(),
  /** The name that GitHub sells the plan under, or the plan in quotes. */
  plan_name: z.string().optional(),
  sku: z.string().optional(),
  /** True: `premium_interactions` counts AI credits (1 credit = US$0.01). False: it counts premium requests. */
  token_based_billing: z.boolean().optional(),
  quotas: z.array(quota).optional(),
  /** When the monthly numbers reset. ISO 8601, UTC. */
  resets_at: z.string().optional(),
  /** GitHub gives none to this kind of login, or (`?partial=true`) the request failed. A sentence. */
  problem: z.string().optional(),
  /** Why the request failed: the code that an error answer has. Absent if GitHub gives none to this kind of login. */
  problem_code: z.string().optional(),
})

/** `GET /usage`: the account, and the usage through this daemon and earlier runs. */
export const usageReport = account.extend({
  /** Absent before the first answer of Codex that reports it. */
  codex: planUse.optional(),
  totals: usageTotals,
  /** Absent for a key, which sees its own use only. */
  budgets: z.array(budget).optional(),
  /** Answers come from the simulated Copilot. */
  demo: z.literal(true).optional(),
})
export type UsageReport = Body<typeof usageReport>
