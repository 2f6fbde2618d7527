import type { HeaderMap } from '../outcome.ts'
import type { CodexPerson } from './tokens.ts'
import type { CodexSettings } from './request.ts'

interface Window {
  readonly usedPercent: number
  readonly windowMinutes: number
  readonly resetAfterSeconds: number
  readonly resetAt: number
}

type Windows = Readonly<Record<'primary' | 'secondary', Window>>

function windowsOf(settings: CodexSettings, nowMs: number): Windows {
  const window = (usedPercent: number, windowMinutes: number, resetAfterSeconds: number): Window => ({
    usedPercent,
    windowMinutes,
    resetAfterSeconds,
    resetAt: Math.floor(nowMs / 1000) + resetAfterSeconds,
  })
  return {
    primary: window(settings.primaryUsedPercent, 300, 13_872),
    secondary: window(settings.secondaryUsedPercent, 10_080, 345_600),
  }
}

/** The headers of docs/codex-wire.md, "Rate limits", on 200 and 429. Some have no value, as the real ones may. */
export function rateLimitHeaders({ plan }: CodexPerson, settings: CodexSettings, nowMs: number): HeaderMap {
  const headers: Record<string, string> = {
    'x-codex-plan-type': plan,
    'x-codex-active-limit': 'codex',
    'x-codex-primary-over-secondary-limit-percent': '0',
    'x-codex-credits-has-credits': 'False',
    'x-codex-credits-unlimited': 'False',
    'x-codex-credits-balance': '',
  }
  for (const [name, window] of Object.entries(windowsOf(settings, nowMs))) {
    headers[`x-codex-${name}-used-percent`] = String(window.usedPercent)
    headers[`x-codex-${name}-window-minutes`] = String(window.windowMinutes)
    headers[`x-codex-${name}-reset-at`] = String(window.resetAt)
    headers[`x-codex-${name}-reset-after-seconds`] = String(window.resetAfterSeconds)
  }
  return headers
}

/** The same as an event of the stream. */
export function rateLimitEvent({ plan }: CodexPerson, settings: CodexSettings, nowMs: number): Record<string, unknown> {
  const { primary, secondary } = windowsOf(settings, nowMs)
  return {
    plan_type: plan,
    rate_limits: { allowed: true, limit_reached: false, primary: inEvent(primary), secondary: inEvent(secondary) },
    credits: null,
    metered_limit_name: null,
  }
}

function inEvent({ usedPercent, windowMinutes, resetAt }: Window): Record<string, number> {
  return { used_percent: usedPercent, window_minutes: windowMinutes, reset_at: resetAt }
}
