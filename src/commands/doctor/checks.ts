import { findCatalogueProblem } from '../clients/codex-catalogue.ts'
import { judgeCatalogue, judgeClients, judgeIdle } from '../clients/client-check.ts'
import { homesOf, readClientSettings } from '../clients/client-settings.ts'
import { findProgram } from '../clients/program-file.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { checkCommandKey, daemonUrl } from '../shared/find-daemon.ts'
import type { ListingOutcome } from '../../models/try-list.ts'
import { findToolFailures } from '../shared/tool-failures.ts'
import {
  judgeCodexEntitlement,
  judgeCodexLogin,
  judgeCodexToken,
  judgeCopilotEntitlement,
  judgeCopilotLogin,
  judgeCopilotToken,
  judgeModels,
  planRefusal,
} from './account-checks.ts'
import { after, findingsOr, ok, skipped } from './check.ts'
import type { Check, Finding, Findings } from './check.ts'
import { findDaemonFacts, judgeDaemon } from './daemon-check.ts'
import {
  findOpenness,
  judgeCallerKey,
  judgeClock,
  judgeConfig,
  judgeFiles,
  judgeNetwork,
  judgeOpenness,
  judgePolicy,
  judgePort,
  judgeProxy,
  judgeRuntime,
  judgeSandbox,
  judgeTls,
  judgeTrust,
} from './machine-checks.ts'
import type { Probe } from './probe.ts'
import { findPort, readSmallFile, readTrust } from './view.ts'
import type { LoginView, MachineView } from './view.ts'

type Row = Pick<Check, 'id' | 'provider' | 'title' | 'needs'> & {
  /** Works without valid settings. */
  readonly run?: (view: MachineView) => Findings | Promise<Findings>
  /** Is skipped without valid settings. */
  readonly runConfigured?: (view: LoginView) => Findings | Promise<Findings>
  /** Leaves the check out. */
  readonly isFor?: (config: LoginView['settings']['config']) => boolean
}

const settingsCheck = 'Configuration'

/** Every check, in the order in which a person would fix the problems. */
const rows: readonly Row[] = [
  { id: 'config', title: settingsCheck, run: ({ config, context }) => judgeConfig(config, context.platform) },
  {
    id: 'files',
    title: 'Files',
    async run({ files }) {
      const found = await files()
      return found === undefined ? after(settingsCheck) : judgeFiles(found)
    },
  },
  {
    id: 'trust',
    title: 'Certificates',
    run: async ({ context: { env, platform } }) => judgeTrust(await readTrust(env), platform),
  },
  { id: 'proxy', title: 'Proxy', run: ({ context }) => judgeProxy(context.env) },
  { id: 'network', provider: 'copilot', title: 'Network, Copilot', runConfigured: ofHosts('copilot', judgeNetwork) },
  { id: 'network', provider: 'codex', title: 'Network, Codex', runConfigured: ofHosts('codex', judgeNetwork) },
  { id: 'tls', provider: 'copilot', title: 'TLS, Copilot', runConfigured: ofHosts('copilot', judgeTls) },
  { id: 'tls', provider: 'codex', title: 'TLS, Codex', runConfigured: ofHosts('codex', judgeTls) },
  {
    id: 'clock',
    title: 'Clock',
    runConfigured: async ({ probes, context }) =>
      judgeClock((await Promise.all([probes('copilot'), probes('codex')])).flat(), context.platform),
  },
  {
    id: 'login',
    provider: 'copilot',
    title: 'Login, Copilot',
    async runConfigured({ copilot, codex }) {
      const [ofCodex] = judgeCodexLogin(await codex())
      return judgeCopilotLogin(await copilot(), ofCodex.status !== 'skipped')
    },
  },
  {
    id: 'login',
    provider: 'codex',
    title: 'Login, Codex',
    runConfigured: async ({ codex }) => judgeCodexLogin(await codex()),
  },
  {
    id: 'token',
    provider: 'copilot',
    title: 'Token, Copilot',
    needs: ['Login, Copilot'],
    async runConfigured({ exchange, probes }) {
      const outcome = await exchange()
      // The network check reports it for each host.
      const isOfNetwork = outcome.kind === 'transient' && isCutOff(await probes('copilot'))
      return isOfNetwork ? after('Network, Copilot') : judgeCopilotToken(outcome)
    },
  },
  {
    id: 'token',
    provider: 'codex',
    title: 'Token, Codex',
    needs: ['Login, Codex'],
    runConfigured: async ({ codexAnswer, context }) => judgeCodexToken(await codexAnswer(), context.now()),
  },
  {
    id: 'entitlement',
    provider: 'copilot',
    title: 'Plan, Copilot',
    needs: ['Login, Copilot'],
    async runConfigured(view) {
      // Concurrently: a GitHub that does not answer costs one timeout.
      const [exchange, account] = await Promise.all([view.exchange(), view.account()])
      return judgeCopilotEntitlement(exchange, account)
    },
  },
  {
    id: 'entitlement',
    provider: 'codex',
    title: 'Plan, Codex',
    needs: ['Login, Codex'],
    runConfigured: async ({ codexAnswer }) => judgeCodexEntitlement(await codexAnswer()),
  },
  {
    id: 'models',
    provider: 'copilot',
    title: 'Models, Copilot',
    needs: ['Login, Copilot'],
    async runConfigured({ copilotModels, probes }) {
      const outcome = await copilotModels()
      if (outcome === undefined) return after('Token, Copilot')
      if (isUnreachable(outcome) && isCutOff(await probes('copilot'))) return after('Network, Copilot')
      return judgeModels(outcome, 'copilot')
    },
  },
  {
    id: 'models',
    provider: 'codex',
    title: 'Models, Codex',
    needs: ['Login, Codex'],
    async runConfigured({ codexAnswer, probes }) {
      const { outcome } = await codexAnswer()
      if (isOfLogin(outcome)) return after('Token, Codex')
      if (isUnreachable(outcome) && isCutOff(await probes('codex'))) return after('Network, Codex')
      return judgeModels(outcome, 'codex')
    },
  },
  {
    id: 'port',
    title: 'Port',
    async runConfigured(view) {
      const found = await findPort(view)
      const { context, settings } = view
      const callerKey = found.daemon && (await checkCommandKey(context, settings, found.daemon.url))
      return [...judgePort(found), ...judgeCallerKey(callerKey)]
    },
  },
  {
    id: 'daemon',
    title: 'Running daemon',
    runConfigured: async ({ context, daemon, worksHere }) =>
      judgeDaemon(await findDaemonFacts(context, await daemon(), worksHere)),
  },
  {
    id: 'callers',
    title: 'Callers',
    runConfigured: async ({ settings }) => judgeOpenness(await findOpenness(settings.config.server)),
  },
  {
    id: 'policy',
    title: 'Policy',
    runConfigured: async ({ policy }) => judgePolicy(await policy()),
  },
  {
    id: 'sandbox',
    title: 'Sandbox',
    isFor: ({ workspaces }) => workspaces.length > 0,
    async runConfigured({ settings }) {
      const { sandboxState } = await import('../../workspace/sandbox/create-sandbox.ts')
      return judgeSandbox(await sandboxState(settings.config.workspace.sandbox))
    },
  },
  {
    id: 'tools',
    title: 'Tools of other programs',
    isFor: ({ workspaces, gateway, mcpServers }) =>
      workspaces.length > 0 && (gateway.enabled || Object.keys(mcpServers).length > 0),
    async runConfigured({ context, settings, daemon }) {
      const running = await daemon()
      if (running === undefined) return skipped('copilot-proxy is not running')
      const failures = await findToolFailures(context, settings, running)
      const findings = failures.map(({ source, reason, fix }): Finding => ({
        status: 'warning',
        detail: `${source}: ${reason}`,
        fix,
      }))
      return findingsOr(findings, ok('The daemon reports no failure'))
    },
  },
  {
    id: 'clients',
    title: 'Clients',
    async run({ context, logins }) {
      const clients = await readClientSettings({ ...homesOf(context), readFile: readSmallFile })
      const path = clients.codex?.catalogue
      const problem = path && (await findCatalogueProblem(context, path, await findProgram('codex', context)))
      const url = logins && daemonUrl(logins.settings.config.server)
      const findings = judgeCatalogue(clients.codex, problem) ?? judgeClients(clients, url)
      const idle = url === undefined || (await logins?.daemon()) !== undefined ? [] : judgeIdle(clients, url)
      return findingsOr([...findings.filter(({ status }) => status !== 'ok'), ...idle], findings)
    },
  },
  { id: 'runtime', title: 'Node.js', run: ({ context }) => judgeRuntime(context.nodeVersion) },
]

function ofHosts(provider: ProviderId, judge: typeof judgeNetwork): NonNullable<Row['runConfigured']> {
  return async ({ probes, context }) => {
    const found = await probes(provider)
    return found.length === 0 ? skipped('Not used') : judge(found, context.platform)
  }
}

/** The checks of this user. */
export function checksOf(view: MachineView): readonly Check[] {
  const { logins } = view
  return rows.flatMap(({ run, runConfigured, isFor, ...row }): readonly Check[] => {
    if (run !== undefined) return [{ ...row, run: async () => run(view) }]
    if (isFor !== undefined && !(logins && isFor(logins.settings.config))) return []
    const needs = [settingsCheck, ...(row.needs ?? [])]
    return [{ ...row, needs, run: async () => (logins && runConfigured?.(logins)) ?? after(settingsCheck) }]
  })
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
