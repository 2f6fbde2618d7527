import type { Budget } from '../../api/usage.ts'
import { formatBar, shortCredits } from '../../terminal/format.ts'
import type { Output } from '../../terminal/output.ts'
import { formatPairs } from '../../terminal/table.ts'

const barWidth = 20

const stateTexts = {
  ok: '',
  warning: ', nearly used up',
  spent: ', used up: requests are refused. To go on today, run: copilot-proxy usage allow',
  lifted: ', lifted until midnight',
} as const satisfies Record<Budget['state'], string>

/** A bar for each budget; '' without one. */
export function budgetsText(budgets: readonly Budget[], { style }: Pick<Output, 'style'>): string {
  const lines = budgets.map(({ period, limit, used, state }) => {
    const share = `${formatBar(used / limit, barWidth)} ${Math.floor((100 * used) / limit)} %`
    const amount = `${shortCredits(used, false)} of ${shortCredits(limit, false)} credits used`
    return [
      `budget for ${period === 'day' ? 'today' : 'this month'}`,
      `${share}  ${amount}${stateTexts[state]}`,
    ] as const
  })
  return lines.length === 0 ? '' : formatPairs(lines, style)
}
