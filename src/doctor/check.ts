import type { ProviderId } from '../executors/executor.ts'

/** What a check found out. Whatever is not in order carries the one command or action that helps. */
export type Finding =
  | { readonly status: 'ok' | 'skipped'; readonly detail: string }
  | {
      readonly status: 'warning' | 'failed'
      /** Whole sentences for a person, or the start of one. No credential. */
      readonly detail: string
      /** One command or action, without a period. */
      readonly fix: string
      /** All that is wrong is that nobody is logged in. */
      readonly nobody?: true
    }

/** At least one. */
export type Findings = readonly [Finding, ...Finding[]]

export interface Check {
  /** Stable: programs read it. */
  readonly id: string
  /** Undefined where it is about both, or neither. */
  readonly provider?: ProviderId
  /** For people. */
  readonly title: string
  /** Where one of these failed or was skipped, there is nothing to look at. They stand before it in the list. */
  readonly needs?: readonly Check[]
  /** An expected trouble is a finding; what is thrown is a defect. */
  readonly run: () => Promise<Findings>
}

/** What came of a check. */
export interface Report {
  readonly check: Check
  readonly findings: Findings
}

export function ok(detail: string): Findings {
  return [{ status: 'ok', detail }]
}

export function skipped(detail: string): Findings {
  return [{ status: 'skipped', detail }]
}

export function warning(detail: string, fix: string): Findings {
  return [{ status: 'warning', detail, fix }]
}

export function failed(detail: string, fix: string): Findings {
  return [{ status: 'failed', detail, fix }]
}

/** All of them, or the one thing to say where there are none. */
export function findingsOr([first, ...rest]: readonly Finding[], none: Findings): Findings {
  return first === undefined ? none : [first, ...rest]
}
