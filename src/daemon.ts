import { randomBytes, randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { pid, platform } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { buildApp } from './app.ts'
import { codexRecordKind } from './auth/codex/record.ts'
import { copilotRecordKind } from './auth/copilot/record.ts'
import { createSystemKeychain, type Keychain } from './auth/records/keychain.ts'
import { createMemoryRecordStore } from './auth/records/memory-record-store.ts'
import { openRecordStore, otherStoreLocation, type StoreLocation } from './auth/records/open-record-store.ts'
import { findProcessStart } from './auth/records/process-start.ts'
import { fingerprints, networkVariables } from './config/network-variables.ts'
import type { OwnPaths } from './config/paths.ts'
import type { Config } from './config/schema.ts'
import { createCatalogueFile } from './daemon/codex-catalogue-file.ts'
import type { CodexFiles } from './daemon/codex-catalogue-file.ts'
import { createCompanionSwitch } from './daemon/companion-switch.ts'
import { createLogins } from './daemon/logins.ts'
import type { LoginStores } from './daemon/logins.ts'
import { createSecretSets } from './daemon/secret-sets.ts'
import { publishOwnerToken } from './daemon/owner-token-file.ts'
import { providerServices } from './daemon/provider-services.ts'
import { connectProviders } from './daemon/providers.ts'
import { createOwnerAccess, ownerHash } from './http/access/owner-access.ts'
import { opennessFix, opennessTexts } from './http/access/peer-check.ts'
import type { Openness } from './http/access/peer-check.ts'
import { createWatchdog } from './daemon/watchdog.ts'
import { pageAddress } from './page/page-address.ts'
import type { Logger } from './logging/logger.ts'
import type { ModelAnswer } from './pipeline/model-answer.ts'
import { createPipeline } from './pipeline/pipeline.ts'
import type { Pipeline } from './pipeline/pipeline.ts'
import { keyRefusal } from './pipeline/route-model.ts'
import { createKnownSecrets, type KnownSecrets } from './redaction/known-secrets.ts'
import { createMetrics } from './usage/metrics.ts'
import { createUsageRecorder } from './usage/recorder.ts'
import { createRequestList } from './usage/requests.ts'

export interface DaemonOptions {
  readonly config: Config
  readonly authDir: string
  /** The file of usage totals; undefined: totals stay in memory. */
  readonly usageFile?: string | undefined
  /** The folder for the journals of workspaces; undefined: tools write nothing. */
  readonly workspacesDir?: string | undefined
  /**
   * False: messages and runs are in memory only, because another process has the file of `workspacesDir`. `if-free`: unless
   * another process has it. Default: true.
   */
  readonly keepsSessions?: boolean | 'if-free' | undefined
  /** The folder for the record of the gateway for tool providers; undefined: it has none. */
  readonly gatewayDir?: string | undefined
  /** The folder for the file `owner-token`; undefined: the token is not written. */
  readonly ownerTokenDir?: string | undefined
  /** Who listens on a port in use, e.g. `node (process 17)`. Default: another program. */
  readonly portHolder?: ((address: { readonly host: string; readonly port: number }) => Promise<string>) | undefined
  /** The user's own folder, for paths of workspaces that begin with `~` and for ~/.copilot. May throw. */
  readonly homeDir?: (() => string) | undefined
  /** For `auth.store: keychain`. Default: the system's. */
  readonly keychain?: Keychain | undefined
  /** This program's own files, which no tool of a workspace reads or changes. */
  readonly ownPaths: OwnPaths
  /** The folder of Codex CLI's own login. */
  readonly codexHome: string | undefined
  /** The files of `setup codex`, which follow the model list; absent: none does. */
  readonly codexFiles?: CodexFiles | undefined
  readonly version: string
  readonly log: Logger
  /** Credentials to redact; shared with the log. */
  readonly secrets?: KnownSecrets | undefined
  /** Answer from the simulated Copilot, without the stored login. */
  readonly demo: boolean
  /** Read no stored login, for work that needs no model. */
  readonly withoutLogins?: boolean | undefined
  /** `COPILOT_GITHUB_TOKEN`. */
  readonly githubToken: string | undefined
  /** Called when another account is used for requests; undefined: nobody is logged in. */
  readonly onAccount?: (account: string | undefined) => void
  /** Called with work that must end before the process exits, even on a forced exit. */
  readonly beforeExit?: (work: Promise<void>) => void
  /** Read for the variables of the network (config/network-variables.ts), and by the keychain helpers. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder that the process started in, for relative paths in `env`. Default: the root. May throw. */
  readonly workingDir?: (() => string) | undefined
}

export interface Daemon {
  /** E.g. `http://127.0.0.1:4141`. */
  readonly url: string
  /** Makes a caller the owner until the daemon stops. */
  readonly ownerToken: string
  /** Returns an address that opens the page as the owner, once. */
  readonly createPageAddress: () => string
  readonly models: () => readonly { readonly id: string }[]
  /** For programs inside the daemon that need a model. */
  readonly runTurn: Pipeline['runTurn']
  /** Applies a changed configuration, except host and port. */
  readonly reconfigure: (config: Config) => void
  /** Resolves when the workspaces of the configuration are open. */
  readonly openWorkspaces: () => Promise<void>
  /** Sets whether the configuration file is invalid and earlier settings stay in force; `/healthz` reports it. */
  readonly setConfigRefused: (isRefused: boolean) => void
  /** Stops accepting, lets streams finish for at most `graceMs`, then ends them with an error event. */
  readonly close: (graceMs: number) => Promise<void>
}

/**
 * Starts everything and listens.
 * @throws the error of `listen`, unchanged (EADDRINUSE …)
 */
export async function startDaemon(given: DaemonOptions): Promise<Daemon> {
  const demo = given.demo ? await (await import('./daemon/open-demo.ts')).openDemo(given) : undefined
  const options = { ...given, ...demo?.options }
  const { version, log, env, beforeExit, onAccount, githubToken } = options
  let current = options.config
  const config = (): Config => current
  const secrets = createSecretSets(options.secrets ?? createKnownSecrets(), githubToken)
  secrets.holdConfig(current)

  const ownerToken = randomSecret()
  const owner = createOwnerAccess({
    token: ownerToken,
    now: () => performance.now(),
    holdSecret: secrets.holdOwn,
  })

  const metrics = createMetrics()
  const { stores, otherStores } = options.demo || options.withoutLogins ? { stores: noLogins() } : openStores(options)
  const providers = connectProviders({
    config,
    services: demo?.services ?? providerServices,
    stores,
    githubToken,
    codexHome: options.codexHome,
    version,
    env,
    now: Date.now,
    metrics,
    noteSecrets: secrets.noteLogin,
    redact: secrets.ofProviders.redact,
    log,
    setTimer,
    onAccount,
    beforeExit,
    drained: () => app.drained(),
    onModels: () => codexCatalogue.follow(),
  })
  const { registry } = providers
  const codexCatalogue = createCatalogueFile({
    files: options.codexFiles,
    models: registry.list,
    log,
  })
  const totals = createUsageRecorder({
    file: options.usageFile,
    now: Date.now,
    setTimer,
    log,
  })
  const common = {
    config,
    registry,
    totals,
    requests: createRequestList({
      keepsBodies: () => current.log.bodies,
      redact: secrets.ofProviders.redact,
      redactBody: secrets.ofProviders.redactBody,
    }),
    metrics,
    log,
    redact: secrets.ofProviders.redact,
    redactBody: secrets.ofLog.redactBody,
    now: Date.now,
  }
  const pipeline = createPipeline({
    ...common,
    accessOf: providers.accessOf,
    followLogin: providers.followLogin,
    salt: randomBytes(16).toString('hex'),
    randomId: randomUUID,
  })
  const companion = createCompanionSwitch({
    config,
    workspacesDir: options.workspacesDir,
    sessionsDir: demo === undefined ? options.workspacesDir : demo.sessionsDir,
    gatewayDir: options.gatewayDir,
    keepsSessions: options.keepsSessions ?? true,
    homeDir: options.homeDir,
    ownPaths: options.ownPaths,
    portHolder: options.portHolder ?? (async () => 'another program'),
    env,
    version,
    secrets,
    runTurn: runWithinLimits,
    modelFacts,
    defaultModel,
    setTimer,
    log,
  })

  /** As `pipeline.runTurn`, within the limits of the key. */
  async function runWithinLimits(call: Parameters<typeof pipeline.runTurn>[0]): Promise<ModelAnswer> {
    // The message that began a run was counted when it came.
    if (call.initiator === 'agent') await app.admitTurn(call.key, call.signal)
    const { leave } = app.creditLimit.enter(call.key)
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
    const { maxPromptTokens, contextWindow, supports, provider } = found.value.model
    return {
      contextTokens: maxPromptTokens ?? contextWindow,
      hasToolCalls: supports.toolCalls !== false,
      // An entry of Copilot that states what a model supports, but not this, means that it does not.
      seesImages: supports.vision ?? (provider === 'codex' || supports.toolCalls === undefined),
    }
  }

  /** The choice of `launch opencode` among the models that the key may use. */
  async function defaultModel(keyName: string | undefined, signal: AbortSignal): Promise<string> {
    const access = providers.accessOf(keyName === undefined ? undefined : { name: keyName })
    await access.completeModels('', { retry: false, signal })
    const { chooseAgentModel } = await import('./client-settings/choose-models.ts')
    const models = access.registry
      .list()
      .filter((entry) => entry.model.type === 'chat' && keyRefusal(current, keyName, entry.id, entry) === undefined)
    const chosen = chooseAgentModel(
      models.map(({ id, model }) => ({ id, tools: model.supports.toolCalls !== false, routes: {} })),
    )
    return chosen?.id ?? 'auto'
  }

  const logins = createLogins({
    config,
    stores,
    otherStores,
    demo: options.demo,
    githubToken: options.githubToken,
    codexHome: options.codexHome,
    copilotStatus: providers.tokenStatus,
    codexStatus: providers.codexStatus,
    noteSecrets: secrets.noteLogin,
    redact: secrets.ofProviders.redact,
    env,
    log,
  })
  let hasServed = false
  const watchdog = createWatchdog({ log, wantsThread: () => hasServed && current.workspaces.length > 0 })
  function noteWork(work: string): void {
    // `bin/copilot-proxy.cjs` keeps V8's new space small. In a space of 1 MB, a request costs a third more processor time,
    // nearly all of it in collections (Node 24.21, `--trace-gc`).
    if (!hasServed) setFlagsFromString('--semi-space-growth-factor=2')
    hasServed = true
    watchdog.note(work)
  }

  let isConfigRefused = false
  const app = buildApp({
    ...common,
    workspaces: companion.workspaces,
    mcpServers: companion.mcpServers,
    companion: companion.companion,
    pipeline,
    isConfigRefused: () => isConfigRefused,
    tokenStatus: providers.tokenStatus,
    codexStatus: providers.codexStatus,
    planUse: providers.planUse,
    account: providers.account,
    version,
    demo: options.demo,
    randomId: randomUUID,
    owner,
    codexCli: codexCatalogue.codexCli,
    refreshModels: providers.refreshModels,
    logins,
    accessOf: providers.accessOf,
    networkFingerprints: fingerprints(networkVariables(env, options.workingDir ?? (() => '/')), ownerHash(ownerToken)),
    noteWork,
  })

  let closing: Promise<void> | undefined
  let withdrawOwnerToken: (() => Promise<void>) | undefined

  async function closeAll(graceMs: number): Promise<void> {
    logins.close()
    await app.close(graceMs)
    await withdrawOwnerToken?.()
    await companion.close(graceMs)
    watchdog.stop()
    totals.close()
    await closeUpstream()
    await codexCatalogue.settled()
  }

  async function closeUpstream(): Promise<void> {
    await providers.close()
    await demo?.removeData()
  }

  let openness: Openness = 'own-user'
  /** Says that other users of this machine can call, once for each change. */
  function announceOpenness(): void {
    const now = app.openness()
    if (now !== openness && (now === 'switched-off' || now === 'not-shown')) {
      log.warn(`${opennessTexts[now]}. ${opennessFix}`)
    }
    openness = now
  }

  await companion.openWorkspaces()
  try {
    await app.listen(current.server)
  } catch (error) {
    await companion.closeWorkspaces()
    watchdog.stop()
    await closeUpstream()
    throw error
  }
  const url = urlOf(current.server.host, app.address())
  const { ownerTokenDir } = options
  if (ownerTokenDir !== undefined) {
    const processStart = (of: number) => findProcessStart(of, { platform, env })
    withdrawOwnerToken = await publishOwnerToken(
      { dir: ownerTokenDir, pid, processStart, log },
      { token: ownerToken, url },
    )
  }
  announceOpenness()
  providers.announceAccounts()
  await companion.openGateway()

  return {
    url,
    ownerToken,
    createPageAddress() {
      const code = randomSecret()
      owner.addCode(code, undefined)
      return pageAddress(url, code)
    },
    models: registry.list,
    runTurn: pipeline.runTurn,

    reconfigure(changed) {
      const before = current
      current = changed
      secrets.holdConfig(current)
      app.reconfigured()
      announceOpenness()
      companion.reconfigure(before)
      providers.reconfigure(before)
    },

    openWorkspaces: companion.openWorkspaces,

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

function setTimer(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}

/** 256 bits. */
function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** The stores of logins, and those of the other kind, which may hold earlier logins. */
function openStores({ authDir, config, env, keychain = createSystemKeychain({ env }), log }: DaemonOptions): {
  readonly stores: LoginStores
  readonly otherStores?: LoginStores
} {
  const open = (location: StoreLocation): LoginStores => ({
    copilot: openRecordStore(copilotRecordKind, location, log),
    codex: openRecordStore(codexRecordKind, location, log),
  })
  const location = { dir: authDir, rules: config.auth, keychain, warned: new Set<string>() }
  return { stores: open(location), otherStores: open(otherStoreLocation(location)) }
}

function noLogins(): LoginStores {
  return {
    copilot: createMemoryRecordStore(copilotRecordKind, []),
    codex: createMemoryRecordStore(codexRecordKind, []),
  }
}

function urlOf(host: string, address: AddressInfo): string {
  const reachable = address.address === '0.0.0.0' ? '127.0.0.1' : address.address === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${address.port}`
}
