import type { HeaderMap } from '../http/outcome.ts'

export interface Window {
  readonly usedPercent: number
  readonly windowMinutes: number
  readonly resetAfterSeconds: number
  readonly resetAt: number
}

/** Use of the two windows. Percent. */
export interface PlanUse {
  readonly primaryUsedPercent: number
  readonly secondaryUsedPercent: number
}

type Windows = Readonly<Record<'primary' | 'secondary', Window>>

export function windowsOf(use: PlanUse, nowMs: number): Windows {
  const window = (usedPercent: number, windowMinutes: number, resetAfterSeconds: number): Window => ({
    usedPercent,
    windowMinutes,
    resetAfterSeconds,
    resetAt: Math.floor(nowMs / 1000) + resetAfterSeconds,
  })
  return {
    primary: window(use.primaryUsedPercent, 300, 13_872),
    secondary: window(use.secondaryUsedPercent, 10_080, 345_600),
  }
}

/** The rate limit headers of 200 and 429 (docs/codex-wire.md, "Rate limits"). Some are empty, as in real replies. */
export function rateLimitHeaders(plan: string, use: PlanUse, nowMs: number): HeaderMap {
  const headers: Record<string, string> = {
    'x-codex-plan-type': plan,
    'x-codex-active-limit': 'codex',
    'x-codex-primary-over-secondary-limit-percent': '0',
    'x-codex-credits-has-credits': 'False',
    'x-codex-credits-unlimited': 'False',
    'x-codex-credits-balance': '',
  }
  for (const [name, window] of Object.entries(windowsOf(use, nowMs))) {
    headers[`x-codex-${name}-used-percent`] = String(window.usedPercent)
    headers[`x-codex-${name}-window-minutes`] = String(window.windowMinutes)
    headers[`x-codex-${name}-reset-at`] = String(window.resetAt)
    headers[`x-codex-${name}-reset-after-seconds`] = String(window.resetAfterSeconds)
  }
  return headers
}
