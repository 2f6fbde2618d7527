import { redactText } from '../../redaction/redact.ts'
import type { Style } from '../../terminal/output.ts'
import { visible } from '../../terminal/visible.ts'
import { toChatError } from '../../translate/chat/error.ts'
import { exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode } from '../shared/command.ts'
import type { DoctorFlags } from '../shared/flags.ts'
import { planName } from '../shared/plan-name.ts'
import { doctorCache } from './cache.ts'
import { runChecks } from './check.ts'
import type { Finding, Report } from './check.ts'
import { createChecks } from './checks.ts'
import { openFacts } from './facts.ts'

/** For one check and those it needs: more than a host without answer takes. Ms. */
const deadlineMs = 30_000

/**
 * Checks what could keep the program from working, and prints a remedy for each problem. Changes nothing, except that
 * it renews a Codex token that is due. Returns 2 for invalid settings, 3 when the only failure is a missing login, 1
 * for other failures.
 */
export async function doctor(context: CommandContext, flags: DoctorFlags): Promise<ExitCode> {
  if (flags.cache) return doctorCache(context, flags)
  const { facts, close } = await openFacts(context, flags.config)
  const checks = createChecks(facts, {
    planName,
    describeFault: (error) => toChatError(error, '').error.message,
    now: context.now,
    platform: context.platform,
  })
  const running = runChecks(checks, {
    deadline: () => AbortSignal.timeout(deadlineMs),
    describeDefect: (error) => (error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'),
  })
  const reports: Report[] = []
  const interrupted = new Promise<undefined>((resolve) => {
    if (context.signal.aborted) resolve(undefined)
    else context.signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  const width = Math.max(...checks.map(({ title }) => title.length))
  try {
    for (;;) {
      const next = await Promise.race([running.next(), interrupted])
      if (next === undefined || context.signal.aborted) return exitCode.interrupted
      if (next.done === true) break
      const report = safeReport(next.value, context)
      reports.push(report)
      if (flags.json === undefined) context.stdout.write(reportText(report, width, context.stdout.style))
    }
  } finally {
    await close()
  }
  const findings = reports.flatMap((report) => report.findings)
  const code = toExitCode(reports)
  if (flags.json) writeJson(context, doctorDocument(context, reports, code))
  else context.stdout.write(`\n${summaryText(findings)}\n`)
  return code
}

/** Findings repeat text of upstreams and files: escapes control characters and redacts credentials. */
function safeReport({ check, findings }: Report, { secrets }: CommandContext): Report {
  const safe = (text: string): string => visible(redactText(secrets.redact(text)))
  const clean = (finding: Finding): Finding => ({
    ...finding,
    detail: safe(finding.detail),
    ...('fix' in finding && { fix: safe(finding.fix) }),
  })
  const [first, ...rest] = findings
  return { check, findings: [clean(first), ...rest.map(clean)] }
}

function toExitCode(reports: readonly Report[]): ExitCode {
  const failures = reports.flatMap(({ check, findings }) =>
    findings.flatMap((finding) => (finding.status === 'failed' ? [{ check, finding }] : [])),
  )
  if (failures.length === 0) return exitCode.done
  if (failures.some(({ check }) => check.id === 'config')) return exitCode.usage
  return failures.every(({ finding }) => finding.nobody === true) ? exitCode.notLoggedIn : exitCode.failed
}

const colors = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const
const statusWidth = Math.max(...Object.keys(colors).map((status) => status.length))

/** A line for each finding, and one for its remedy. */
function reportText({ check, findings }: Report, width: number, style: Style): string {
  return findings
    .map((finding) => {
      const status = style[colors[finding.status]](finding.status.padEnd(statusWidth))
      const line = `${status}  ${check.title.padEnd(width)}  ${finding.detail}\n`
      return 'fix' in finding ? `${line}${' '.repeat(statusWidth + width + 4)}${style.bold(finding.fix)}\n` : line
    })
    .join('')
}

function summaryText(findings: readonly Finding[]): string {
  const count = (wanted: Finding['status']): number => findings.filter(({ status }) => status === wanted).length
  const failures = count('failed')
  const warnings = count('warning')
  if (failures + warnings === 0) return 'Everything is in order.'
  return [
    ...(failures === 0 ? ['Nothing failed'] : [`${failures} failed: begin with the first`]),
    ...(warnings === 0 ? [] : [`${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`]),
  ].join('; ')
}

function doctorDocument({ version }: CommandContext, reports: readonly Report[], code: ExitCode): object {
  return {
    version,
    ok: code === exitCode.done,
    checks: reports.flatMap(({ check, findings }) =>
      findings.map((finding) => ({
        id: check.id,
        provider: check.provider ?? null,
        status: finding.status,
        detail: finding.detail,
        fix: 'fix' in finding ? finding.fix : null,
      })),
    ),
  }
}
