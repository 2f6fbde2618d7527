import { inWords, timeInWords } from '../../upstream-errors/message.ts'
import { formatBar, shortCount, shortCredits, plural } from '../../terminal/format.ts'
import type { Output } from '../../terminal/output.ts'
import { formatPairs, formatTable } from '../../terminal/table.ts'
import type { TableColumn } from '../../terminal/table.ts'
import { visible } from '../../terminal/visible.ts'
import type { PlanUse, Quota, UsageReport } from '../../api/usage.ts'
import type { MonthTotals, Periods, SessionTotals, TotalsRow, UsageTotals } from '../../api/usage.ts'
import { addKnown } from '../../usage/tally.ts'
import { planName } from '../../api/plan-name.ts'

const barWidth = 20

/** GitHub's data about the account, in the body of `GET /usage`. */
export type Account = Pick<UsageReport, 'login' | 'token_based_billing' | 'resets_at'> & {
  readonly plan: string
  readonly quotas: readonly Quota[]
}

type PlanWindow = PlanUse['windows'][number]

/** Plan, a bar for each quota, the share of this program, and the date of the reset. */
export function accountText(
  account: Account,
  nowMs: number,
  { style }: Pick<Output, 'style'>,
  month: MonthTotals,
): string {
  const who = account.login === undefined ? '' : ` of ${visible(account.login)}`
  const head = `${style.bold(`${visible(planName(account.plan))}${who}`)}\n\n`
  if (account.quotas.length === 0) return `${head}GitHub reports no quota for this account.\n`
  const lines = account.quotas.flatMap((quota) => [
    [visible(quotaName(quota.id, account)), quotaText(quota)] as const,
    ['  through copilot-proxy', shareText(quota, account, month)] as const,
  ])
  const reset = account.resets_at === undefined ? '' : `\nResets on ${resetText(account.resets_at, nowMs)}.\n`
  return `${head}${formatPairs(lines, style)}${reset}`
}

/** `premium_interactions` counts requests or credits, depending on the billing. */
function quotaName(id: string, account: Pick<Account, 'token_based_billing'>): string {
  if (id !== 'premium_interactions') return id.replaceAll('_', ' ')
  return account.token_based_billing ? 'AI credits' : 'premium requests'
}

function quotaText(quota: Quota): string {
  const used = quota.credits_used ? `, ${round(quota.credits_used)} credits used` : ''
  if (quota.unlimited) return `unlimited${used}`
  const { entitlement, remaining, percent_remaining: percent } = quota
  const bar = percent === undefined ? '' : `${formatBar(percent / 100, barWidth)} ${Math.round(percent)} %  `
  const left =
    remaining === undefined
      ? 'unknown'
      : `${round(remaining)}${entitlement === undefined ? '' : ` of ${round(entitlement)}`} left`
  const over = quota.overage_count ? `, ${round(quota.overage_count)} over the limit` : ''
  return `${bar}${left}${used}${over}`
}

/** The share of premium interactions used by this program; '' for other quotas, and if unknown. */
function shareText(
  { id, unlimited, entitlement = 0 }: Quota,
  { token_based_billing }: Pick<Account, 'token_based_billing'>,
  { credits, premium_requests: premium, estimated, since }: MonthTotals,
): string {
  const used = token_based_billing ? credits : premium
  if (id !== 'premium_interactions' || used === null) return ''
  const isEstimate = token_based_billing && estimated
  const amount = token_based_billing ? `${shortCredits(used, estimated)} credits` : round(used)
  if (unlimited || entitlement <= 0) return `${amount} used since ${visible(since)}`
  const percent = `${isEstimate ? '~' : ''}${round((100 * used) / entitlement)} %`
  return `${formatBar(used / entitlement, barWidth)} ${percent}  ${amount} used since ${visible(since)}`
}

/** At most one decimal: GitHub counts fractions of a request. */
function round(amount: number): string {
  return String(Math.round(amount * 10) / 10)
}

function resetText(isoDate: string, nowMs: number): string {
  const days = Math.ceil((Date.parse(isoDate) - nowMs) / 86_400_000)
  const distance = days > 1 ? ` (in ${days} days)` : days === 1 ? ' (within a day)' : ''
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
  readonly by: 'model' | 'key' | 'day' | 'session'
  /** The billing of the account decides whether premium requests are shown. */
  readonly account: Pick<Account, 'token_based_billing'> | undefined
}

/**
 * Usage through copilot-proxy: a table for each period, or one by day, and the sum of the month. Omits a period with
 * as many requests as a shorter one: it has the same rows.
 */
export function totalsText(
  totals: UsageTotals,
  output: Pick<Output, 'columns' | 'style'>,
  { by, account }: TotalsOptions,
): string {
  const { by_key: byKey, by_day: byDay, by_session: bySession, month } = totals
  if (totals.last_30_days.length === 0 && month.requests === 0) {
    return 'No requests through copilot-proxy in the last 30 days.\n'
  }
  const isPremium = account?.token_based_billing === false
  const table = <Row extends TotalsRow>(title: string, first: TableColumn<Row>, rows: readonly Row[]): string => {
    const shown = [
      first,
      ...columns,
      ...(rows.some(({ credits }) => credits !== null) ? [creditsColumn] : []),
      ...(isPremium && rows.some(({ premium_requests: premium }) => premium !== null) ? [premiumColumn] : []),
    ]
    return `${output.style.bold(`${title}, through copilot-proxy`)}\n${formatTable(shown, rows, output)}`
  }
  const tables = <Row extends TotalsRow>(
    first: TableColumn<Row>,
    rowsOf: Periods<Row>,
    most = Infinity,
  ): readonly string[] => {
    const counts = new Set([0])
    return periods.flatMap(([title, period]) => {
      const requests = requestsIn(rowsOf[period])
      if (counts.has(requests)) return []
      counts.add(requests)
      return table(title, first, rowsOf[period].slice(0, most))
    })
  }
  const shown = {
    model: () => tables({ title: 'MODEL', cell: modelName }, totals),
    key: () => tables({ title: 'KEY', cell: ({ key }) => visible(key ?? '-') }, byKey),
    session: () => tables({ title: 'SESSION', cell: sessionName }, bySession, maxSessions),
    day: () => [table('Last 30 days', { title: 'DAY', cell: ({ day }) => visible(day) }, byDay)],
  }[by]()
  const isEstimated = month.estimated || byDay.some(({ estimated }) => estimated)
  return [
    ...shown,
    monthText(month, isPremium),
    ...(isEstimated ? ['~ means estimated: GitHub did not report the credits of some answers.\n'] : []),
  ].join('\n')
}

/** `claude 0196b2a4-7c1e`, and the key if there is one. */
function sessionName({ client, session, key }: SessionTotals): string {
  return visible([client ?? '-', session ?? '(no session)', ...(key === null ? [] : [key])].join(' '))
}

/** Rows of one table. */
const maxSessions = 20

function modelName({ provider, model }: UsageTotals['today'][number]): string {
  return visible(provider === 'codex' ? `codex/${model}` : model)
}

/** `This month, since 2026-11-01: 34 requests, ~12.3 credits, 5 premium requests.` */
function monthText(month: MonthTotals, isPremium: boolean): string {
  const { since, requests, credits, estimated, premium_requests: premium } = month
  const parts = [
    plural(requests, 'request'),
    ...(credits === null ? [] : [`${shortCredits(credits, estimated)} credits`]),
    ...(isPremium && premium !== null ? [`${round(premium)} premium ${premium === 1 ? 'request' : 'requests'}`] : []),
  ]
  return `This month, since ${visible(since)}: ${parts.join(', ')}.\n`
}

function requestsIn(rows: readonly TotalsRow[]): number {
  return rows.reduce((sum, { requests }) => sum + requests, 0)
}

/**
 * `premium 37 % left · resets Dec 1 · today 12 req 34k in 5k out ~1.2 credits`; without quota if the account is
 * unknown.
 * @param codex the remaining use of a ChatGPT plan; '' if unknown
 */
export function usageLine(account: Account | undefined, { today }: UsageTotals, codex = ''): string {
  const read = today.reduce((sum, row) => sum + row.input_tokens, 0)
  const written = today.reduce((sum, row) => sum + row.output_tokens, 0)
  const credits = today.reduce<number | null>((sum, row) => addKnown(sum, row.credits), null)
  const isEstimate = today.some(({ estimated }) => estimated)
  const cost = credits === null ? '' : ` ${shortCredits(credits, isEstimate)} credits`
  const parts = [
    ...(account === undefined ? [] : quotaParts(account)),
    ...(codex === '' ? [] : [codex]),
    `today ${requestsIn(today)} req ${shortCount(read)} in ${shortCount(written)} out${cost}`,
  ]
  return parts.join(' · ')
}

function quotaParts(account: Account): readonly string[] {
  const limited = account.quotas.filter((quota) => !quota.unlimited && leftOf(quota) !== undefined)
  // Using models spends this one; other plans have others.
  const quota = limited.find(({ id }) => id === 'premium_interactions') ?? limited.find(({ id }) => id === 'chat')
  if (quota === undefined) return account.quotas.length > 0 && limited.length === 0 ? ['unlimited'] : []
  const reset = account.resets_at === undefined ? [] : [`resets ${shortDate(account.resets_at)}`]
  return [`${shortNames.get(quotaName(quota.id, account)) ?? quota.id} ${leftOf(quota)} left`, ...reset]
}

const shortNames: ReadonlyMap<string, string> = new Map([
  ['premium requests', 'premium'],
  ['AI credits', 'credits'],
])

function leftOf({ percent_remaining: percent, remaining }: Quota): string | undefined {
  if (percent !== undefined) return `${Math.round(percent)} %`
  return remaining === undefined ? undefined : String(Math.round(remaining))
}

/** GitHub's months end at midnight UTC. */
function shortDate(isoDate: string): string {
  return new Date(isoDate).toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
}

/** The remaining use of a ChatGPT plan: a bar for each window, and the age of the numbers. */
export function planUseText(
  { plan, windows, reported_at }: PlanUse,
  nowMs: number,
  { style }: Pick<Output, 'style'>,
): string {
  const head = style.bold(plan === undefined ? 'Codex' : `Codex, plan ${visible(plan)}`)
  const lines = windows.map((window) => [windowName(window), windowText(window, nowMs)] as const)
  const agoSeconds = Math.max(0, Math.round((nowMs - Date.parse(reported_at)) / 1000))
  return `${head}\n\n${formatPairs(lines, style)}\nReported by OpenAI ${inWords(agoSeconds)} ago.\n`
}

/** `codex 5 h 58 % left`, of the window with the least left; '' if all have been reset. */
export function planUseLine({ windows }: PlanUse, nowMs: number): string {
  const [tightest] = windows
    .filter((window) => !hasStartedOver(window, nowMs))
    .toSorted((one, other) => other.used_percent - one.used_percent)
  return tightest === undefined ? '' : `codex ${windowName(tightest)} ${percentLeft(tightest)} % left`
}

/** `5 h`, `7 d`. */
function windowName({ minutes }: PlanWindow): string {
  return inWords(minutes * 60)
}

function windowText(window: PlanWindow, nowMs: number): string {
  if (hasStartedOver(window, nowMs)) return 'has been reset'
  const left = percentLeft(window)
  const reset = window.resets_at === undefined ? '' : `, resets at ${timeInWords(Date.parse(window.resets_at))}`
  return `${formatBar(left / 100, barWidth)} ${left} % left${reset}`
}

function hasStartedOver({ resets_at }: PlanWindow, nowMs: number): boolean {
  return resets_at !== undefined && Date.parse(resets_at) <= nowMs
}

function percentLeft({ used_percent }: PlanWindow): number {
  return Math.round(Math.max(0, 100 - used_percent))
}
