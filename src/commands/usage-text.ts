import type { CopilotAccount, Quota } from '../auth/quota.ts'
import type { Output } from '../terminal/output.ts'
import { formatBar } from '../terminal/shapes.ts'
import { shortCount } from '../terminal/short-count.ts'
import { formatPairs, formatTable } from '../terminal/table.ts'
import type { TableColumn } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'
import type { ModelTotals, UsageTotals } from '../totals/periods.ts'
import { planName } from './plan-name.ts'

const barWidth = 20

/** Plan, a bar for each quota, and when the month's numbers start over. */
export function accountText(account: CopilotAccount, nowMs: number, { style }: Pick<Output, 'style'>): string {
  const who = account.login === undefined ? '' : ` of ${visible(account.login)}`
  const head = `${style.bold(`${visible(planName(account.plan))}${who}`)}\n\n`
  if (account.quotas.length === 0) return `${head}GitHub names no quota for this account.\n`
  const lines = account.quotas.map((quota) => [visible(quotaName(quota.id, account)), quotaText(quota)] as const)
  const reset = account.resetsAt === undefined ? '' : `\nStarts over on ${resetText(account.resetsAt, nowMs)}.\n`
  return `${head}${formatPairs(lines, style)}${reset}`
}

/** What `premium_interactions` counts depends on how the account is billed. */
export function quotaName(id: string, account: Pick<CopilotAccount, 'tokenBasedBilling'>): string {
  if (id !== 'premium_interactions') return id.replaceAll('_', ' ')
  return account.tokenBasedBilling ? 'AI credits' : 'premium requests'
}

function quotaText(quota: Quota): string {
  const used = quota.creditsUsed ? `, ${round(quota.creditsUsed)} credits used` : ''
  if (quota.unlimited) return `unlimited${used}`
  const { entitlement, remaining, percentRemaining: percent } = quota
  const bar = percent === undefined ? '' : `${formatBar(percent / 100, barWidth)} ${Math.round(percent)} %  `
  const left =
    remaining === undefined
      ? 'not told'
      : `${round(remaining)}${entitlement === undefined ? '' : ` of ${round(entitlement)}`} left`
  const over = quota.overageCount ? `, ${round(quota.overageCount)} beyond it` : ''
  return `${bar}${left}${used}${over}`
}

/** One decimal at most: GitHub counts in fractions of a request. */
function round(amount: number): string {
  return String(Math.round(amount * 10) / 10)
}

function resetText(isoDate: string, nowMs: number): string {
  const days = Math.ceil((Date.parse(isoDate) - nowMs) / 86_400_000)
  const distance = days > 1 ? ` (in ${days} days)` : days === 1 ? ' (tomorrow or sooner)' : ''
  return `${isoDate.slice(0, 10)}${distance}`
}

const columns: readonly TableColumn<ModelTotals>[] = [
  { title: 'MODEL', cell: ({ provider, model }) => visible(provider === 'codex' ? `codex/${model}` : model) },
  { title: 'REQUESTS', cell: ({ requests }) => String(requests), align: 'right' },
  { title: 'ERRORS', cell: ({ errors }) => (errors === 0 ? '' : String(errors)), align: 'right' },
  { title: 'TOKENS IN', cell: ({ input_tokens: tokens }) => shortCount(tokens), align: 'right' },
  {
    title: 'CACHED',
    cell: ({ cached_input_tokens: tokens }) => (tokens === 0 ? '' : shortCount(tokens)),
    align: 'right',
  },
  { title: 'TOKENS OUT', cell: ({ output_tokens: tokens }) => shortCount(tokens), align: 'right' },
]

const periods = [
  ['Today', 'today'],
  ['Last 7 days', 'last_7_days'],
  ['Last 30 days', 'last_30_days'],
] as const satisfies readonly (readonly [title: string, period: keyof UsageTotals])[]

/** What went through copilot-proxy, a table for each period; one that holds no more than the one before is left out. */
export function totalsText(totals: UsageTotals, output: Pick<Output, 'columns' | 'style'>): string {
  if (totals.last_30_days.length === 0) return 'No request has gone through copilot-proxy in the last 30 days.\n'
  let shown = 0
  return periods
    .flatMap(([title, period]) => {
      const requests = requestsIn(totals[period])
      if (requests === shown) return []
      shown = requests
      return `${output.style.bold(`${title}, through copilot-proxy`)}\n${formatTable(columns, totals[period], output)}`
    })
    .join('\n')
}

export function requestsIn(rows: readonly ModelTotals[]): number {
  return rows.reduce((sum, { requests }) => sum + requests, 0)
}
