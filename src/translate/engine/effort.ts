import type { TurnReasoning } from '../turn.ts'

/** All levels, lowest first. Source: OpenAI and Anthropic API references, 2026-11. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

export function isEffort(level: unknown): level is Effort {
  return EFFORTS.some((effort) => effort === level)
}

/** The level that a caller asked for; undefined if it asked for none and upstream's default applies. */
export function wantedEffort(reasoning: TurnReasoning | undefined): Effort | undefined {
  if (reasoning === undefined) return undefined
  const { mode, effort, budgetTokens } = reasoning
  if (mode === 'disabled') return 'none'
  if (isEffort(effort)) return effort
  switch (mode) {
    case 'between_tools':
      return 'low'
    case 'adaptive':
      // Anthropic's documented default.
      return 'high'
    case 'enabled':
      return effortOfBudget(budgetTokens)
    case undefined:
      return undefined
  }
}

/** Uses the thresholds of other translating proxies, so that a budget means the same effort in all of them. */
function effortOfBudget(tokens: number | undefined): Effort {
  if (tokens === undefined) return 'high'
  if (tokens <= 512) return 'minimal'
  if (tokens <= 1024) return 'low'
  if (tokens <= 8192) return 'medium'
  return tokens <= 24_576 ? 'high' : 'xhigh'
}

/** Thinking budgets, for models that take one. Tokens; 0 for none. */
export const budgetOfEffort: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: Number.MAX_SAFE_INTEGER,
}

/**
 * The nearest lower level that the model lists, else its lowest. Without a list, the level is unchanged: upstream's own
 * 400 is clearer than a guess.
 */
export function clampEffort(wanted: Effort, listed: readonly string[] | undefined): string {
  if (listed === undefined || listed.length === 0 || listed.includes(wanted)) return wanted
  const offered = EFFORTS.filter((effort) => listed.includes(effort))
  return offered.findLast((effort) => EFFORTS.indexOf(effort) < EFFORTS.indexOf(wanted)) ?? offered[0] ?? wanted
}
