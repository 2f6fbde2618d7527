import { once } from 'node:events'
import { redactText } from '../../redaction/redact.ts'
import { visible } from '../../terminal/visible.ts'
import { exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, DoctorFlags, ExitCode } from '../shared/command.ts'
import { doctorCache } from './cache.ts'
import { runChecks } from './check.ts'
import type { Finding, Report } from './check.ts'
import { checksOf } from './checks.ts'
import { createScreen } from './screen.ts'
import { openMachineView } from './view.ts'

/** For one check and those it needs: more than a host without answer takes. Ms. */
const deadlineMs = 30_000

/**
 * Checks what could keep the program from working, and prints a remedy for each problem. Changes nothing, except that
 * it renews a Codex token that is due. Returns 2 for invalid settings, 3 when the only failure is a missing login, 1
 * for other failures.
 */
export async function doctor(context: CommandContext, flags: DoctorFlags): Promise<ExitCode> {
  if (flags.cache) return doctorCache(context, flags)
  const view = await openMachineView(context, flags.config)
  const checks = checksOf(view)
  const running = runChecks(checks, {
    deadline: () => AbortSignal.timeout(deadlineMs),
    describeDefect: (error) => (error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'),
  })
  const reports: Report[] = []
  const interrupted = once(context.signal, 'abort')
  const screen = flags.json ? undefined : createScreen(checks, context.stdout, { showsSkipped: flags.verbose ?? false })
  try {
    for (;;) {
      if (context.signal.aborted) return exitCode.interrupted
      const next = await Promise.race([running.next(), interrupted])
      if (context.signal.aborted || Array.isArray(next)) return exitCode.interrupted
      if (next.done === true) break
      const report = safeReport(next.value, context)
      reports.push(report)
      screen?.show(report)
    }
  } finally {
    screen?.flush()
    await view.logins?.close()
  }
  const code = toExitCode(reports)
  if (flags.json) writeJson(context, doctorDocument(context, reports, code))
  else screen?.summarize()
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
