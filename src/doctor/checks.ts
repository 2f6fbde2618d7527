import type { ExchangeOutcome } from '../auth/copilot-exchange.ts'
import type { CopilotUserOutcome } from '../auth/github-api.ts'
import type { ProxyError } from '../errors.ts'
import type { ProviderId } from '../executors/executor.ts'
import { skipped } from './check.ts'
import type { Check, Findings } from './check.ts'
import { judgeClients } from './clients/client-check.ts'
import type { ClientSettings } from './clients/client-settings.ts'
import { judgeClock } from './clock-check.ts'
import { judgeCodexEntitlement, judgeCodexToken, planRefusal } from './codex-token-check.ts'
import type { CodexAnswer } from './codex-token-check.ts'
import { judgeConfig } from './config-check.ts'
import type { ConfigState } from './config-check.ts'
import { judgeCopilotEntitlement } from './copilot-entitlement-check.ts'
import { judgeCopilotToken } from './copilot-token-check.ts'
import { judgeFiles } from './file-check.ts'
import type { FileFacts } from './file-check.ts'
import { judgeLogin } from './login-check.ts'
import type { LoginState } from './login-check.ts'
import { judgeModels } from './models-check.ts'
import type { ListingOutcome } from './models-check.ts'
import { judgeNetwork } from './network-check.ts'
import { judgePort } from './port-check.ts'
import type { PortFacts } from './port-check.ts'
import type { Probe } from './probe.ts'
import { judgeRuntime } from './runtime-check.ts'
import { judgeTls, judgeTrust } from './tls-check.ts'
import type { TrustSettings } from './tls-check.ts'

/** What the checks judge. Each is found out when it is asked for, and once. */
export interface Facts {
  readonly config: ConfigState
  /** Undefined where it is not known where the files are. */
  readonly files: () => Promise<FileFacts | undefined>
  readonly trust: () => Promise<TrustSettings>
  readonly clients: () => Promise<ClientSettings>
  /** Of Node.js, as `process.version` has it. */
  readonly nodeVersion: string
  /** What depends on valid settings; undefined where there are none: a login is sent to nobody else then. */
  readonly settled: SettledFacts | undefined
}

export interface SettledFacts {
  /** Of the hosts of a provider; empty where it is not in use. */
  readonly probes: (provider: ProviderId) => Promise<readonly Probe[]>
  readonly login: (provider: ProviderId) => Promise<LoginState>
  /** With GitHub, for a Copilot token. */
  readonly exchange: () => Promise<ExchangeOutcome>
  readonly account: () => Promise<CopilotUserOutcome>
  /** Asked for with the token of `exchange`; undefined where there is none. */
  readonly copilotModels: () => Promise<ListingOutcome | undefined>
  readonly codexAnswer: () => Promise<CodexAnswer>
  readonly port: () => Promise<PortFacts>
  readonly daemonUrl: string
}

/** How things are said to people. */
export interface Words {
  /** A plan by what it is called on GitHub's pages. */
  readonly planName: (plan: string) => string
  readonly describeFault: (error: ProxyError) => string
  /** Ms since epoch. */
  readonly now: () => number
  /** Decides which commands are named. */
  readonly platform: NodeJS.Platform
}

const names = { copilot: 'Copilot', codex: 'Codex' } as const

/** Every check, in the order in which a person would put things right. */
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
    // That nobody is logged in at all is told once, with Copilot.
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
      // Said already, host by host.
      if (outcome.kind === 'transient' && isCutOff(await probes('copilot'))) return skipped('Needs: Network, Copilot')
      return judgeCopilotToken(outcome)
    }),
    settled({ id: 'token', title: 'Token, Codex', ...ofCodex }, async ({ codexAnswer }) =>
      judgeCodexToken(await codexAnswer(), describeFault, now()),
    ),
    settled({ id: 'entitlement', title: 'Plan, Copilot', ...ofCopilot }, async (known) => {
      // Side by side: a GitHub that does not answer costs its time once.
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

/** Told with the token or the plan. */
function isOfLogin(outcome: ListingOutcome): boolean {
  if (outcome.kind !== 'fault') return false
  const { error } = outcome
  return (
    error.kind === 'codex_unavailable' ||
    planRefusal(error) !== undefined ||
    (error.kind === 'upstream_status' && error.status === 401)
  )
}
