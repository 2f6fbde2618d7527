import type { CopilotAccount, Quota } from '../auth/quota.ts'
import type { Output } from '../terminal/output.ts'
import { formatBar } from '../terminal/shapes.ts'
import { shortCount, shortCredits } from '../terminal/short-count.ts'
import { formatPairs, formatTable } from '../terminal/table.ts'
import type { TableColumn } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'
import type { MonthTotals, Periods, TotalsRow, UsageTotals } from '../totals/periods.ts'
import { planName } from './plan-name.ts'

const barWidth = 20

/** Plan, a bar for each quota, what part of it went through here, and when the month's numbers start over. */
export function accountText(
  account: CopilotAccount,
  nowMs: number,
  { style }: Pick<Output, 'style'>,
  month: MonthTotals,
): string {
  const who = account.login === undefined ? '' : ` of ${visible(account.login)}`
  const head = `${style.bold(`${visible(planName(account.plan))}${who}`)}\n\n`
  if (account.quotas.length === 0) return `${head}GitHub names no quota for this account.\n`
  const lines = account.quotas.flatMap((quota) => [
    [visible(quotaName(quota.id, account)), quotaText(quota)] as const,
    ['  through copilot-proxy', shareText(quota, account, month)] as const,
  ])
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

/** Of the quota that using models spends, what was spent here; '' for others, and where it is not known. */
function shareText(
  { id, unlimited, entitlement = 0 }: Quota,
  { tokenBasedBilling }: Pick<CopilotAccount, 'tokenBasedBilling'>,
  { credits, premium_requests: premium, estimated, since }: MonthTotals,
): string {
  const used = tokenBasedBilling ? credits : premium
  if (id !== 'premium_interactions' || used === null) return ''
  const isEstimate = tokenBasedBilling && estimated
  const amount = tokenBasedBilling ? `${shortCredits(used, estimated)} credits` : round(used)
  if (unlimited || entitlement <= 0) return `${amount} used since ${visible(since)}`
  const percent = `${isEstimate ? '~' : ''}${round((100 * used) / entitlement)} %`
  return `${formatBar(used / entitlement, barWidth)} ${percent}  ${amount} used since ${visible(since)}`
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

const columns: readonly TableColumn<TotalsRow>[] = [
  { title: 'REQUESTS', cell: ({ requests }) => String(requests), align: 'right' },
  { title: 'ERRORS', cell: ({ errors }) => (errors === 0 ? '' : String(errors)), align: 'right' },
  { title: 'TOKENS IN', cell: ({ input_tokens: tokens }) => shortCount(tokens), align: 'right' },
  {
    title: 'CACHED %',
    cell: ({ cache_hit_rate: rate }) => (rate === null ? '' : String(Math.round(100 * rate))),
    align: 'right',
  },
  { title: 'TOKENS OUT', cell: ({ output_tokens: tokens }) => shortCount(tokens), align: 'right' },
]

const creditsColumn: TableColumn<TotalsRow> = {
  title: 'CREDITS',
  cell: ({ credits, estimated }) => (credits === null ? '' : shortCredits(credits, estimated)),
  align: 'right',
}

const premiumColumn: TableColumn<TotalsRow> = {
  title: 'PREMIUM',
  cell: ({ premium_requests: premium }) => (premium === null ? '' : round(premium)),
  align: 'right',
}

const periods = [
  ['Today', 'today'],
  ['Last 7 days', 'last_7_days'],
  ['This month', 'month_to_date'],
  ['Last 30 days', 'last_30_days'],
] as const satisfies readonly (readonly [title: string, period: keyof Periods<TotalsRow>])[]

interface TotalsOptions {
  readonly by: 'model' | 'key' | 'day'
  /** Whose billing decides whether premium requests are shown. */
  readonly account: Pick<CopilotAccount, 'tokenBasedBilling'> | undefined
}

/**
 * What went through copilot-proxy: a table for each period, one of days alone, and the sums of the month. A period that
 * has as many requests as one before is the same, and left out.
 */
export function totalsText(
  totals: UsageTotals,
  output: Pick<Output, 'columns' | 'style'>,
  { by, account }: TotalsOptions,
): string {
  const { by_key: byKey, by_day: byDay, month } = totals
  if (totals.last_30_days.length === 0 && month.requests === 0) {
    return 'No request has gone through copilot-proxy in the last 30 days.\n'
  }
  const isPremium = account?.tokenBasedBilling === false
  const table = <Row extends TotalsRow>(title: string, first: TableColumn<Row>, rows: readonly Row[]): string => {
    const shown = [
      first,
      ...columns,
      ...(rows.some(({ credits }) => credits !== null) ? [creditsColumn] : []),
      ...(isPremium && rows.some(({ premium_requests: premium }) => premium !== null) ? [premiumColumn] : []),
    ]
    return `${output.style.bold(`${title}, through copilot-proxy`)}\n${formatTable(shown, rows, output)}`
  }
  const tables = <Row extends TotalsRow>(first: TableColumn<Row>, rowsOf: Periods<Row>): readonly string[] => {
    const counts = new Set([0])
    return periods.flatMap(([title, period]) => {
      const requests = requestsIn(rowsOf[period])
      if (counts.has(requests)) return []
      counts.add(requests)
      return table(title, first, rowsOf[period])
    })
  }
  const shown = {
    model: () => tables({ title: 'MODEL', cell: modelName }, totals),
    key: () => tables({ title: 'KEY', cell: ({ key }) => visible(key ?? '-') }, byKey),
    day: () => [table('Last 30 days', { title: 'DAY', cell: ({ day }) => visible(day) }, byDay)],
  }[by]()
  const isEstimated = month.estimated || byDay.some(({ estimated }) => estimated)
  return [
    ...shown,
    monthText(month, isPremium),
    ...(isEstimated ? ['~ GitHub stated no credits with some answers: these are reckoned from prices.\n'] : []),
  ].join('\n')
}

function modelName({ provider, model }: UsageTotals['today'][number]): string {
  return visible(provider === 'codex' ? `codex/${model}` : model)
}

/** `This month, since 2026-11-01: 34 requests, ~12.3 credits, 5 premium requests.` */
function monthText(month: MonthTotals, isPremium: boolean): string {
  const { since, requests, credits, estimated, premium_requests: premium } = month
  const parts = [
    `${requests} ${requests === 1 ? 'request' : 'requests'}`,
    ...(credits === null ? [] : [`${shortCredits(credits, estimated)} credits`]),
    ...(isPremium && premium !== null ? [`${round(premium)} premium ${premium === 1 ? 'request' : 'requests'}`] : []),
  ]
  return `This month, since ${visible(since)}: ${parts.join(', ')}.\n`
}

export function requestsIn(rows: readonly TotalsRow[]): number {
  return rows.reduce((sum, { requests }) => sum + requests, 0)
}
