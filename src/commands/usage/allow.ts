import { allowance } from '../../api/usage.ts'
import { exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, ReportFlags } from '../shared/command.ts'
import { loadSettings } from '../shared/settings.ts'
import { askRoute, requireOwnedDaemon } from '../shared/view.ts'
import { budgetsText } from './budgets-text.ts'

/** Lifts the budgets of `usage.credits-per-day` and `-per-month` until midnight. */
export async function usageAllow(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const daemon = await requireOwnedDaemon(context, settings)
  const allowed = await askRoute(context, daemon, '/usage/allow', allowance, { method: 'POST' })
  const { budgets } = allowed
  if (flags.json) writeJson(context, allowed)
  else if (budgets.length === 0) {
    context.stdout.write(
      'No budget is set, so nothing was refused. To set one: copilot-proxy config set usage.credits-per-day 100\n',
    )
  } else {
    context.stdout.write(
      `Your budgets are lifted until midnight. The limits of keys stay.\n${budgetsText(budgets, context.stdout)}`,
    )
  }
  return exitCode.done
}
