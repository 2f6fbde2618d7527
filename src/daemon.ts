import { randomBytes, randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { AddressInfo } from 'node:net'
import { fetchAccountInUse } from './auth/copilot/account-in-use.ts'
import { completeModels, createAccountModels } from './models/account-models.ts'
import { buildApp } from './app.ts'
import { createClientIdHeaders } from './auth/copilot/client-ids.ts'
import type { CodexAccount, CodexLoginStatus } from './auth/codex/credentials.ts'
import { readPlanUse } from './auth/codex/plan-use.ts'
import type { PlanUse } from './auth/codex/plan-use.ts'
import { codexRecordKind, toCodexRecord } from './auth/codex/record.ts'
import type { CodexRecord } from './auth/codex/record.ts'
import { copilotRecordKind } from './auth/copilot/record.ts'
import type { CopilotToken } from './auth/copilot/token.ts'
import { createSystemKeychain, type Keychain } from './auth/records/keychain.ts'
import { createMemoryRecordStore } from './auth/records/memory-record-store.ts'
import { openRecordStore, type StoreLocation } from './auth/records/open-record-store.ts'
import type { RecordStore } from './auth/records/record-store.ts'
import type { CopilotRecord } from './auth/copilot/wire.ts'
import { connectCodex } from './executors/codex-connection.ts'
import type { CodexConnection } from './executors/codex-connection.ts'
import type { Config } from './config/schema.ts'
import { secretValues } from './config/secrets.ts'
import { connectCopilot } from './executors/copilot-connection.ts'
import type { CopilotConnection } from './executors/copilot-connection.ts'
import type { Engine } from './http/engine-memory.ts'
import { Fault } from './errors.ts'
import { createMetrics } from './usage/metrics.ts'
import type { Executor, ProviderId } from './executors/executor.ts'
import { createKnownSecrets, type KnownSecrets } from './redaction/known-secrets.ts'
import type { Logger } from './logging/logger.ts'
import { parseCodexModels } from './models/codex-model.ts'
import { codexSeedClientId, codexSeeds, copilotSeeds, seedClientId } from './models/seeds.ts'
import { parseAccountModels } from './models/auto-model.ts'
import type { Model, ModelListing } from './models/model.ts'
import { providerOfName } from './models/names.ts'
import { createModelRefresh } from './models/refresh.ts'
import { createModelRegistry } from './models/registry.ts'
import { createSharedFetch } from './auth/shared-fetch.ts'
import type { ModelAnswer } from './pipeline/model-answer.ts'
import { createPipeline } from './pipeline/pipeline.ts'
import type { Pipeline } from './pipeline/pipeline.ts'
import { keyRefusal } from './pipeline/route-model.ts'
import type { GatewaySwitch } from './gateway/gateway-switch.ts'
import type { McpServers } from './mcp/servers/mcp-servers.ts'
import type { Companion } from './sessions/open-companion.ts'
import { createUsageRecorder } from './usage/recorder.ts'
import { createRequestList } from './usage/requests.ts'

export interface DaemonOptions {
  readonly config: Config
  readonly authDir: string
  /** The file of usage totals; undefined: totals stay in memory. */
  readonly usageFile?: string | undefined
  /** The file of this install's ids, for `copilot.client-ids`; undefined: each run has its own ids. */
  readonly clientIdsFile?: string | undefined
  /** The folder for the journals of workspaces; undefined: tools write nothing. */
  readonly workspacesDir?: string | undefined
  /**
   * False: messages and runs are in memory only, because another process has the file of `workspacesDir`. `if-free`: unless
   * another process has it. Default: true.
   */
  readonly keepsSessions?: boolean | 'if-free' | undefined
  /** The folder for the record of the gateway for tool providers; undefined: it has none. */
  readonly gatewayDir?: string | undefined
  /** Who listens on a port in use, e.g. `node (process 17)`. Default: another program. */
  readonly portHolder?: ((address: { readonly host: string; readonly port: number }) => Promise<string>) | undefined
  /** The user's own folder, for paths of workspaces that begin with `~` and for ~/.copilot. May throw. */
  readonly homeDir?: (() => string) | undefined
  /** For `auth.store: keychain`. Default: the system's. */
  readonly keychain?: Keychain | undefined
  /** The folder of Codex CLI's own login. */
  readonly codexHome: string | undefined
  readonly version: string
  readonly log: Logger
  /** Credentials to redact; shared with the log. */
  readonly secrets?: KnownSecrets | undefined
  /** Answer from the simulated Copilot, without the stored login. */
  readonly demo: boolean
  /** `COPILOT_GITHUB_TOKEN`. */
  readonly githubToken: string | undefined
  /** Called when another account is used for requests; undefined: nobody is logged in. */
  readonly onAccount?: (account: string | undefined) => void
  /** Called with work that must end before the process exits, even on a forced exit. */
  readonly beforeExit?: (work: Promise<void>) => void
  /** Absent: V8 keeps its default memory rules. */
  readonly engine?: Engine | undefined
  /** Read for HTTP_PROXY, HTTPS_PROXY and NO_PROXY, and by the keychain helpers. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Daemon {
  /** E.g. `http://127.0.0.1:4141`. */
  readonly url: string
  readonly models: () => readonly { readonly id: string }[]
  /** For programs inside the daemon that need a model. */
  readonly runTurn: Pipeline['runTurn']
  /** Applies a changed configuration, except host and port. */
  readonly reconfigure: (config: Config) => void
  /** Sets whether the configuration file is invalid and earlier settings stay in force; `/healthz` reports it. */
  readonly setConfigRefused: (isRefused: boolean) => void
  /** Stops accepting, lets streams finish for at most `graceMs`, then ends them with an error event. */
  readonly close: (graceMs: number) => Promise<void>
}

/**
 * Starts everything and listens.
 * @throws the error of `listen`, unchanged (EADDRINUSE …)
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { version, log, env, beforeExit, secrets = createKnownSecrets() } = options
  const demo = options.demo ? await startDemo() : undefined
  const githubToken = demo?.githubToken ?? options.githubToken
  const redirected = (changed: Config): Config => demo?.redirect(changed) ?? changed
  let config = redirected(options.config)

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
  /** Plan use of the Codex account `planAccountId`. */
  let planUse: PlanUse | undefined
  let planAccountId: string | undefined
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
  const warnedTargets = new Set<string>()
  function warnOfDeadTargets(): void {
    for (const { alias, target } of registry.deadTargets()) {
      const key = JSON.stringify([alias, target])
      if (warnedTargets.has(key)) continue
      warnedTargets.add(key)
      log.warn({ alias, target }, 'the target of an alias is not in the model list (models.aliases)')
    }
  }
  function register(...models: Parameters<typeof registry.register>): void {
    registry.register(...models)
    warnOfDeadTargets()
  }
  const refreshDeps = { registry: { register }, now: Date.now, setTimer, log }
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
    announceCopilot(token)
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
    const account = token === undefined ? undefined : (copilot.tokens.status().login ?? token.recordId)
    const key = account ?? ''
    if (key === announcedAccount) return
    announcedAccount = key
    if (account === undefined) announceNoAccount()
    else announce(() => options.onAccount?.(account))
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
    if (isCodexRead && announcedAccount === '' && !codexModels.isInUse()) announce(() => options.onAccount?.(undefined))
  }

  /**
   * Waits until the logins have been read, because the models depend on them. Ignores failures, which are reported when
   * a request needs the login.
   */
  async function awaitLogins(name: string, signal: AbortSignal): Promise<void> {
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
  const common = {
    config: () => config,
    registry,
    totals,
    requests: createRequestList({ keepsBodies: () => config.log.bodies, redact: secrets.redact }),
    metrics,
    log,
    redact: secrets.redact,
    now: Date.now,
  }
  const pipeline = createPipeline({
    ...common,
    async completeModels(name, how) {
      await awaitLogins(name, how.signal)
      return completeModels([copilotModels, codexModels], name, how)
    },
    executorOf,
    salt: randomBytes(16).toString('hex'),
  })

  let companion: Promise<Companion> | undefined
  let openNow: Companion | undefined
  let gateway: GatewaySwitch | undefined
  let mcpServers: McpServers | undefined
  /** Opens workspaces when the first one is configured: until then, nothing of them is loaded. */
  async function openCompanion(): Promise<Companion> {
    const [opened, { createGatewaySwitch }, { createMcpServers }] = await Promise.all([
      import('./sessions/open-companion.ts'),
      import('./gateway/gateway-switch.ts'),
      import('./mcp/servers/mcp-servers.ts'),
    ])
    gateway ??= createGatewaySwitch({
      config: () => config,
      dataDir: options.gatewayDir,
      env,
      homeDir: options.homeDir ?? noHome,
      portHolder: options.portHolder ?? (async () => 'another program'),
      holdSecrets: (...values) => secrets.hold('gateway', ...values),
      log,
      setTimer,
    })
    mcpServers ??= createMcpServers({
      settings: () => config.mcpServers,
      providerToken: () => gateway?.token(),
      homeDir: options.homeDir ?? noHome,
      env,
      version,
      redact: secrets.redact,
      log,
      now: () => performance.now(),
      setTimer,
    })
    return opened.openCompanion({
      config: () => config,
      dataDir: options.workspacesDir,
      keepsSessions: options.keepsSessions ?? true,
      homeDir: options.homeDir ?? noHome,
      runTurn: (call) => runWithinLimits(call),
      modelFacts,
      defaultModel,
      setTimer,
      randomId: randomUUID,
      sources: [mcpServers, gateway.tools],
      log,
    })
  }

  /** Opens or closes the gateway for tool providers, as the configuration says. */
  async function updateGateway(): Promise<void> {
    const host = config.workspaces.length > 0 ? openNow : undefined
    await gateway?.update(host && { ...host.sessions, workspaces: host.workspaces })
  }

  /** A daemon that was killed has left its token where providers look; this one may open no gateway that replaces it. */
  async function removeStaleTokens(): Promise<void> {
    const dir = options.gatewayDir
    const files = dir === undefined ? [] : await readdir(dir).catch(() => [])
    if (dir === undefined || files.length === 0) return
    const { removeStaleRecords } = await import('./gateway/gateway-switch.ts')
    await removeStaleRecords(dir, log)
  }

  /** As `pipeline.runTurn`, within the limits of the key. */
  async function runWithinLimits(call: Parameters<typeof pipeline.runTurn>[0]): Promise<ModelAnswer> {
    // The message that began a run was counted when it came.
    if (call.initiator === 'agent') await app.admitTurn(call.keyName, call.signal)
    const leave = app.creditLimit.enter(call.keyName)
    try {
      const answer = await pipeline.runTurn(call)
      return { ...answer, events: withEnd(answer.events, leave) }
    } catch (error) {
      leave()
      throw error
    }
  }

  function modelFacts(name: string) {
    const found = registry.resolve(name)
    if (!found.ok) return undefined
    const { maxPromptTokens, contextWindow, supports } = found.value.model
    return { contextTokens: maxPromptTokens ?? contextWindow, hasToolCalls: supports.toolCalls !== false }
  }

  /** The choice of `launch opencode` among the models that the key may use. */
  async function defaultModel(keyName: string | undefined, signal: AbortSignal): Promise<string> {
    await awaitLogins('', signal)
    await completeModels([copilotModels, codexModels], '', { retry: false, signal })
    const { chooseAgentModel } = await import('./client-settings/choose-models.ts')
    const models = registry
      .list()
      .filter((entry) => entry.model.type === 'chat' && keyRefusal(config, keyName, entry.id, entry) === undefined)
    const chosen = chooseAgentModel(
      models.map(({ id, model }) => ({ id, tools: model.supports.toolCalls !== false, routes: {} })),
    )
    return chosen?.id ?? 'auto'
  }

  async function updateWorkspaces(): Promise<void> {
    if (companion === undefined && config.workspaces.length === 0) return
    try {
      const isNew = companion === undefined
      const opened = await (companion ??= openCompanion())
      openNow = opened
      if (!isNew) await opened.workspaces.reconfigure()
    } catch (error) {
      companion = undefined
      log.error({ err: error }, 'the workspaces cannot be opened')
    }
  }

  const app = buildApp({
    ...common,
    workspaces: () => (config.workspaces.length > 0 ? openNow?.workspaces : undefined),
    mcpServers: (session) => mcpServers?.listing(session) ?? [],
    companion: async () => (config.workspaces.length > 0 ? companion : undefined),
    pipeline,
    isConfigRefused: () => isConfigRefused,
    tokenStatus: () => copilot.tokens.status(),
    codexStatus: () => codex?.credentials.status(),
    planUse: () => (codex === undefined ? undefined : planUse),
    account: accountInUse.get,
    version,
    demo: options.demo,
    randomId: randomUUID,
    engine: options.engine,
  })

  const retiring = new Set<Promise<void>>()
  let closing: Promise<void> | undefined

  /** Closes a replaced connection after all requests that run or wait now have ended, because they use it. */
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
    await gateway?.close(Math.min(graceMs, goodbyeMs))
    await Promise.all([closeWorkspaces(), mcpServers?.close()])
    totals.close()
    await closeUpstream()
  }

  async function closeWorkspaces(): Promise<void> {
    const opened = await companion?.catch(() => undefined)
    opened?.close()
  }

  async function closeUpstream(): Promise<void> {
    unfollowCopilot()
    unfollowCodex?.()
    copilotModels.refresh.stop()
    codexModels.refresh.stop()
    await Promise.all([...retiring, copilot.close(), codex?.close()])
    await demo?.close()
  }

  await updateWorkspaces()
  try {
    await app.listen(config.server)
  } catch (error) {
    await closeWorkspaces()
    await closeUpstream()
    throw error
  }
  const announcements = pendingAnnouncements
  pendingAnnouncements = undefined
  for (const tell of announcements) tell()

  await updateGateway()
  await removeStaleTokens()

  return {
    url: urlOf(config.server.host, app.address()),
    models: registry.list,
    runTurn: pipeline.runTurn,

    reconfigure(changed) {
      const before = config
      config = redirected(changed)
      holdSecrets()
      registry.setNaming(config.models)
      warnOfDeadTargets()
      app.reconfigured()
      if (!isDeepStrictEqual(config.workspaces, before.workspaces)) void updateWorkspaces().then(updateGateway)
      else if (!isDeepStrictEqual(config.gateway, before.gateway)) void updateGateway()
      if (!isDeepStrictEqual(config.mcpServers, before.mcpServers)) mcpServers?.reconfigure()
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

/** The events, and a call when they have ended or are left. */
async function* withEnd<Event>(events: AsyncIterable<Event>, end: () => void): AsyncGenerator<Event> {
  try {
    yield* events
  } finally {
    end()
  }
}

/** For tool providers to end after the last request. Ms. */
const goodbyeMs = 5000

function noHome(): never {
  throw new Error('You have no home folder.')
}

/** How long GitHub's account data is cached, and how long a failure. Ms. */
const accountKeptMs = 60_000
const failureKeptMs = 5_000

function setTimer(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}

/** The reason why there are no Codex models; undefined if Codex is available. */
function codexAbsence(
  status: CodexLoginStatus | undefined,
): { readonly detail: string; readonly fix: string } | undefined {
  if (status === undefined) return switchedOff
  return status.state === 'ok' ? undefined : { detail: status.detail, fix: status.fix }
}

const switchedOff = { detail: 'Codex is disabled (codex.enabled: false)', fix: 'Set codex.enabled to true.' }

interface Stores {
  readonly copilot: RecordStore<CopilotRecord>
  readonly codex: RecordStore<CodexRecord>
}

/** Each provider sees its own records only. */
function openStores({ authDir, config, env, keychain = createSystemKeychain({ env }), log }: DaemonOptions): Stores {
  const location: StoreLocation = { dir: authDir, rules: config.auth, keychain, warned: new Set() }
  return {
    copilot: openRecordStore(copilotRecordKind, location, log),
    codex: openRecordStore(codexRecordKind, location, log),
  }
}

/** Codex's model list names no vendor, so models of the demo get one that says they are simulated. */
function parseDemoCodexModels(reply: unknown): ModelListing | undefined {
  const listing = parseCodexModels(reply)
  return listing && { ...listing, models: listing.models.map(ownedByDemo) }
}

function ownedByDemo(model: Model): Model {
  return { ...model, vendor: 'Simulated OpenAI (demo)' }
}

/** Starts the simulated Copilot and Codex on loopback ports; `redirect` points a configuration at them. */
async function startDemo() {
  const [{ startDemoServer }, { startDemoCodex }] = await Promise.all([
    import('./demo/server.ts'),
    import('./demo/codex/server.ts'),
  ])
  // Slow enough for a person to see the text stream.
  const pace = { eventDelayMs: 15 }
  const [copilot, codex] = await Promise.all([startDemoServer(pace), startDemoCodex(pace)])
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
