import type { ExchangeOutcome } from '../../auth/copilot/github-api.ts'
import type { CopilotUserOutcome } from '../../auth/copilot/github-api.ts'
import type { ProxyError } from '../../errors.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { judgeClients } from '../clients/client-check.ts'
import type { ClientSettings } from '../clients/client-settings.ts'
import {
  judgeCodexEntitlement,
  judgeCodexToken,
  planRefusal,
  judgeCopilotEntitlement,
  judgeCopilotToken,
  judgeLogin,
  judgeModels,
} from './account-checks.ts'
import type { CodexAnswer, LoginState, ListingOutcome } from './account-checks.ts'
import { skipped } from './check.ts'
import type { Check, Findings } from './check.ts'
import { judgeConfig, judgeFiles, judgeRuntime } from './local-checks.ts'
import type { ConfigState, FileFacts } from './local-checks.ts'
import { judgeClock, judgeNetwork, judgePort, judgeTls, judgeTrust } from './network-checks.ts'
import type { PortFacts, TrustSettings } from './network-checks.ts'
import type { Probe } from './probe.ts'

/** Input of the checks. Each function looks up its fact once. */
export interface Facts {
  readonly config: ConfigState
  /** Undefined where the paths are unknown. */
  readonly files: () => Promise<FileFacts | undefined>
  readonly trust: () => Promise<TrustSettings>
  readonly clients: () => Promise<ClientSettings>
  /** As `process.version`. */
  readonly nodeVersion: string
  /** Undefined without valid settings: credentials are not sent anywhere then. */
  readonly settled: SettledFacts | undefined
}

export interface SettledFacts {
  /** Of the hosts of a provider; empty where it is not in use. */
  readonly probes: (provider: ProviderId) => Promise<readonly Probe[]>
  readonly login: (provider: ProviderId) => Promise<LoginState>
  /** The exchange with GitHub for a Copilot token. */
  readonly exchange: () => Promise<ExchangeOutcome>
  readonly account: () => Promise<CopilotUserOutcome>
  /** Requested with the token of `exchange`; undefined where there is none. */
  readonly copilotModels: () => Promise<ListingOutcome | undefined>
  readonly codexAnswer: () => Promise<CodexAnswer>
  readonly port: () => Promise<PortFacts>
  readonly daemonUrl: string
}

export interface Words {
  /** The marketing name of a plan. */
  readonly planName: (plan: string) => string
  readonly describeFault: (error: ProxyError) => string
  /** Ms since epoch. */
  readonly now: () => number
  /** Selects the commands in remedies. */
  readonly platform: NodeJS.Platform
}

const names = { copilot: 'Copilot', codex: 'Codex' } as const

/** Every check, in the order in which a person would fix the problems. */
export function createChecks(facts: Facts, { planName, describeFault, now, platform }: Words): readonly Check[] {
  const config: Check = { id: 'config', title: 'Configuration', run: async () => judgeConfig(facts.config, platform) }

  const settled = (
    about: Pick<Check, 'id' | 'provider' | 'title' | 'needs'>,
    run: (known: SettledFacts) => Promise<Findings>,
  ): Check => ({
    ...about,
    needs: [config, ...(about.needs ?? [])],
    run: async () => (facts.settled === undefined ? skipped(`Needs: ${config.title}`) : run(facts.settled)),
  })

  const ofHosts = (id: string, title: string, judge: typeof judgeNetwork): readonly Check[] =>
    (['copilot', 'codex'] as const).map((provider) =>
      settled({ id, provider, title: `${title}, ${names[provider]}` }, async (known) => {
        const probes = await known.probes(provider)
        return probes.length === 0 ? skipped('Not in use') : judge(probes, platform)
      }),
    )

  const copilotLogin = settled({ id: 'login', provider: 'copilot', title: 'Login, Copilot' }, async ({ login }) => {
    const [own, other] = await Promise.all([login('copilot'), login('codex')])
    const hasOther = other.kind === 'login' || other.kind === 'problem'
    return judgeLogin(own, { name: names.copilot, loginCommand: 'copilot-proxy login', hasOther })
  })
  const codexLogin = settled({ id: 'login', provider: 'codex', title: 'Login, Codex' }, async ({ login }) =>
    // The check of Copilot's login reports that nobody is logged in at all.
    judgeLogin(await login('codex'), {
      name: names.codex,
      loginCommand: 'copilot-proxy login codex',
      hasOther: true,
    }),
  )
  const ofCopilot = { provider: 'copilot', needs: [copilotLogin] } as const
  const ofCodex = { provider: 'codex', needs: [codexLogin] } as const

  return [
    config,
    {
      id: 'files',
      title: 'Files',
      run: async () => {
        const files = await facts.files()
        return files === undefined ? skipped(`Needs: ${config.title}`) : judgeFiles(files)
      },
    },
    { id: 'trust', title: 'Certificates', run: async () => judgeTrust(await facts.trust(), platform) },
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
      if (outcome.kind === 'transient' && isCutOff(await probes('copilot'))) return skipped('Needs: Network, Copilot')
      return judgeCopilotToken(outcome)
    }),
    settled({ id: 'token', title: 'Token, Codex', ...ofCodex }, async ({ codexAnswer }) =>
      judgeCodexToken(await codexAnswer(), describeFault, now()),
    ),
    settled({ id: 'entitlement', title: 'Plan, Copilot', ...ofCopilot }, async (known) => {
      // Concurrently: a GitHub that does not answer costs one timeout.
      const [exchange, account] = await Promise.all([known.exchange(), known.account()])
      return judgeCopilotEntitlement({ exchange, account, planName })
    }),
    settled({ id: 'entitlement', title: 'Plan, Codex', ...ofCodex }, async ({ codexAnswer }) =>
      judgeCodexEntitlement(await codexAnswer(), describeFault),
    ),
    settled({ id: 'models', title: 'Models, Copilot', ...ofCopilot }, async ({ copilotModels, probes }) => {
      const outcome = await copilotModels()
      if (outcome === undefined) return skipped('Needs: Token, Copilot')
      if (isUnreachable(outcome) && isCutOff(await probes('copilot'))) return skipped('Needs: Network, Copilot')
      return judgeModels(outcome, { name: names.copilot, describeFault })
    }),
    settled({ id: 'models', title: 'Models, Codex', ...ofCodex }, async ({ codexAnswer, probes }) => {
      const { outcome } = await codexAnswer()
      if (isOfLogin(outcome)) return skipped('Needs: Token, Codex')
      if (isUnreachable(outcome) && isCutOff(await probes('codex'))) return skipped('Needs: Network, Codex')
      return judgeModels(outcome, { name: names.codex, describeFault })
    }),
    settled({ id: 'port', title: 'Port' }, async ({ port }) => judgePort(await port())),
    {
      id: 'clients',
      title: 'Clients',
      run: async () => judgeClients(await facts.clients(), facts.settled?.daemonUrl),
    },
    { id: 'runtime', title: 'Node.js', run: async () => judgeRuntime(facts.nodeVersion) },
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
