import { once } from 'node:events'
import { redactText } from '../../redaction/redact.ts'
import { visible } from '../../terminal/visible.ts'
import { judgeCatalogue, judgeClients } from '../clients/client-check.ts'
import { providerNames } from '../shared/accounts.ts'
import { exitCode, writeJson } from '../shared/command.ts'
import type { CommandContext, ExitCode, DoctorFlags } from '../shared/command.ts'
import { doctorCache } from './cache.ts'
import {
  judgeCodexEntitlement,
  judgeCodexToken,
  judgeCopilotEntitlement,
  judgeCopilotToken,
  judgeLogin,
  judgeModels,
  planRefusal,
} from './account-checks.ts'
import type { ListingOutcome } from './account-checks.ts'
import { findingsOr, ok, runChecks, skipped } from './check.ts'
import type { Check, Finding, Findings, Report } from './check.ts'
import { judgeDaemon } from './daemon-check.ts'
import { createScreen } from './screen.ts'
import { openFacts } from './facts.ts'
import type { Facts, SettledFacts } from './facts.ts'
import {
  judgeCallerKey,
  judgeClock,
  judgeConfig,
  judgeFiles,
  judgeNetwork,
  judgeOpenness,
  judgeSandbox,
  judgePort,
  judgeProxy,
  judgeRuntime,
  judgeTls,
  judgeTrust,
} from './machine-checks.ts'
import type { Probe } from './probe.ts'

/** For one check and those it needs: more than a host without answer takes. Ms. */
const deadlineMs = 30_000

/**
 * Checks what could keep the program from working, and prints a remedy for each problem. Changes nothing, except that
 * it renews a Codex token that is due. Returns 2 for invalid settings, 3 when the only failure is a missing login, 1
 * for other failures.
 */
export async function doctor(context: CommandContext, flags: DoctorFlags): Promise<ExitCode> {
  if (flags.cache) return doctorCache(context, flags)
  const facts = await openFacts(context, flags.config)
  const checks = createChecks(facts, context)
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
    await facts.settled?.close()
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

/** Every check, in the order in which a person would fix the problems. */
function createChecks(facts: Facts, { env, now, nodeVersion, platform }: CommandContext): readonly Check[] {
  const config: Check = { id: 'config', title: 'Configuration', run: async () => judgeConfig(facts.config, platform) }

  const settled = (
    about: Pick<Check, 'id' | 'provider' | 'title' | 'needs'>,
    run: (known: SettledFacts) => Promise<Findings>,
  ): Check => ({
    ...about,
    needs: [config, ...(about.needs ?? [])],
    run: async () =>
      facts.settled === undefined ? skipped(`The check "${config.title}" did not pass`) : run(facts.settled),
  })

  const ofHosts = (id: string, title: string, judge: typeof judgeNetwork): readonly Check[] =>
    (['copilot', 'codex'] as const).map((provider) =>
      settled({ id, provider, title: `${title}, ${providerNames[provider]}` }, async (known) => {
        const probes = await known.probes(provider)
        return probes.length === 0 ? skipped('Not used') : judge(probes, platform)
      }),
    )

  const copilotLogin = settled({ id: 'login', provider: 'copilot', title: 'Login, Copilot' }, async ({ login }) => {
    const [own, other] = await Promise.all([login('copilot'), login('codex')])
    const hasOther = other.kind === 'login' || other.kind === 'problem'
    return judgeLogin(own, 'copilot', hasOther)
  })
  const codexLogin = settled({ id: 'login', provider: 'codex', title: 'Login, Codex' }, async ({ login }) =>
    // The check of Copilot's login reports that nobody is logged in at all.
    judgeLogin(await login('codex'), 'codex', true),
  )
  const ofCopilot = { provider: 'copilot', needs: [copilotLogin] } as const
  const ofCodex = { provider: 'codex', needs: [codexLogin] } as const

  const tools = settled({ id: 'tools', title: 'Tools of other programs' }, async ({ toolFailures }) => {
    const failures = await toolFailures()
    if (failures === undefined) return skipped('copilot-proxy is not running')
    const findings = failures.map(({ source, reason, fix }): Finding => {
      return { status: 'warning', detail: `${source}: ${reason}`, fix }
    })
    return findingsOr(findings, ok('The daemon reports no failure'))
  })

  const sandbox = settled({ id: 'sandbox', title: 'Sandbox' }, async (known) => judgeSandbox(await known.sandbox()))

  return [
    config,
    {
      id: 'files',
      title: 'Files',
      run: async () => {
        const files = await facts.files()
        return files === undefined ? skipped(`The check "${config.title}" did not pass`) : judgeFiles(files)
      },
    },
    { id: 'trust', title: 'Certificates', run: async () => judgeTrust(await facts.trust(), platform) },
    { id: 'proxy', title: 'Proxy', run: async () => judgeProxy(env) },
    ...ofHosts('network', 'Network', judgeNetwork),
    ...ofHosts('tls', 'TLS', judgeTls),
    settled({ id: 'clock', title: 'Clock' }, async ({ probes }) =>
      judgeClock((await Promise.all([probes('copilot'), probes('codex')])).flat(), platform),
    ),
    copilotLogin,
    codexLogin,
    settled({ id: 'token', title: 'Token, Copilot', ...ofCopilot }, async ({ exchange, probes }) => {
      const outcome = await exchange()
      // The network check reports it for each host.
      if (outcome.kind === 'transient' && isCutOff(await probes('copilot')))
        return skipped('The check "Network, Copilot" did not pass')
      return judgeCopilotToken(outcome)
    }),
    settled({ id: 'token', title: 'Token, Codex', ...ofCodex }, async ({ codexAnswer }) =>
      judgeCodexToken(await codexAnswer(), now()),
    ),
    settled({ id: 'entitlement', title: 'Plan, Copilot', ...ofCopilot }, async (known) => {
      // Concurrently: a GitHub that does not answer costs one timeout.
      const [exchange, account] = await Promise.all([known.exchange(), known.account()])
      return judgeCopilotEntitlement(exchange, account)
    }),
    settled({ id: 'entitlement', title: 'Plan, Codex', ...ofCodex }, async ({ codexAnswer }) =>
      judgeCodexEntitlement(await codexAnswer()),
    ),
    settled({ id: 'models', title: 'Models, Copilot', ...ofCopilot }, async ({ copilotModels, probes }) => {
      const outcome = await copilotModels()
      if (outcome === undefined) return skipped('The check "Token, Copilot" did not pass')
      if (isUnreachable(outcome) && isCutOff(await probes('copilot')))
        return skipped('The check "Network, Copilot" did not pass')
      return judgeModels(outcome, 'copilot')
    }),
    settled({ id: 'models', title: 'Models, Codex', ...ofCodex }, async ({ codexAnswer, probes }) => {
      const { outcome } = await codexAnswer()
      if (isOfLogin(outcome)) return skipped('The check "Token, Codex" did not pass')
      if (isUnreachable(outcome) && isCutOff(await probes('codex')))
        return skipped('The check "Network, Codex" did not pass')
      return judgeModels(outcome, 'codex')
    }),
    settled({ id: 'port', title: 'Port' }, async ({ port }) => {
      const found = await port()
      return [...judgePort(found), ...judgeCallerKey(found.callerKey)]
    }),
    settled({ id: 'daemon', title: 'Running daemon' }, async (known) => judgeDaemon(await known.daemon())),
    settled({ id: 'callers', title: 'Callers' }, async ({ openness }) => judgeOpenness(await openness())),
    ...(facts.settled?.hasWorkspaces === true ? [sandbox] : []),
    ...(facts.settled?.hasForeignTools === true ? [tools] : []),
    {
      id: 'clients',
      title: 'Clients',
      run: async () => {
        const clients = await facts.clients()
        const catalogue = judgeCatalogue(clients.codex, await facts.catalogueProblem(clients.codex?.catalogue))
        return catalogue ?? judgeClients(clients, facts.settled?.daemonUrl)
      },
    },
    { id: 'runtime', title: 'Node.js', run: async () => judgeRuntime(nodeVersion) },
  ]
}

function isCutOff(probes: readonly Probe[]): boolean {
  return probes.some(({ kind }) => kind === 'failed')
}

function isUnreachable(outcome: ListingOutcome): boolean {
  return (
    outcome.kind === 'fault' &&
    (outcome.error.kind === 'upstream_unreachable' || outcome.error.kind === 'upstream_silent')
  )
}

/** The checks of token and plan report these. */
function isOfLogin(outcome: ListingOutcome): boolean {
  if (outcome.kind !== 'fault') return false
  const { error } = outcome
  return (
    error.kind === 'codex_unavailable' ||
    planRefusal(error) !== undefined ||
    (error.kind === 'upstream_status' && error.status === 401)
  )
}
