/** How much of a ChatGPT plan is used, as an answer of the backend told it. Wire form within `GET /usage`. */
export interface PlanUse {
  /** In OpenAI's own word. */
  readonly plan?: string | undefined
  /** Some plans have one, some two; the shortest is first. */
  readonly windows: readonly PlanWindow[]
  /** When it was told. ISO 8601, UTC. */
  readonly toldAt: string
}

export interface PlanWindow {
  /** 0…100, and beyond where the plan is exceeded. */
  readonly usedPercent: number
  readonly minutes: number
  /** ISO 8601, UTC. */
  readonly resetsAt?: string | undefined
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Reads what the headers of an answer say of the plan's windows; undefined where they say nothing, as those of a request
 * with an API key. Source: docs/codex-wire.md, "Rate limits".
 */
export function readPlanUse(headers: Headers, nowMs: number): PlanUse | undefined {
  const plan = textOf(headers['x-codex-plan-type'])
  const windows = ['primary', 'secondary'].flatMap((name) => readWindow(headers, `x-codex-${name}`))
  if (windows.length === 0) return undefined
  return {
    ...(plan !== '' && { plan }),
    windows: windows.toSorted((one, other) => one.minutes - other.minutes),
    toldAt: new Date(nowMs).toISOString(),
  }
}

/** Empty for a window that the plan does not have: it is told as one of no minutes, or not at all. */
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

function textOf(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : ''
}
