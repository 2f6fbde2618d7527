import { existsSync } from 'node:fs'
import { z } from 'zod'
import type { PlanUse } from '../../auth/codex/plan-use.ts'
import type { CopilotAccount } from '../../auth/copilot/quota.ts'
import { isObject } from '../../json/json.ts'
import { camelKeys } from '../../json/key-case.ts'
import { firstDay, toTotals } from '../../usage/periods.ts'
import { allowance } from '../../api/usage.ts'
import type { Budget, UsageTotals } from '../../api/usage.ts'
import { DatabaseError } from '../../sqlite/database.ts'
import { openUsageStore } from '../../usage/store.ts'
import { findCommandKey, findDaemon, getFromDaemon } from '../shared/find-daemon.ts'
import { CommandFailure } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import type { LoadedSettings } from '../shared/settings.ts'

const count = z.number().catch(0)
const known = z.number().nullable().catch(null)
const optionalNumber = z.number().optional().catch(undefined)
const optionalText = z.string().optional().catch(undefined)
const row = z.object({
  requests: count,
  errors: count,
  premium_requests: known,
  input_tokens: count,
  output_tokens: count,
  cached_input_tokens: count,
  cache_write_tokens: count,
  cache_hit_rate: known,
  credits: known,
  estimated_credits: known,
  estimated: z.boolean().catch(false),
})
const modelTotals = z.array(row.extend({ provider: z.string(), model: z.string() }))
const sessionTotals = z.array(
  row.extend({
    session: z.string().nullable(),
    client: z.string().nullable(),
    key: z.string().nullable(),
    last_day: z.string().catch(''),
  }),
)
const keyTotals = z.array(row.extend({ key: z.string().nullable(), last_day: z.string().catch('') }))

/** Answer of `GET /usage?partial=true`. Unexpected values, as of another version, are ignored. */
const report = z.object({
  login: optionalText,
  plan: optionalText,
  sku: optionalText,
  tokenBasedBilling: z.boolean().catch(false),
  resetsAt: z.iso.datetime().optional().catch(undefined),
  quotas: z
    .array(
      z.object({
        id: z.string(),
        unlimited: z.boolean().catch(false),
        entitlement: optionalNumber,
        remaining: optionalNumber,
        percentRemaining: optionalNumber,
        creditsUsed: optionalNumber,
        overageCount: optionalNumber,
        overagePermitted: z.boolean().optional().catch(undefined),
      }),
    )
    .catch([]),
  codex: z
    .object({
      plan: z.string().optional(),
      windows: z.array(
        z.object({ usedPercent: z.number(), minutes: z.number(), resetsAt: z.iso.datetime().optional() }),
      ),
      reportedAt: z.iso.datetime(),
    })
    .optional()
    .catch(undefined),
  totals: z
    .object({
      today: modelTotals,
      last_7_days: modelTotals,
      month_to_date: modelTotals,
      last_30_days: modelTotals,
      by_key: z.object({
        today: keyTotals,
        last_7_days: keyTotals,
        month_to_date: keyTotals,
        last_30_days: keyTotals,
      }),
      by_session: z
        .object({
          today: sessionTotals,
          last_7_days: sessionTotals,
          month_to_date: sessionTotals,
          last_30_days: sessionTotals,
        })
        .catch({ today: [], last_7_days: [], month_to_date: [], last_30_days: [] }),
      by_day: z.array(row.extend({ day: z.string() })),
      month: row.extend({ since: z.string() }),
    })
    .optional()
    .catch(undefined),
  budgets: allowance.shape.budgets.catch([]),
  demo: z.boolean().catch(false),
})

export interface DaemonUsage {
  /** The owner's; empty for a key. */
  readonly budgets: readonly Budget[]
  /** The use of the ChatGPT plan; undefined before the first answer reports it. */
  readonly codex: PlanUse | undefined
  /** Undefined if the daemon could not fetch it. */
  readonly account: CopilotAccount | undefined
  /** Undefined for a daemon of another version; the stored totals replace them. */
  readonly totals: UsageTotals | undefined
  /** It answers from the simulated Copilot. */
  readonly demo: boolean
}

/**
 * Quota and usage of the running daemon; undefined if none answers in time.
 * @throws KeyRefused by the daemon
 */
export async function askUsage(
  context: CommandContext,
  settings: LoadedSettings,
  timeoutMs: number,
): Promise<DaemonUsage | undefined> {
  const { url, health } = await findDaemon(context, settings, { timeoutMs: Math.min(timeoutMs, 1000) })
  if (health === undefined) return undefined
  const key = await findCommandKey(context, settings, url)
  try {
    const { ok, body } = await getFromDaemon(context, { url, key }, '/usage?partial=true', timeoutMs)
    if (!ok) return undefined
    // The totals keep their snake_case names.
    const wire = isObject(body) ? body : {}
    const { plan, login, sku, resetsAt, quotas, tokenBasedBilling, codex, totals, budgets, demo } = report.parse({
      ...camelKeys(wire),
      totals: wire['totals'],
    })
    const account = plan === undefined ? undefined : { login, plan, sku, tokenBasedBilling, resetsAt, quotas }
    return { account, codex, totals, budgets, demo }
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    return undefined
  }
}

/** How long to wait for a daemon that is writing. Ms. */
const waitMs = 200

export interface TotalsRead {
  readonly totals: UsageTotals
  /** Why the totals are empty. */
  readonly problem?: string
}

/**
 * The stored totals, which may lack the last seconds of a running daemon.
 * @param resetsAt end of the account's month, if known
 */
export function readTotals(file: string, nowMs: number, resetsAt: string | undefined): TotalsRead {
  const none = toTotals([], nowMs, resetsAt)
  if (!existsSync(file)) return { totals: none }
  try {
    const store = openUsageStore(file, { readOnly: true, waitMs })
    try {
      return { totals: toTotals(store.since(firstDay(nowMs)), nowMs, resetsAt) }
    } finally {
      store.close()
    }
  } catch (error) {
    if (error instanceof DatabaseError) return { totals: none, problem: error.message }
    throw error
  }
}
