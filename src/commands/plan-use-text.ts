import type { PlanUse, PlanWindow } from '../auth/codex/plan-use.ts'
import { inWords, timeInWords } from '../executors/reset-words.ts'
import type { Output } from '../terminal/output.ts'
import { formatBar } from '../terminal/shapes.ts'
import { formatPairs } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'

const barWidth = 20

/** What is left of a ChatGPT plan, a bar for each of its windows, and when that was. */
export function planUseText(
  { plan, windows, toldAt }: PlanUse,
  nowMs: number,
  { style }: Pick<Output, 'style'>,
): string {
  const head = style.bold(plan === undefined ? 'Codex' : `Codex, plan ${visible(plan)}`)
  const lines = windows.map((window) => [windowName(window), windowText(window, nowMs)] as const)
  const agoSeconds = Math.max(0, Math.round((nowMs - Date.parse(toldAt)) / 1000))
  return `${head}\n\n${formatPairs(lines, style)}\nAs OpenAI said with an answer ${inWords(agoSeconds)} ago.\n`
}

/** `codex 5 h 58 % left`, of the window with the least left; '' where all of them have started over. */
export function planUseLine({ windows }: PlanUse, nowMs: number): string {
  const [tightest] = windows
    .filter((window) => !hasStartedOver(window, nowMs))
    .toSorted((one, other) => other.usedPercent - one.usedPercent)
  return tightest === undefined ? '' : `codex ${windowName(tightest)} ${leftOf(tightest)} % left`
}

/** `5 h`, `7 d`. */
function windowName({ minutes }: PlanWindow): string {
  return inWords(minutes * 60).replaceAll(/ 0 (?:min|h)$/g, '')
}

function windowText(window: PlanWindow, nowMs: number): string {
  if (hasStartedOver(window, nowMs)) return 'started over since'
  const left = leftOf(window)
  const reset = window.resetsAt === undefined ? '' : `, starts over at ${timeInWords(Date.parse(window.resetsAt))}`
  return `${formatBar(left / 100, barWidth)} ${left} % left${reset}`
}

function hasStartedOver({ resetsAt }: PlanWindow, nowMs: number): boolean {
  return resetsAt !== undefined && Date.parse(resetsAt) <= nowMs
}

function leftOf({ usedPercent }: PlanWindow): number {
  return Math.round(Math.max(0, 100 - usedPercent))
}
