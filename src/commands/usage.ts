import { fetchCopilotUser } from '../auth/github-api.ts'
import type { CopilotAccount, Quota } from '../auth/quota.ts'
import type { Output } from '../terminal/output.ts'
import { formatBar } from '../terminal/shapes.ts'
import { formatPairs } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { ReportFlags } from './flags.ts'
import { describeFailure, githubApi, requireLogin } from './account.ts'
import { planName } from './plan-name.ts'
import { loadSettings } from './settings.ts'
import { writeJson } from './write-json.ts'

const barWidth = 20

/** Shows what GitHub says is left of this month's quota. */
export async function usage(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const login = await requireLogin(context, settings)
  const api = githubApi(context, settings, login)
  const answer = await fetchCopilotUser(api, login.githubToken, context.signal)
  if (answer.kind === 'aborted') return exitCode.interrupted
  if (answer.kind !== 'ok') throw new CommandFailure(exitCode.failed, describeFailure(answer))
  if (flags.json) writeJson(context, usageDocument(answer.account))
  else context.stdout.write(usageText(answer.account, context.now(), context.stdout))
  return exitCode.done
}

function usageText(account: CopilotAccount, nowMs: number, { style }: Pick<Output, 'style'>): string {
  const who = account.login === undefined ? '' : ` of ${visible(account.login)}`
  const head = `${style.bold(`${visible(planName(account.plan))}${who}`)}\n\n`
  if (account.quotas.length === 0) return `${head}GitHub names no quota for this account.\n`
  const lines = account.quotas.map((quota) => [visible(quotaName(quota.id, account)), quotaText(quota)] as const)
  const reset = account.resetsAt === undefined ? '' : `\nStarts over on ${resetText(account.resetsAt, nowMs)}.\n`
  return `${head}${formatPairs(lines, style)}${reset}`
}

function quotaName(id: string, account: CopilotAccount): string {
  if (id !== 'premium_interactions') return id.replaceAll('_', ' ')
  return account.tokenBasedBilling ? 'AI credits' : 'premium requests'
}

function quotaText(quota: Quota): string {
  if (quota.unlimited) return 'unlimited'
  const { entitlement, remaining, percentRemaining: percent } = quota
  const bar = percent === undefined ? '' : `${formatBar(percent / 100, barWidth)} ${Math.round(percent)} %  `
  const left =
    remaining === undefined
      ? 'not told'
      : `${round(remaining)}${entitlement === undefined ? '' : ` of ${round(entitlement)}`} left`
  const over = quota.overageCount ? `, ${round(quota.overageCount)} beyond it` : ''
  return `${bar}${left}${over}`
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

function usageDocument(account: CopilotAccount): object {
  return {
    account: account.login ?? null,
    plan: account.plan,
    plan_name: planName(account.plan),
    sku: account.sku ?? null,
    token_based_billing: account.tokenBasedBilling,
    resets_at: account.resetsAt ?? null,
    quotas: account.quotas.map((quota) => ({
      id: quota.id,
      unlimited: quota.unlimited,
      entitlement: quota.entitlement ?? null,
      remaining: quota.remaining ?? null,
      percent_remaining: quota.percentRemaining ?? null,
      credits_used: quota.creditsUsed ?? null,
      overage_count: quota.overageCount ?? null,
      overage_permitted: quota.overagePermitted ?? null,
    })),
  }
}
