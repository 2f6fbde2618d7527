import type { Output } from '../../terminal/output.ts'
import type { Check, Finding, Report } from './check.ts'
import { plural } from '../../terminal/format.ts'

const colors = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const
const statusWidth = Math.max(...Object.keys(colors).map((status) => status.length))

/** A finding as it is shown, with all checks and hosts that it is about. */
interface Entry {
  readonly key: string
  readonly finding: Finding
  readonly titles: Set<string>
  readonly hosts: Set<string>
}

export interface Screen {
  readonly show: (report: Report) => void
  /** Shows the lines that are held back. */
  readonly flush: () => void
  /** Shows the last lines: counts, and what to do first. */
  readonly summarize: () => void
}

/**
 * Shows reports as they come: a line for each finding, and one for its remedy. A problem is held back until the next
 * finding, because one that repeats it is shown with it.
 */
export function createScreen(
  checks: readonly Check[],
  { style, write }: Pick<Output, 'style' | 'write'>,
  { showsSkipped }: { readonly showsSkipped: boolean },
): Screen {
  const width = Math.max(...checks.map(({ title }) => title.length))
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 }
  let held: Entry | undefined

  function flush(): void {
    if (held === undefined) return
    const { finding } = held
    counts[finding.status] += 1
    write(entryText(held))
    held = undefined
  }

  function entryText({ finding, titles, hosts }: Entry): string {
    const status = style[colors[finding.status]](finding.status.padEnd(statusWidth))
    const detail = withHost(finding.detail, finding, [...hosts].join(', '))
    const line = `${status}  ${commonTitle([...titles]).padEnd(width)}  ${detail}\n`
    return 'fix' in finding ? `${line}${' '.repeat(statusWidth + width + 4)}${style.bold(finding.fix)}\n` : line
  }

  function add({ title }: Check, finding: Finding): void {
    if (finding.status === 'skipped' && !showsSkipped) {
      counts.skipped += 1
      return
    }
    const fix = 'fix' in finding ? finding.fix : ''
    const key = withHost(`${finding.status}\n${finding.detail}\n${fix}`, finding, '*')
    if (held?.key !== key || fix === '') flush()
    held ??= { key, finding, titles: new Set(), hosts: new Set() }
    held.titles.add(title)
    if ('host' in finding && finding.host !== undefined) held.hosts.add(finding.host)
    if (fix === '') flush()
  }

  return {
    show: ({ check, findings }) => {
      for (const finding of findings) add(check, finding)
    },
    flush,
    summarize() {
      flush()
      const { skipped } = counts
      const hidden = skipped > 0 && !showsSkipped ? `${plural(skipped, 'check')} skipped (--verbose shows them).\n` : ''
      write(`\n${hidden}${summaryText(counts)}\n`)
    },
  }
}

function withHost(text: string, finding: Finding, hosts: string): string {
  return 'host' in finding && finding.host !== undefined ? text.replaceAll(finding.host, hosts) : text
}

/** `Network` for `Network, Copilot` and `Network, Codex`. */
function commonTitle(titles: readonly string[]): string {
  const subjects = new Set(titles.map((title) => title.split(', ', 1).join('')))
  return titles.length > 1 && subjects.size === 1 ? [...subjects].join('') : titles.join('; ')
}

function summaryText({ warning, failed }: Readonly<Record<Finding['status'], number>>): string {
  if (failed + warning === 0) return 'All checks passed.'
  const warnings = warning === 0 ? [] : [plural(warning, 'warning')]
  if (failed === 0) return `No check failed, ${warnings.join('')}.`
  const counted = [`${plural(failed, 'check')} failed`, ...warnings].join(', ')
  return failed === 1 ? `${counted}.` : `${counted}; fix the first one first.`
}
