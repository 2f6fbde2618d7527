import type { PlanUse } from '../auth/codex/plan-use.ts'
import { fetchCopilotUser, isDirectKind } from '../auth/github-api.ts'
import type { CopilotAccount } from '../auth/quota.ts'
import { RecordStoreError } from '../auth/record-fs.ts'
import { visibleLines } from '../terminal/visible.ts'
import type { UsageTotals } from '../totals/periods.ts'
import { describeFailure, githubApi, requireLogin } from './account.ts'
import { askUsage } from './ask-usage.ts'
import { hasCodexLogin, readCodexState } from './codex-status.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { UsageFlags } from './flags.ts'
import { planName } from './plan-name.ts'
import { planUseLine, planUseText } from './plan-use-text.ts'
import { readTotals } from './read-totals.ts'
import type { TotalsRead } from './read-totals.ts'
import { loadSettings } from './settings.ts'
import type { LoadedSettings } from './settings.ts'
import { usageLine } from './usage-line.ts'
import { accountText, totalsText } from './usage-text.ts'
import { writeJson } from './write-json.ts'

/** For a daemon that has to ask GitHub first. Ms. */
const daemonTimeoutMs = 5000
/** For a status line, which must be there within a second: what is not known by then is left out. Ms. */
const lineTimeoutMs = 500

/** Shows what is left of this month's quota, and what went through copilot-proxy. */
export async function usage(context: CommandContext, flags: UsageFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  if (flags.line) return printLine(context, settings)
  const ofDaemon = await askUsage(context, settings, daemonTimeoutMs)
  context.signal.throwIfAborted()
  const { account, failure } = ofDaemon?.account ? { account: ofDaemon.account } : await fetchAccount(context, settings)
  const { totals, problem }: TotalsRead = ofDaemon?.totals
    ? { totals: ofDaemon.totals }
    : readTotals(settings.usageFile, context.now(), account?.resetsAt)
  if (problem !== undefined) context.stderr.write(visibleLines(`Note: ${problem}\n`))
  const codex = ofDaemon?.codex
  // Where there is nothing to show, the failure is all.
  if (failure !== undefined && codex === undefined && totals.last_30_days.length === 0) throw failure
  if (flags.json) writeJson(context, usageDocument({ account, codex, totals, demo: ofDaemon?.demo ?? false }))
  else {
    const { stdout } = context
    const simulated = ofDaemon?.demo ? 'The daemon answers from a simulated Copilot (--demo).\n\n' : ''
    const quota = account === undefined ? '' : `${accountText(account, context.now(), stdout, totals.month)}\n`
    const plan = codex === undefined ? '' : `${planUseText(codex, context.now(), stdout)}\n`
    stdout.write(`${simulated}${quota}${plan}${totalsText(totals, stdout, { by: flags.by, account })}`)
  }
  if (failure !== undefined) throw failure
  return exitCode.done
}

/** Asks the running daemon and nobody else, so that it can be called every few seconds. */
async function printLine(context: CommandContext, settings: LoadedSettings): Promise<ExitCode> {
  const ofDaemon = await askUsage(context, settings, lineTimeoutMs)
  const totals = ofDaemon?.totals ?? readTotals(settings.usageFile, context.now(), ofDaemon?.account?.resetsAt).totals
  context.stdout.write(`${usageLine(ofDaemon?.account, totals, codexPart(ofDaemon?.codex, context.now()))}\n`)
  return exitCode.done
}

type Fetched =
  /** Somebody is logged in to Codex alone, or with a token that GitHub tells nothing to. */
  | { readonly account?: never; readonly failure?: never }
  | { readonly account: CopilotAccount; readonly failure?: never }
  | { readonly account?: never; readonly failure: CommandFailure | RecordStoreError }

/** @throws the signal's reason on abort */
async function fetchAccount(context: CommandContext, settings: LoadedSettings): Promise<Fetched> {
  try {
    const login = await requireLogin(context, settings)
    const api = githubApi(context, settings, login)
    const answer = await fetchCopilotUser(api, login.githubToken, context.signal)
    if (answer.kind === 'ok') return { account: answer.account }
    context.signal.throwIfAborted()
    if (answer.kind === 'not_available' && isDirectKind(login.githubToken)) {
      // Nothing is wrong: such a login never sees its quota.
      context.stderr.write(`Note: ${describeFailure(answer)}\n`)
      return {}
    }
    return { failure: new CommandFailure(exitCode.failed, describeFailure(answer)) }
  } catch (error) {
    if (isNoLogin(error) && hasCodexLogin(await readCodexState(context, settings))) return {}
    if (error instanceof CommandFailure || error instanceof RecordStoreError) return { failure: error }
    throw error
  }
}

function isNoLogin(error: unknown): boolean {
  return error instanceof CommandFailure && error.exitCode === exitCode.notLoggedIn
}

function codexPart(use: PlanUse | undefined, nowMs: number): string {
  return use === undefined ? '' : planUseLine(use, nowMs)
}

interface Known {
  readonly account: CopilotAccount | undefined
  readonly codex: PlanUse | undefined
  readonly totals: UsageTotals
  readonly demo: boolean
}

function usageDocument({ account, codex, totals, demo }: Known): object {
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
    totals,
    demo,
  }
}

function codexDocument({ plan, windows, toldAt }: PlanUse): object {
  return {
    plan: plan ?? null,
    windows: windows.map(({ usedPercent, minutes, resetsAt }) => ({
      minutes,
      percent_remaining: Math.max(0, 100 - usedPercent),
      resets_at: resetsAt ?? null,
    })),
    told_at: toldAt,
  }
}
