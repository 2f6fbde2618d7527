import { usageReport } from '../../api/usage.ts'
import type { UsageReport } from '../../api/usage.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { loginAdvice } from '../shared/accounts.ts'
import { findLogins } from '../shared/logins.ts'
import { CommandFailure, exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, UsageFlags } from '../shared/command.ts'
import { loadSettings } from '../shared/settings.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { openDaemonView, openView } from '../shared/view.ts'
import type { DaemonView } from '../shared/view.ts'
import { budgetsText } from './budgets-text.ts'
import { planUseLine, planUseText, usageLine, accountText, totalsText } from './usage-text.ts'
import type { Account } from './usage-text.ts'

/** For a status line, which needs an answer within a second. Ms. */
const lineTimeoutMs = 500

/** Shows the remaining quota of this month, and the usage through copilot-proxy. */
export async function usage(context: CommandContext, flags: UsageFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  if (flags.line) return printLine(context, settings)
  const view = await openView(context, settings)
  try {
    const report = await view.get('/usage?partial=true', usageReport)
    const failure = await failureOf(context, settings, view, report)
    // Without anything to show, only the failure is reported.
    if (failure !== undefined && report.codex === undefined && report.totals.last_30_days.length === 0) throw failure
    if (flags.json) writeJson(context, report)
    else context.stdout.write(usageText(context, report, flags.by))
    if (failure !== undefined) throw failure
    return exitCode.done
  } finally {
    await view.close()
  }
}

function usageText({ stdout, now }: CommandContext, report: UsageReport, by: UsageFlags['by']): string {
  const { codex, budgets = [], totals, demo } = report
  const account = accountOf(report)
  const simulated = demo ? 'copilot-proxy runs with --demo, so the quota is simulated.\n\n' : ''
  const quota = account === undefined ? '' : `${accountText(account, now(), stdout, totals.month)}\n`
  const plan = codex === undefined ? '' : `${planUseText(codex, now(), stdout)}\n`
  const own = budgets.length === 0 ? '' : `${budgetsText(budgets, stdout)}\n`
  return `${simulated}${quota}${plan}${own}${totalsText(totals, stdout, { by, account })}`
}

/** Undefined if it is unknown. */
function accountOf({ plan, quotas = [], ...report }: UsageReport): Account | undefined {
  return plan === undefined ? undefined : { ...report, plan, quotas }
}

/** Why the account is unknown, unless that is no failure: GitHub never reports it to some logins, and Codex has none. */
async function failureOf(
  context: CommandContext,
  settings: LoadedSettings,
  view: DaemonView,
  { problem, problem_code: code }: UsageReport,
): Promise<CommandFailure | undefined> {
  if (problem === undefined) return undefined
  if (code === undefined) {
    context.stderr.write(visibleLines(`Note: ${problem}\n`))
    return undefined
  }
  const logins = await findLogins(context, settings, { isReadOnly: true }).catch((error: unknown) => {
    if (error instanceof CommandFailure || error instanceof RecordStoreError) return error
    throw error
  })
  if (logins instanceof Error) return new CommandFailure(exitCode.failed, logins.message)
  if (logins.length === 0) return view.refusal() ?? new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  return logins.includes('copilot') ? new CommandFailure(exitCode.failed, problem) : undefined
}

/** Asks only the running daemon, so that status lines can call it every few seconds. */
async function printLine(context: CommandContext, settings: LoadedSettings): Promise<ExitCode> {
  const report = (await askDaemon(context, settings)) ?? (await readStored(context, settings))
  const codex = report.codex && planUseLine(report.codex, context.now())
  context.stdout.write(`${usageLine(accountOf(report), report.totals, codex)}\n`)
  return exitCode.done
}

/** Undefined if no daemon answers in time, with a report of this version. */
async function askDaemon(context: CommandContext, settings: LoadedSettings): Promise<UsageReport | undefined> {
  const view = await openDaemonView(context, settings, lineTimeoutMs)
  return view?.get('/usage?partial=true', usageReport, { timeoutMs: lineTimeoutMs }).catch((error: unknown) => {
    if (!(error instanceof CommandFailure)) throw error
    return undefined
  })
}

async function readStored(context: CommandContext, settings: LoadedSettings): Promise<UsageReport> {
  const { createLocalView } = await import('../shared/local-view.ts')
  const view = createLocalView(context, settings)
  try {
    return await view.get('/usage?account=false', usageReport)
  } finally {
    await view.close()
  }
}
