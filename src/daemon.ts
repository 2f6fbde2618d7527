import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { AddressInfo } from 'node:net'
import { fetchAccountInUse } from './account-in-use.ts'
import { completeModels, createAccountModels } from './account-models.ts'
import { buildApp } from './app.ts'
import { createClientIdHeaders } from './auth/client-ids.ts'
import type { CodexAccount, CodexLoginStatus } from './auth/codex/credentials.ts'
import { readPlanUse } from './auth/codex/plan-use.ts'
import type { PlanUse } from './auth/codex/plan-use.ts'
import { codexRecordKind, toCodexRecord } from './auth/codex/record.ts'
import type { CodexRecord } from './auth/codex/record.ts'
import { copilotRecordKind } from './auth/copilot-record-kind.ts'
import type { CopilotToken } from './auth/copilot-token.ts'
import { createSystemKeychain, type Keychain } from './auth/keychain.ts'
import { createMemoryRecordStore } from './auth/memory-record-store.ts'
import { openRecordStore, type RecordPlace } from './auth/open-record-store.ts'
import type { RecordStore } from './auth/record-store.ts'
import type { CopilotRecord } from './auth/wire.ts'
import { connectCodex } from './codex-connection.ts'
import type { CodexConnection } from './codex-connection.ts'
import type { Config } from './config/schema.ts'
import { secretValues } from './config/secret-values.ts'
import { connectCopilot } from './copilot-connection.ts'
import type { CopilotConnection } from './copilot-connection.ts'
import type { Engine } from './engine.ts'
import { Fault } from './errors.ts'
import { createMetrics } from './http/metrics.ts'
import type { Executor, ProviderId } from './executors/executor.ts'
import { createKnownSecrets, type KnownSecrets } from './known-secrets.ts'
import type { Logger } from './log.ts'
import { parseCodexModels } from './models/codex-model.ts'
import { codexSeedClientId, codexSeeds } from './models/codex-seeds.ts'
import { parseAccountModels } from './models/auto-model.ts'
import type { Model, ModelListing } from './models/model.ts'
import { providerOfName } from './models/names.ts'
import { createModelRefresh } from './models/refresh.ts'
import { createModelRegistry } from './models/registry.ts'
import { copilotSeeds, seedClientId } from './models/seeds.ts'
import { createSharedFetch } from './shared-fetch.ts'
import { createUsageRecorder } from './totals/recorder.ts'

export interface DaemonOptions {
  readonly config: Config
  readonly authDir: string
  /** Where totals of usage are kept; undefined: in memory alone. */
  readonly usageFile?: string | undefined
  /** Where the ids of this install are kept, for `copilot.client-ids`; undefined: each run has its own. */
  readonly clientIdsFile?: string | undefined
  /** For `auth.store: keychain`; the system's where absent. */
  readonly keychain?: Keychain | undefined
  /** The folder of Codex CLI's own login. */
  readonly codexHome: string | undefined
  readonly version: string
  readonly log: Logger
  /** What must not be told; shared with the log. */
  readonly secrets?: KnownSecrets | undefined
  /** Answer from the simulated Copilot; the stored login is left alone. */
  readonly demo: boolean
  /** `COPILOT_GITHUB_TOKEN`. */
  readonly githubToken: string | undefined
  /** Called when requests begin to be made as somebody else; undefined: nobody is logged in (any more). */
  readonly onAccount?: (account: string | undefined) => void
  /** Takes what should end before the process does, also when it is in a hurry. */
  readonly beforeExit?: (work: Promise<void>) => void
  /** Told how to use memory. */
  readonly engine?: Engine | undefined
  /** For HTTP_PROXY, HTTPS_PROXY and NO_PROXY, and for the way to the keychain. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Daemon {
  /** Where it listens, e.g. `http://127.0.0.1:4141`. */
  readonly url: string
  readonly models: () => readonly { readonly id: string }[]
  /** Takes a changed configuration; host and port stay as they are. */
  readonly reconfigure: (config: Config) => void
  /** Whether the configuration file is not what is in force, because it is not valid; `/healthz` says so. */
  readonly setConfigRefused: (isRefused: boolean) => void
  /** Stops accepting, lets streams finish for at most `graceMs`, then ends them with an error event. */
  readonly close: (graceMs: number) => Promise<void>
}

/**
 * Starts everything and listens.
 * @throws what `listen` threw, untouched (EADDRINUSE …)
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { version, log, env, beforeExit, secrets = createKnownSecrets() } = options
  const demo = options.demo ? await startDemo() : undefined
  const githubToken = demo?.githubToken ?? options.githubToken
  const settle = (changed: Config): Config => demo?.redirect(changed) ?? changed
  let config = settle(options.config)

  const stores: Stores = demo?.stores ?? openStores(options)
  const holdSecrets = (): void => secrets.hold('daemon', githubToken, ...secretValues(config))
  holdSecrets()
  const shared = { fetch: globalThis.fetch, now: Date.now, env, log, noteSecrets: secrets.note, redact: secrets.redact }
  const metrics = createMetrics()
  const observe = (provider: ProviderId) => ({
    onStatus: (status: number) => metrics.upstreamAnswered(provider, status),
    onRefresh: (ok: boolean) => metrics.tokenRefreshed(provider, ok),
  })
  const copilotDeps = {
    ...shared,
    ...observe('copilot'),
    store: stores.copilot,
    githubToken,
    clientIdHeaders: createClientIdHeaders(demo === undefined ? options.clientIdsFile : undefined, log),
  }
  /** Of the account that was last followed. */
  let planUse: PlanUse | undefined
  let planUseOf: string | undefined
  const codexDeps = {
    ...shared,
    ...observe('codex'),
    onStatus(status: number, headers: Parameters<typeof readPlanUse>[0]) {
      metrics.upstreamAnswered('codex', status)
      planUse = readPlanUse(headers, Date.now()) ?? planUse
    },
    store: stores.codex,
    codexHome: options.codexHome,
    version,
    ...(beforeExit && { beforeExit }),
    onModelsChanged: () => codexModels.refresh.listChanged(),
  }
  let copilot = connectCopilot(copilotDeps, config)
  let codex = connectCodex(codexDeps, config)

  const registry = createModelRegistry(
    config.models,
    (provider) => (provider === 'codex' ? codexAbsence(codex?.credentials.status()) : undefined),
    ({ id }, { code, message }) => log.warn({ model: id, code, notice: message }, 'Copilot warns about this model'),
  )
  const refreshDeps = { registry, now: Date.now, setTimer, log }
  const copilotModels = createAccountModels({
    provider: 'copilot',
    seeds: copilotSeeds,
    seedClientId,
    seedsWithoutLogin: true,
    registry,
    createRefresh: (clientId) =>
      createModelRefresh({
        ...refreshDeps,
        name: 'Copilot',
        listModels: (call) => copilot.executor.listModels(call),
        parse: parseAccountModels,
        clientId,
      }),
  })
  const codexModels = createAccountModels({
    provider: 'codex',
    seeds: codexSeeds,
    seedClientId: codexSeedClientId,
    seedsWithoutLogin: false,
    registry,
    createRefresh: (clientId) =>
      createModelRefresh({
        ...refreshDeps,
        name: 'Codex',
        listModels: (call) => executorOf('codex').listModels(call),
        parse: demo === undefined ? parseCodexModels : parseDemoCodexModels,
        clientId,
      }),
  })

  function executorOf(provider: ProviderId): Executor {
    if (provider === 'copilot') return copilot.executor
    if (codex === undefined) throw new Fault({ kind: 'codex_unavailable', ...switchedOff })
    return codex.executor
  }

  const accountInUse = createSharedFetch({
    fetch: (signal) => fetchAccountInUse(copilotDeps, config, signal),
    monotonicMs: () => performance.now(),
    keepMs: accountKeptMs,
    keepFailureMs: failureKeptMs,
  })
  const totals = createUsageRecorder({
    file: demo === undefined ? options.usageFile : undefined,
    now: Date.now,
    setTimer,
    log,
  })

  function followCopilot(token: CopilotToken | undefined): void {
    accountInUse.forget()
    copilotModels.follow(token?.recordId)
    tellAccount(token)
  }

  /** Once for each account: a new connection announces the one in use again. */
  let toldOf: string | undefined
  function tellAccount(token: CopilotToken | undefined): void {
    const account = token === undefined ? undefined : (copilot.tokens.status().login ?? token.recordId)
    const key = account ?? ''
    if (key === toldOf) return
    toldOf = key
    if (account === undefined) tellNobody()
    else options.onAccount?.(account)
  }

  /** Whether it is known if somebody is logged in to Codex; where it is switched off, nobody is. */
  let codexRead = codex === undefined
  function followCodex(account: CodexAccount | undefined): void {
    // A new connection announces the account that is in use again.
    if (account?.id !== planUseOf) planUse = undefined
    planUseOf = account?.id
    codexModels.follow(account?.id)
    codexRead = true
    if (account === undefined) tellNobody()
    else log.info({ account: account.label }, 'logged in to Codex')
  }

  /** Once both logins have been looked for; one of them is enough. */
  function tellNobody(): void {
    if (codexRead && toldOf === '' && !codexModels.isInUse()) options.onAccount?.(undefined)
  }

  /** Right after the start nobody can tell whose models there are. What goes wrong is told where a login is needed. */
  async function loginsRead(name: string, signal: AbortSignal): Promise<void> {
    const wanted = providerOfName(name)
    const starting = [
      ...(wanted === 'codex' ? [] : [copilot.tokens]),
      ...(wanted === 'copilot' || codex === undefined ? [] : [codex.credentials]),
    ].filter((source) => source.status().state === 'starting')
    await Promise.allSettled(starting.map((source) => source.get(signal)))
    signal.throwIfAborted()
  }

  let unfollowCopilot = copilot.tokens.onChange(followCopilot)
  let unfollowCodex = codex?.credentials.onChange(followCodex)

  let isConfigRefused = false
  const app = buildApp({
    config: () => config,
    isConfigRefused: () => isConfigRefused,
    registry,
    async completeModels(name, how) {
      await loginsRead(name, how.signal)
      return completeModels([copilotModels, codexModels], name, how)
    },
    executorOf,
    tokenStatus: () => copilot.tokens.status(),
    codexStatus: () => codex?.credentials.status(),
    planUse: () => (codex === undefined ? undefined : planUse),
    account: accountInUse.get,
    totals,
    metrics,
    version,
    demo: options.demo,
    log,
    redact: secrets.redact,
    now: Date.now,
    randomId: randomUUID,
    engine: options.engine,
  })

  const retiring = new Set<Promise<void>>()
  let closing: Promise<void> | undefined

  /** Requests that are under way end on the connection they began on, also those that still wait for their turn. */
  function retire(old: CopilotConnection | CodexConnection): void {
    const done = app
      .drained()
      .then(old.close)
      .catch((error: unknown) => log.warn({ err: error }, 'an old connection pool did not close'))
      .finally(() => retiring.delete(done))
    retiring.add(done)
  }

  async function closeAll(graceMs: number): Promise<void> {
    await app.close(graceMs)
    totals.close()
    await closeUpstream()
  }

  async function closeUpstream(): Promise<void> {
    unfollowCopilot()
    unfollowCodex?.()
    copilotModels.refresh.stop()
    codexModels.refresh.stop()
    await Promise.all([...retiring, copilot.close(), codex?.close()])
    await demo?.close()
  }

  try {
    await app.listen(config.server)
  } catch (error) {
    await closeUpstream()
    throw error
  }

  return {
    url: urlOf(config.server.host, app.address()),
    models: registry.list,

    reconfigure(changed) {
      const before = config
      config = settle(changed)
      holdSecrets()
      registry.setNaming(config.models)
      app.reconfigured()
      if (
        !isDeepStrictEqual(config.copilot, before.copilot) ||
        !isDeepStrictEqual(config.copilotOauth, before.copilotOauth)
      ) {
        unfollowCopilot()
        accountInUse.forget()
        retire(copilot)
        copilot = connectCopilot(copilotDeps, config)
        unfollowCopilot = copilot.tokens.onChange(followCopilot)
      }
      if (!isDeepStrictEqual(config.codex, before.codex)) {
        unfollowCodex?.()
        if (codex !== undefined) retire(codex)
        codex = connectCodex(codexDeps, config)
        if (codex === undefined) codexModels.follow(undefined)
        unfollowCodex = codex?.credentials.onChange(followCodex)
      }
    },

    setConfigRefused(isRefused) {
      isConfigRefused = isRefused
    },

    close: (graceMs) => (closing ??= closeAll(graceMs)),
  }
}

/** What GitHub says of the account is asked again after this, a failure sooner. Ms. */
const accountKeptMs = 60_000
const failureKeptMs = 5_000

function setTimer(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}

/** Why there is no Codex model at all. */
function codexAbsence(
  status: CodexLoginStatus | undefined,
): { readonly detail: string; readonly fix: string } | undefined {
  if (status === undefined) return switchedOff
  return status.state === 'ok' ? undefined : { detail: status.detail, fix: status.fix }
}

const switchedOff = { detail: 'Codex is switched off', fix: 'Switch it on with the setting codex.enabled.' }

interface Stores {
  readonly copilot: RecordStore<CopilotRecord>
  readonly codex: RecordStore<CodexRecord>
}

/** Each provider sees its own records only. */
function openStores({ authDir, config, env, keychain = createSystemKeychain({ env }), log }: DaemonOptions): Stores {
  const place: RecordPlace = { dir: authDir, rules: config.auth, keychain, told: new Set() }
  return {
    copilot: openRecordStore(copilotRecordKind, place, log),
    codex: openRecordStore(codexRecordKind, place, log),
  }
}

/** The catalogue names no owner; the simulated Copilot's does, and says what it is. */
function parseDemoCodexModels(reply: unknown): ModelListing | undefined {
  const listing = parseCodexModels(reply)
  return listing && { ...listing, models: listing.models.map(ownedByDemo) }
}

function ownedByDemo(model: Model): Model {
  return { ...model, vendor: 'Simulated OpenAI (demo)' }
}

/** The simulated Copilot and the simulated Codex, each on a loopback port of its own, and how a configuration is pointed at them. */
async function startDemo() {
  const [{ startDemoServer }, { startDemoCodex }] = await Promise.all([
    import('./demo/server.ts'),
    import('./demo/codex/server.ts'),
  ])
  // A pace at which a person sees the text flow.
  const settings = { eventDelayMs: 15 }
  const [copilot, codex] = await Promise.all([startDemoServer({ settings }), startDemoCodex({ settings })])
  const login = toCodexRecord(codex.login(), { nowMs: Date.now(), issuer: codex.issuer })
  return {
    githubToken: copilot.tokens.issueGithub(),
    stores: {
      copilot: createMemoryRecordStore(copilotRecordKind, []),
      codex: createMemoryRecordStore(codexRecordKind, login === undefined ? [] : [login]),
    },
    redirect: (config: Config): Config => ({
      ...config,
      copilotOauth: { ...config.copilotOauth, githubBaseUrl: copilot.url, githubApiBaseUrl: copilot.url },
      copilot: { ...config.copilot, baseUrl: copilot.url },
      codex: {
        ...config.codex,
        apiKey: '',
        useCliLogin: false,
        baseUrl: codex.baseUrl,
        apiBaseUrl: codex.apiBaseUrl,
        issuer: codex.issuer,
      },
    }),
    async close() {
      await Promise.all([copilot.close(), codex.close()])
    },
  }
}

function urlOf(host: string, address: AddressInfo): string {
  const reachable = address.address === '0.0.0.0' ? '127.0.0.1' : address.address === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${address.port}`
}
