import { isDeepStrictEqual } from 'node:util'
import type { CopilotToken } from '../auth/copilot/token.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import type { CodexAccount, CodexLoginStatus } from '../auth/codex/credentials.ts'
import { readPlanUse } from '../auth/codex/plan-use.ts'
import type { PlanUse } from '../auth/codex/plan-use.ts'
import type { CodexRecord } from '../auth/codex/record.ts'
import type { RecordStore } from '../auth/records/record-store.ts'
import { keyLimitsOf } from '../config/api-keys.ts'
import type { CallerKey } from '../config/caller.ts'
import type { Config } from '../config/schema.ts'
import { Fault, type ProxyError } from '../errors.ts'
import type { connectCodex, CodexConnection } from '../executors/codex-connection.ts'
import type { CopilotConnection } from '../executors/copilot-connection.ts'
import type { Executor, ProviderId } from '../executors/executor.ts'
import type { Logger } from '../logging/logger.ts'
import { completeModels, createAccountModels } from '../models/account-models.ts'
import type { ModelListing } from '../models/model.ts'
import { providerOfName } from '../models/names.ts'
import { createModelRefresh } from '../models/refresh.ts'
import { createModelRegistry, createRegistryGroup } from '../models/registry.ts'
import type { ModelRegistry } from '../models/registry.ts'
import { codexSeedClientId, codexSeeds } from '../models/seeds.ts'
import type { ModelAccess } from '../pipeline/pipeline-state.ts'
import type { NoteSecrets } from '../redaction/known-secrets.ts'
import type { Metrics } from '../usage/metrics.ts'
import { createCopilotSide } from './copilot-side.ts'
import type { CopilotService, CopilotSide } from './copilot-side.ts'

/** The two providers, or their simulations. */
export interface ProviderServices {
  readonly copilot: CopilotService
  readonly codex: {
    readonly connect: typeof connectCodex
    readonly parseModels: (reply: unknown) => ModelListing | undefined
  }
}

export interface ProvidersDeps {
  readonly config: () => Config
  readonly services: ProviderServices
  /** Each provider sees its own records only. */
  readonly stores: { readonly copilot: RecordStore<CopilotRecord>; readonly codex: RecordStore<CodexRecord> }
  readonly githubToken: string | undefined
  /** The file of this install's ids; undefined: each run has its own ids. */
  /** The folder of Codex CLI's own login. */
  readonly codexHome: string | undefined
  readonly version: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ms since epoch. */
  readonly now: () => number
  readonly metrics: Metrics
  /** Called with every credential that a login has. */
  readonly noteSecrets: NoteSecrets
  /** Removes credentials from the texts of providers. */
  readonly redact: (text: string) => string
  readonly log: Logger
  /** For the fetching of model lists and what they say. Default: `log`. */
  readonly modelsLog?: Logger
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  /** Called when another account is used for requests; undefined: nobody is logged in. */
  readonly onAccount: ((account: string | undefined) => void) | undefined
  /** Called with work that must end before the process exits. */
  readonly beforeExit: ((work: Promise<void>) => void) | undefined
  /** Resolves when every request that runs or waits at the call has ended. */
  readonly drained: () => Promise<void>
  /** Called when the models or their names may have changed. */
  readonly onModels: () => void
}

const switchedOff = { detail: 'Codex is disabled (codex.enabled: false)', fix: 'Set codex.enabled to true.' }

/** Creates the connections to Copilot and Codex, and follows their logins and model lists. */
export function connectProviders(deps: ProvidersDeps) {
  const { config, metrics, noteSecrets, redact, log, modelsLog = log, env, now, setTimer } = deps
  const shared = { fetch: globalThis.fetch, now, env, log, noteSecrets, redact }
  const observe = (provider: ProviderId) => ({
    onStatus: (status: number) => metrics.upstreamAnswered(provider, status),
    onRefresh: (ok: boolean) => metrics.tokenRefreshed(provider, ok),
  })
  const copilotDeps = {
    ...shared,
    ...observe('copilot'),
    store: deps.stores.copilot,
    githubToken: deps.githubToken,
  }
  /** Plan use of the Codex account `planAccountId`. */
  let planUse: PlanUse | undefined
  let planAccountId: string | undefined
  const codexDeps = {
    ...shared,
    ...observe('codex'),
    onStatus(status: number, headers: Parameters<typeof readPlanUse>[0]) {
      metrics.upstreamAnswered('codex', status)
      planUse = readPlanUse(headers, now()) ?? planUse
    },
    store: deps.stores.codex,
    codexHome: deps.codexHome,
    version: deps.version,
    ...(deps.beforeExit && { beforeExit: deps.beforeExit }),
    onModelsChanged: () => codexModels.refresh.listChanged(),
  }
  let codex = deps.services.codex.connect(codexDeps, config())

  const createRegistry = () =>
    createModelRegistry(
      config().models,
      (provider) => (provider === 'codex' ? codexAbsence(codex?.credentials.status()) : undefined),
      ({ id }, { code, message }) =>
        modelsLog.warn({ model: id, code, notice: message }, 'Copilot warns about this model'),
    )
  /** The models of the account in use. */
  const registry = createRegistry()
  const warnedTargets = new Set<string>()
  function warnOfDeadTargets(): void {
    for (const { alias, target } of registry.deadTargets()) {
      const key = JSON.stringify([alias, target])
      if (warnedTargets.has(key)) continue
      warnedTargets.add(key)
      modelsLog.warn({ alias, target }, 'the target of an alias is not in the model list (models.aliases)')
    }
  }
  function modelsChanged(): void {
    warnOfDeadTargets()
    deps.onModels()
  }
  const retiring = new Set<Promise<void>>()
  /** Closes a replaced connection after all requests that run or wait now have ended, because they use it. */
  function retire(old: Pick<CopilotConnection | CodexConnection, 'close'>): void {
    const done = deps
      .drained()
      .then(old.close)
      .catch((error: unknown) => log.warn({ err: error }, 'an old connection pool did not close'))
      .finally(() => retiring.delete(done))
    retiring.add(done)
  }

  const sideDeps = { service: deps.services.copilot, config, retire, setTimer, log: modelsLog }
  const copilot = createCopilotSide({
    ...sideDeps,
    connection: copilotDeps,
    registry,
    onModels: modelsChanged,
    onToken: announceCopilot,
  })
  const registries = createRegistryGroup([registry])
  const codexModels = createAccountModels({
    provider: 'codex',
    seeds: codexSeeds,
    seedClientId: codexSeedClientId,
    seedsWithoutLogin: false,
    registry: registries,
    createRefresh: (clientId) =>
      createModelRefresh({
        registry: {
          register(...list) {
            registries.register(...list)
            modelsChanged()
          },
        },
        now,
        setTimer,
        log: modelsLog,
        name: 'Codex',
        listModels: (call) => codexExecutor().listModels(call),
        parse: deps.services.codex.parseModels,
        clientId,
      }),
  })

  /** The accounts that keys name, apart from each other and from the account in use; by name in lower case. */
  const named = new Map<string, KeyAccount>()
  function followKeyAccounts(): void {
    const wanted = new Map<string, string>()
    for (const { account } of Object.values(config().server.keyLimits)) {
      if (account !== undefined) wanted.set(account.toLowerCase(), account)
    }
    for (const [id, { side, registry: own }] of named) {
      if (wanted.has(id)) continue
      named.delete(id)
      registries.remove(own)
      retire(side)
    }
    for (const [id, account] of wanted) {
      if (named.has(id)) continue
      const own = createRegistry()
      registries.add(own)
      // The token of the environment is one of another account.
      const connection = { ...copilotDeps, githubToken: undefined }
      named.set(id, { registry: own, side: createCopilotSide({ ...sideDeps, connection, account, registry: own }) })
    }
  }
  followKeyAccounts()

  /** What requests of the key use. */
  function accountOf(keyName: string | undefined): KeyAccount {
    const name = keyLimitsOf(config().server, keyName)?.account
    return (name === undefined ? undefined : named.get(name.toLowerCase())) ?? { registry, side: copilot }
  }

  function codexExecutor(): Executor {
    if (codex === undefined) throw new Fault({ kind: 'codex_unavailable', ...switchedOff })
    return codex.executor
  }

  const accesses = new WeakMap<CopilotConnection, ModelAccess>()
  /** The models and connections for a request that begins now, also for its later parts. */
  function accessOf(key: Pick<CallerKey, 'name'> | undefined): ModelAccess {
    const { registry: models, side } = accountOf(key?.name)
    const connection = side.connection()
    const access = accesses.get(connection) ?? {
      registry: models,
      executorOf: (provider) => (provider === 'copilot' ? connection.executor : codexExecutor()),
      async completeModels(name, options) {
        await awaitLogins(name, connection, options.signal)
        return completeModels([side.models, codexModels], name, options)
      },
    }
    accesses.set(connection, access)
    return access
  }

  /** Undefined once the daemon listens. Before that, it may still fail to start, e.g. because its port is in use. */
  let pendingAnnouncements: (() => void)[] | undefined = []
  function announce(tell: () => void): void {
    if (pendingAnnouncements === undefined) tell()
    else pendingAnnouncements.push(tell)
  }

  /** `''`: nobody is logged in to Copilot. Undefined: not known yet. */
  let announcedAccount: string | undefined
  /** Announces each account once, although every new connection reports its account again. */
  function announceCopilot(token: CopilotToken | undefined): void {
    const account = token === undefined ? undefined : (copilot.connection().tokens.status().login ?? token.recordId)
    const key = account ?? ''
    if (key === announcedAccount) return
    announcedAccount = key
    if (account === undefined) announceNoAccount()
    else announce(() => deps.onAccount?.(account))
  }

  /** Whether the Codex login has been read, or Codex is switched off. */
  let isCodexRead = codex === undefined
  function followCodex(account: CodexAccount | undefined): void {
    // Every new connection reports its account, often the same one.
    if (account?.id !== planAccountId) planUse = undefined
    planAccountId = account?.id
    codexModels.follow(account?.id)
    isCodexRead = true
    if (account === undefined) announceNoAccount()
    else announce(() => log.info({ account: account.label }, 'logged in to Codex'))
  }

  /** Announces that nobody is logged in, once both logins have been read and neither exists. */
  function announceNoAccount(): void {
    if (isCodexRead && announcedAccount === '' && !codexModels.isInUse()) announce(() => deps.onAccount?.(undefined))
  }

  /**
   * Waits until the logins have been read, because the models depend on them. Ignores failures, which are reported when
   * a request needs the login.
   */
  async function awaitLogins(name: string, { tokens }: CopilotConnection, signal: AbortSignal): Promise<void> {
    const wanted = providerOfName(name)
    const starting = [
      ...(wanted === 'codex' ? [] : [tokens]),
      ...(wanted === 'copilot' || codex === undefined ? [] : [codex.credentials]),
    ].filter((source) => source.status().state === 'starting')
    await Promise.allSettled(starting.map((source) => source.get(signal)))
    signal.throwIfAborted()
  }

  let unfollowCodex = codex?.credentials.onChange(followCodex)

  return {
    registry,
    accessOf,
    followLogin: (key: Pick<CallerKey, 'name'> | undefined) => accountOf(key?.name).side.followLogin(),
    tokenStatus: () => copilot.connection().tokens.status(),
    codexStatus: () => codex?.credentials.status(),
    planUse: () => (codex === undefined ? undefined : planUse),
    /**
     * Fetches the model list of a provider for the account in use, with a new token if that is due.
     * @throws Fault `copilot_unavailable`, `codex_unavailable`; the signal's reason on abort
     */
    async fetchModels(provider: ProviderId, signal: AbortSignal): Promise<ProxyError | undefined> {
      const [source, models] =
        provider === 'copilot' ? [copilot.connection().tokens, copilot.models] : [codex?.credentials, codexModels]
      await source?.get(signal)
      const outcome = await models.refresh.refresh({ signal })
      return outcome.kind === 'kept' ? outcome.error : undefined
    },
    /** Fetches the model list of the account in use. */
    refreshModels: (signal: AbortSignal) => copilot.models.refresh.refresh({ signal }),
    /** GitHub's data about the account of the key. */
    account: (signal: AbortSignal, key?: Pick<CallerKey, 'name'>) => accountOf(key?.name).side.account(signal),
    /** Call once the daemon listens: reports the accounts found so far, and later ones at once. */
    announceAccounts(): void {
      const announcements = pendingAnnouncements ?? []
      pendingAnnouncements = undefined
      for (const tell of announcements) tell()
    },
    /** Call after the configuration has changed. */
    reconfigure(before: Config): void {
      const after = config()
      const isSame = (...sections: readonly (keyof Config)[]) =>
        sections.every((section) => isDeepStrictEqual(after[section], before[section]))
      followKeyAccounts()
      for (const each of [registry, ...[...named.values()].map((account) => account.registry)])
        each.setNaming(after.models)
      modelsChanged()
      if (!isSame('copilot', 'copilotOauth')) {
        for (const each of [copilot, ...[...named.values()].map(({ side }) => side)]) each.reconnect()
      }
      if (!isSame('codex') || !isDeepStrictEqual(after.copilot.timeouts, before.copilot.timeouts)) {
        unfollowCodex?.()
        if (codex !== undefined) retire(codex)
        codex = deps.services.codex.connect(codexDeps, after)
        if (codex === undefined) codexModels.follow(undefined)
        unfollowCodex = codex?.credentials.onChange(followCodex)
      }
    },
    async close(): Promise<void> {
      unfollowCodex?.()
      codexModels.refresh.stop()
      const sides = [copilot, ...[...named.values()].map(({ side }) => side)]
      await Promise.all([...retiring, ...sides.map((side) => side.close()), codex?.close()])
    },
  }
}

/** An account of requests, with its models. */
interface KeyAccount {
  readonly registry: ModelRegistry
  readonly side: CopilotSide
}

/** The reason why there are no Codex models; undefined if Codex is available. */
function codexAbsence(
  status: CodexLoginStatus | undefined,
): { readonly detail: string; readonly fix: string } | undefined {
  if (status === undefined) return switchedOff
  return status.state === 'ok' ? undefined : { detail: status.detail, fix: status.fix }
}
