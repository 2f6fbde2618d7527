import { z } from 'zod'
import type { PlanUse } from '../auth/codex/plan-use.ts'
import type { CopilotAccount } from '../auth/quota.ts'
import type { UsageTotals } from '../totals/periods.ts'
import { findCallerKey } from './caller-key.ts'
import type { CommandContext } from './context.ts'
import { findDaemon } from './find-daemon.ts'
import type { LoadedSettings } from './settings.ts'

const count = z.number().catch(0)
const known = z.number().nullable().catch(null)
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
const keyTotals = z.array(row.extend({ key: z.string().nullable() }))

/** Answer of `GET /usage?partial=true`. Of another version's, what is not as expected is left out. */
const report = z.object({
  login: z.string().optional().catch(undefined),
  plan: z.string().optional().catch(undefined),
  sku: z.string().optional().catch(undefined),
  tokenBasedBilling: z.boolean().catch(false),
  resetsAt: z.iso.datetime().optional().catch(undefined),
  quotas: z
    .array(
      z.object({
        id: z.string(),
        unlimited: z.boolean().catch(false),
        entitlement: z.number().optional().catch(undefined),
        remaining: z.number().optional().catch(undefined),
        percentRemaining: z.number().optional().catch(undefined),
        creditsUsed: z.number().optional().catch(undefined),
        overageCount: z.number().optional().catch(undefined),
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
      toldAt: z.iso.datetime(),
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
      by_day: z.array(row.extend({ day: z.string() })),
      month: row.extend({ since: z.string() }),
    })
    .optional()
    .catch(undefined),
  demo: z.boolean().catch(false),
})

export interface DaemonUsage {
  /** Of the ChatGPT plan; undefined where no answer has told yet. */
  readonly codex: PlanUse | undefined
  /** Undefined where the daemon could not ask for it. */
  readonly account: CopilotAccount | undefined
  /** Undefined where the daemon is of a version that counts otherwise; what is stored tells as much. */
  readonly totals: UsageTotals | undefined
  /** It answers from the simulated Copilot. */
  readonly demo: boolean
}

/** What the running daemon knows of quota and usage; undefined where none answers, or not in time. */
export async function askUsage(
  context: CommandContext,
  settings: LoadedSettings,
  timeoutMs: number,
): Promise<DaemonUsage | undefined> {
  const { url, health } = await findDaemon(context, settings, { timeoutMs: Math.min(timeoutMs, 1000) })
  if (health === undefined) return undefined
  const key = findCallerKey(context, settings.config)?.key
  try {
    const response = await context.fetch(`${url}/usage?partial=true`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      redirect: 'error',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]),
    })
    if (!response.ok) return undefined
    const said = report.parse(await response.json())
    const { plan, login, sku, resetsAt, quotas, tokenBasedBilling, codex, totals, demo } = said
    const account = plan === undefined ? undefined : { login, plan, sku, tokenBasedBilling, resetsAt, quotas }
    return { account, codex, totals, demo }
  } catch {
    return undefined
  }
}
