import type { ProviderId } from '../../executors/executor.ts'

/** A result of a check. Warnings and failures name one remedy. */
export type Finding =
  | { readonly status: 'ok' | 'skipped'; readonly detail: string }
  | {
      readonly status: 'warning' | 'failed'
      /** Whole sentences, or the start of one. No credential. */
      readonly detail: string
      /** One command or action, without a period. */
      readonly fix: string
      /** The host in `detail` and `fix`: findings that differ in it alone are shown as one. */
      readonly host?: string
      /** The only failure is that nobody is logged in. */
      readonly nobody?: true
    }

export type Findings = readonly [Finding, ...Finding[]]

export interface Check {
  /** Stable: programs read it. */
  readonly id: string
  /** Undefined if the check concerns both or neither. */
  readonly provider?: ProviderId
  /** Unique in the list. */
  readonly title: string
  /** The titles of checks before this one in the list. If one failed or was skipped, this one is skipped. */
  readonly needs?: readonly string[]
  /** Expected problems are findings; errors are defects. */
  readonly run: () => Promise<Findings>
}

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

/** The check `title` reports the cause. */
export function after(title: string): Findings {
  return skipped(`The check "${title}" did not pass`)
}

export function warning(detail: string, fix: string): Findings {
  return [{ status: 'warning', detail, fix }]
}

export function failed(detail: string, fix: string): Findings {
  return [{ status: 'failed', detail, fix }]
}

/** All findings, or `none` if there are no findings. */
export function findingsOr([first, ...rest]: readonly Finding[], none: Findings): Findings {
  return first === undefined ? none : [first, ...rest]
}

export interface RunOptions {
  /** Aborts when a check that starts now has taken too long. */
  readonly deadline: () => AbortSignal
  /** Describes an error thrown by a check, without credentials. */
  readonly describeDefect: (error: unknown) => string
}

/**
 * Runs checks concurrently, each as soon as its needs are done, and yields the reports in the order of the list. A
 * check that hangs delays only until its own deadline.
 */
export async function* runChecks(checks: readonly Check[], options: RunOptions): AsyncGenerator<Report> {
  const running = new Map<string, Promise<Findings>>()
  for (const check of checks) {
    const needed = (check.needs ?? []).map(async (title) => ({ title, findings: await running.get(title) }))
    const findings = Promise.all(needed).then((done) => {
      const missing = done.find((one) => one.findings?.some(({ status }) => isInTheWay(status)) ?? true)
      return missing === undefined ? runOne(check, options) : after(missing.title)
    })
    running.set(check.title, findings)
  }
  for (const check of checks) yield { check, findings: (await running.get(check.title)) ?? after(check.title) }
}

function isInTheWay(status: string): boolean {
  return status === 'failed' || status === 'skipped'
}

async function runOne(check: Check, { deadline, describeDefect }: RunOptions): Promise<Findings> {
  const signal = deadline()
  const { promise: late, resolve } = Promise.withResolvers<Findings>()
  const onAbort = (): void => resolve(failed('No answer in time', 'Wait a moment and run copilot-proxy doctor again'))
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([check.run(), late])
  } catch (error) {
    return failed(`This check crashed: ${describeDefect(error)}`, 'Report this line as a bug of copilot-proxy')
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
