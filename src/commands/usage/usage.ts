import type { PlanUse } from '../../auth/codex/plan-use.ts'
import { fetchCopilotUser, isDirectKind } from '../../auth/copilot/github-api.ts'
import type { CopilotAccount } from '../../auth/copilot/quota.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import { visibleLines } from '../../terminal/visible.ts'
import type { UsageTotals } from '../../api/usage.ts'
import { describeFailure, githubApi, requireLogin } from '../shared/accounts.ts'
import { hasCodexLogin, readCodexState } from '../shared/codex-login.ts'
import { CommandFailure, exitCode, isNotLoggedIn, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, UsageFlags } from '../shared/command.ts'
import { KeyRefused, returnMissingKey } from '../shared/find-daemon.ts'
import { planName } from '../shared/plan-name.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { budgetsText } from './budgets-text.ts'
import { askUsage, readTotals } from './fetch-usage.ts'
import type { DaemonUsage, TotalsRead } from './fetch-usage.ts'
import { planUseLine, planUseText, usageLine, accountText, totalsText } from './usage-text.ts'

/** For a daemon that has to ask GitHub first. Ms. */
const daemonTimeoutMs = 5000
/** For a status line, which needs an answer within a second. Ms. */
const lineTimeoutMs = 500

/** Shows the remaining quota of this month, and the usage through copilot-proxy. */
export async function usage(context: CommandContext, flags: UsageFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  if (flags.line) return printLine(context, settings)
  const asked = await askUsage(context, settings, daemonTimeoutMs).catch(returnMissingKey)
  const keyRefused = asked instanceof KeyRefused ? asked : undefined
  const fromDaemon = asked instanceof KeyRefused ? undefined : asked
  context.signal.throwIfAborted()
  const { account, failure: ownFailure }: Fetched = fromDaemon?.account
    ? { account: fromDaemon.account }
    : await fetchAccount(context, settings)
  // A login of this user replaces the daemon's key.
  const failure = isNotLoggedIn(ownFailure) ? (keyRefused ?? ownFailure) : ownFailure
  const { totals, problem }: TotalsRead = fromDaemon?.totals
    ? { totals: fromDaemon.totals }
    : readTotals(settings.usageFile, context.now(), account?.resetsAt)
  if (problem !== undefined) context.stderr.write(visibleLines(`Note: ${problem}\n`))
  const codex = fromDaemon?.codex
  const budgets = fromDaemon?.budgets ?? []
  // Without anything to show, only the failure is reported.
  if (failure !== undefined && codex === undefined && totals.last_30_days.length === 0) throw failure
  if (flags.json)
    writeJson(context, usageDocument({ account, codex, budgets, demo: fromDaemon?.demo ?? false }, totals))
  else {
    const { stdout } = context
    const simulated = fromDaemon?.demo ? 'copilot-proxy runs with --demo, so the quota is simulated.\n\n' : ''
    const quota = account === undefined ? '' : `${accountText(account, context.now(), stdout, totals.month)}\n`
    const plan = codex === undefined ? '' : `${planUseText(codex, context.now(), stdout)}\n`
    const own = budgets.length === 0 ? '' : `${budgetsText(budgets, stdout)}\n`
    stdout.write(`${simulated}${quota}${plan}${own}${totalsText(totals, stdout, { by: flags.by, account })}`)
  }
  if (failure !== undefined) throw failure
  return exitCode.done
}

/** Asks only the running daemon, so that status lines can call it every few seconds. */
async function printLine(context: CommandContext, settings: LoadedSettings): Promise<ExitCode> {
  const fromDaemon = await askUsage(context, settings, lineTimeoutMs).catch(ignoreWrongKey)
  const totals =
    fromDaemon?.totals ?? readTotals(settings.usageFile, context.now(), fromDaemon?.account?.resetsAt).totals
  const codex = fromDaemon?.codex && planUseLine(fromDaemon.codex, context.now())
  context.stdout.write(`${usageLine(fromDaemon?.account, totals, codex)}\n`)
  return exitCode.done
}

/** A status line shows the stored totals instead. */
function ignoreWrongKey(error: unknown): undefined {
  if (!(error instanceof CommandFailure)) throw error
}

interface Fetched {
  /** Undefined without a failure for a login to Codex alone, and for a token whose quota GitHub does not report. */
  readonly account?: CopilotAccount
  readonly failure?: CommandFailure | RecordStoreError
}

/** @throws the signal's reason on abort */
async function fetchAccount(context: CommandContext, settings: LoadedSettings): Promise<Fetched> {
  try {
    const login = await requireLogin(context, settings)
    const api = githubApi(context, settings, login)
    const answer = await fetchCopilotUser(api, login.githubToken, context.signal)
    if (answer.kind === 'ok') return { account: answer.account }
    context.signal.throwIfAborted()
    if (answer.kind === 'not_available' && isDirectKind(login.githubToken)) {
      // Not a failure: GitHub never reports the quota of such a login.
      context.stderr.write(`Note: ${describeFailure(answer)}\n`)
      return {}
    }
    return { failure: new CommandFailure(exitCode.failed, describeFailure(answer)) }
  } catch (error) {
    if (!(error instanceof CommandFailure || error instanceof RecordStoreError)) throw error
    return isNotLoggedIn(error) && hasCodexLogin(await readCodexState(context, settings)) ? {} : { failure: error }
  }
}

function usageDocument({ account, codex, budgets, demo }: Omit<DaemonUsage, 'totals'>, totals: UsageTotals): object {
  return {
    account: account?.login ?? null,
    plan: account?.plan ?? null,
    plan_name: account === undefined ? null : planName(account.plan),
    sku: account?.sku ?? null,
    token_based_billing: account?.tokenBasedBilling ?? null,
    resets_at: account?.resetsAt ?? null,
    quotas: (account?.quotas ?? []).map((quota) => ({
      id: quota.id,
      unlimited: quota.unlimited,
      entitlement: quota.entitlement ?? null,
      remaining: quota.remaining ?? null,
      percent_remaining: quota.percentRemaining ?? null,
      credits_used: quota.creditsUsed ?? null,
      overage_count: quota.overageCount ?? null,
      overage_permitted: quota.overagePermitted ?? null,
    })),
    codex: codex === undefined ? null : codexDocument(codex),
    budgets,
    totals,
    demo,
  }
}

function codexDocument({ plan, windows, reportedAt }: PlanUse): object {
  return {
    plan: plan ?? null,
    windows: windows.map(({ usedPercent, minutes, resetsAt }) => ({
      minutes,
      percent_remaining: Math.max(0, 100 - usedPercent),
      resets_at: resetsAt ?? null,
    })),
    reported_at: reportedAt,
  }
}
