import { failed, skipped } from './check.ts'
import type { Check, Findings, Report } from './check.ts'

export interface RunOptions {
  /** Aborts when a check that began now has taken too long. */
  readonly deadline: () => AbortSignal
  /** What is told of a check that failed itself; no credential. */
  readonly describeDefect: (error: unknown) => string
}

/**
 * Runs checks side by side, each as soon as those it needs are done, and gives what came of them in the order of the
 * list, each as soon as it and all before it are known. A check that never ends costs its own deadline and no more.
 */
export async function* runChecks(checks: readonly Check[], options: RunOptions): AsyncGenerator<Report> {
  const running = new Map<Check, Promise<Findings>>()
  for (const check of checks) {
    const needed = (check.needs ?? []).map(async (other) => ({ other, findings: await running.get(other) }))
    const findings = Promise.all(needed).then((done) => {
      const missing = done.find((one) => one.findings?.some(({ status }) => isInTheWay(status)) ?? true)
      return missing === undefined ? runOne(check, options) : skipped(`Needs: ${missing.other.title}`)
    })
    running.set(check, findings)
  }
  for (const [check, findings] of running) yield { check, findings: await findings }
}

function isInTheWay(status: string): boolean {
  return status === 'failed' || status === 'skipped'
}

async function runOne(check: Check, { deadline, describeDefect }: RunOptions): Promise<Findings> {
  const late = aborted(deadline())
  try {
    return await Promise.race([check.run(), late.promise])
  } catch (error) {
    return failed(
      `This check could not be made: ${describeDefect(error)}`,
      'Tell the makers of copilot-proxy, with this line',
    )
  } finally {
    late.forget()
  }
}

function aborted(signal: AbortSignal): { readonly promise: Promise<Findings>; readonly forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<Findings>()
  const onAbort = (): void => resolve(failed('No answer in time', 'Try again in a moment: copilot-proxy doctor'))
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return { promise, forget: () => signal.removeEventListener('abort', onAbort) }
}
