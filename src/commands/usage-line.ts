import type { CopilotAccount, Quota } from '../auth/quota.ts'
import { shortCount, shortCredits } from '../terminal/short-count.ts'
import type { UsageTotals } from '../totals/periods.ts'
import { addKnown } from '../totals/tally.ts'
import { quotaName, requestsIn } from './usage-text.ts'

/**
 * `premium 37 % left · resets Dec 1 · today 12 req 34k in 5k out ~1.2 credits`; without the account where it is not known.
 * @param codex what is left of a ChatGPT plan; '' where that is not known
 */
export function usageLine(account: CopilotAccount | undefined, { today }: UsageTotals, codex = ''): string {
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

function quotaParts(account: CopilotAccount): readonly string[] {
  const limited = account.quotas.filter((quota) => !quota.unlimited && leftOf(quota) !== undefined)
  // The one that is spent by using models; other plans have others.
  const quota = limited.find(({ id }) => id === 'premium_interactions') ?? limited.find(({ id }) => id === 'chat')
  if (quota === undefined) return account.quotas.length > 0 && limited.length === 0 ? ['unlimited'] : []
  const reset = account.resetsAt === undefined ? [] : [`resets ${shortDate(account.resetsAt)}`]
  return [`${shortNames.get(quotaName(quota.id, account)) ?? quota.id} ${leftOf(quota)} left`, ...reset]
}

const shortNames: ReadonlyMap<string, string> = new Map([
  ['premium requests', 'premium'],
  ['AI credits', 'credits'],
])

function leftOf({ percentRemaining: percent, remaining }: Quota): string | undefined {
  if (percent !== undefined) return `${Math.round(percent)} %`
  return remaining === undefined ? undefined : String(Math.round(remaining))
}

/** GitHub's months end at midnight UTC. */
function shortDate(isoDate: string): string {
  return new Date(isoDate).toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
}
