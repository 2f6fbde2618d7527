import { textOf } from '../../json/json.ts'

/** How much of a ChatGPT plan is used, as the backend reports it. Part of the body of `GET /usage`. */
export interface PlanUse {
  /** OpenAI's own name of the plan. */
  readonly plan?: string | undefined
  /** One or two windows, depending on the plan; the shortest is first. */
  readonly windows: readonly PlanWindow[]
  /** When the backend reported it. ISO 8601, UTC. */
  readonly reportedAt: string
}

interface PlanWindow {
  /** 0…100; more if the plan is exceeded. */
  readonly usedPercent: number
  readonly minutes: number
  /** ISO 8601, UTC. */
  readonly resetsAt?: string | undefined
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Reads the plan's windows from the headers of a reply. Undefined if the reply has none, as with an API key. Source:
 * docs/codex-wire.md, "Rate limits".
 */
export function readPlanUse(headers: Headers, nowMs: number): PlanUse | undefined {
  const plan = textOf(headers['x-codex-plan-type'])
  const windows = ['primary', 'secondary'].flatMap((name) => readWindow(headers, `x-codex-${name}`))
  if (windows.length === 0) return undefined
  return {
    ...(plan !== '' && { plan }),
    windows: windows.toSorted((one, other) => one.minutes - other.minutes),
    reportedAt: new Date(nowMs).toISOString(),
  }
}

/**
 * Empty for a window that the plan does not have. The backend reports such a window with zero minutes, or not at all.
 */
function readWindow(headers: Headers, prefix: string): readonly PlanWindow[] {
  const usedPercent = numberOf(headers[`${prefix}-used-percent`])
  const minutes = numberOf(headers[`${prefix}-window-minutes`])
  if (usedPercent === undefined || minutes === undefined || minutes <= 0) return []
  const resetsAt = toIsoDate(numberOf(headers[`${prefix}-reset-at`]))
  return [{ usedPercent, minutes, ...(resetsAt !== undefined && { resetsAt }) }]
}

function toIsoDate(seconds: number | undefined): string | undefined {
  if (seconds === undefined || seconds <= 0) return undefined
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** Values may be empty. */
function numberOf(value: string | string[] | undefined): number | undefined {
  const text = textOf(value).trim()
  const number = Number(text)
  return text !== '' && Number.isFinite(number) && number >= 0 ? number : undefined
}
