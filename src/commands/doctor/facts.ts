import * as nodeFs from 'node:fs/promises'
import { codexRecordKind } from '../../auth/codex/record.ts'
import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import { endpointCandidates } from '../../auth/copilot/endpoint.ts'
import { fetchCopilotUser, obtainCopilotToken } from '../../auth/copilot/github-api.ts'
import type { ExchangedToken } from '../../auth/copilot/github-api.ts'
import type { CopilotRecord } from '../../auth/copilot/wire.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { inspectAuthFolder } from '../../auth/records/inspect-permissions.ts'
import { githubHostsOf } from '../../config/upstream-hosts.ts'
import { Fault } from '../../errors.ts'
import { createPool } from '../../executors/connection-pool.ts'
import { connectCodex } from '../../executors/codex-connection.ts'
import type { CodexConnection } from '../../executors/codex-connection.ts'
import { createCopilotExecutor } from '../../executors/copilot.ts'
import type { ProviderId, Executor } from '../../executors/executor.ts'
import { parseCodexModels } from '../../models/codex-model.ts'
import { parseCopilotModels } from '../../models/copilot-model.ts'
import type { ModelListing } from '../../models/model.ts'
import { findRunningDaemon, findStateFiles } from '../background/background-daemon.ts'
import { findCatalogueProblem } from '../clients/codex-catalogue.ts'
import { homesOf, readClientSettings } from '../clients/client-settings.ts'
import { findProgram } from '../clients/program-file.ts'
import { exposedKeys } from '../serve/start-checks.ts'
import { githubApi, recordPlace, silentLog } from '../shared/accounts.ts'
import { CommandFailure } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { daemonUrl, findDaemon, findPortHolder, checkCommandKey } from '../shared/find-daemon.ts'
import { findCodexHome, readSettings } from '../shared/settings.ts'
import type { UserFiles, LoadedSettings } from '../shared/settings.ts'
import { findToolFailures } from '../shared/tool-failures.ts'
import type { LoginState, ListingOutcome } from './account-checks.ts'
import type { ConfigState, FileFacts, TrustSettings } from './machine-checks.ts'
import { findOpenness, tryPort } from './machine-checks.ts'
import { findDaemonFacts } from './daemon-check.ts'
import { probe } from './probe.ts'
import type { Probe } from './probe.ts'
import { findCodexLogin, findCopilotLogin, findStored } from './stored-logins.ts'

/** For the list of Codex models, including a renewal of the token. Ms. */
const codexTimeoutMs = 20_000

export type Facts = Awaited<ReturnType<typeof openFacts>>
export type SettledFacts = ReturnType<typeof openSettledFacts>

/** The facts of this machine and this user's settings, which the checks judge. Each function finds its fact once. */
export async function openFacts(context: CommandContext, configFlag: string | undefined) {
  const { state, places, settings } = await readConfig(context, configFlag)
  const { env } = context
  return {
    config: state,
    /** Undefined if the paths are unknown. */
    files: async () => places && readFileFacts(context, places, settings),
    trust: () => readTrust(env),
    clients: () => readClientSettings({ ...homesOf(context), readFile: readSmallFile }),
    /** Why Codex CLI does not take its `model_catalog_json`, as the end of a sentence about the file. */
    catalogueProblem: async (path: string | undefined) =>
      path && findCatalogueProblem(context, path, await findProgram('codex', context)),
    /** Undefined without valid settings: credentials are not sent anywhere then. */
    settled: settings && openSettledFacts(context, settings),
  }
}

/** Runs at the first call; later calls share the result. */
function once<T>(find: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= find())
}

interface ReadConfig {
  readonly state: ConfigState
  readonly places?: UserFiles
  readonly settings?: LoadedSettings
}

async function readConfig(context: CommandContext, configFlag: string | undefined): Promise<ReadConfig> {
  try {
    const result = await readSettings(context, configFlag)
    if (!result.ok) return { state: { kind: 'invalid', problems: result.error.problems }, places: result.places }
    const { settings } = result
    const { configFile: path, hasFile } = settings
    return { state: { kind: 'valid', path, hasFile }, places: settings, settings }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return { state: { kind: 'nowhere', problem: error.message } }
  }
}

async function readFileFacts(
  { platform }: CommandContext,
  { authDir, configFile }: UserFiles,
  settings: LoadedSettings | undefined,
): Promise<FileFacts> {
  const exposed = settings === undefined ? undefined : exposedKeys(settings, platform)
  const command = `chmod 600 ${configFile}`
  return {
    authDir,
    logins: await inspectAuthFolder(authDir),
    exposedConfig: exposed === undefined ? undefined : { detail: exposed.replace(`: ${command}`, ''), command },
    strict: settings?.config.auth.strictPermissions ?? false,
  }
}

async function readTrust(env: CommandContext['env']): Promise<TrustSettings> {
  const rejectUnauthorized = env['NODE_TLS_REJECT_UNAUTHORIZED']
  const path = env['NODE_EXTRA_CA_CERTS'] ?? ''
  if (path === '') return { rejectUnauthorized, extra: undefined }
  const problem = await readSmallFile(path).then(
    (text) => (text.includes('-----BEGIN CERTIFICATE-----') ? undefined : 'is not a PEM certificate'),
    () => 'is not readable',
  )
  return { rejectUnauthorized, extra: { path, problem } }
}

/** Larger than any settings file or certificate bundle. Bytes. */
const mostBytes = 4 * 1024 * 1024

/** Reads a regular file; reading a pipe might never end. */
async function readSmallFile(path: string): Promise<string> {
  const stat = await nodeFs.stat(path)
  if (!stat.isFile() || stat.size > mostBytes) throw new Error('not a file to read')
  return nodeFs.readFile(path, 'utf8')
}

function openSettledFacts(context: CommandContext, settings: LoadedSettings) {
  const { config } = settings
  const { env, now, signal } = context
  let opened: CodexConnection | undefined

  const copilot = once(() => findCopilotLogin(context, settings))
  const codexConnection = once(async () => {
    await context.prepareFetch()
    opened = openCodexConnection(context, settings)
    return opened
  })
  const codexRecord = once(() => findStored(context, settings, codexRecordKind, (store) => store.current()))
  const codexLogin = once(() => findCodexLogin(context, settings, { codexRecord, codexConnection }))
  const login = async (provider: ProviderId): Promise<LoginState> =>
    provider === 'copilot' ? (await copilot()).state : codexLogin()

  const copilotHosts = async (): Promise<readonly string[]> => {
    const own = await copilot()
    if (own.state.kind === 'nobody' && (await codexLogin()).kind === 'login') return []
    const { copilotOauth } = config
    const metadata = own.login?.record?.metadata
    return [
      metadata?.github_base_url ?? copilotOauth.githubBaseUrl,
      own.login?.apiBaseUrl ?? copilotOauth.githubApiBaseUrl,
      endpointsOf(settings, own.login?.record)[0] ?? '',
    ]
  }
  const codexHosts = async (): Promise<readonly string[]> => {
    if ((await codexLogin()).kind !== 'login') return []
    const { apiKey, apiBaseUrl, useCliLogin, baseUrl, issuer } = config.codex
    if (apiKey !== '') return [apiBaseUrl]
    // This program never renews the login of Codex CLI.
    if (useCliLogin) return [baseUrl]
    const record = await codexRecord()
    return [record.login?.metadata.issuer ?? issuer, baseUrl]
  }
  const probeAll = async (urls: readonly string[]): Promise<readonly Probe[]> => {
    const origins = new Set(urls.flatMap((url) => URL.parse(url)?.origin ?? []))
    if (origins.size === 0) return []
    const pool = createPool({ connectMs: connectTimeoutMs, env })
    try {
      const deps = { pool, env, now, timeoutMs: requestTimeoutMs }
      return await Promise.all([...origins].map((origin) => probe(deps, origin, signal)))
    } finally {
      await pool.destroy()
    }
  }
  const probes = {
    copilot: once(async () => probeAll(await copilotHosts())),
    codex: once(async () => probeAll(await codexHosts())),
  }

  const askBriefly = (own: LoginInUse) => ({ ...githubApi(context, settings, own), timeoutMs: requestTimeoutMs })
  const aborted = { kind: 'aborted' } as const
  const exchange = once(async () => {
    const { login: own } = await copilot()
    if (own === undefined) return aborted
    const outcome = await obtainCopilotToken(askBriefly(own), own.githubToken, config.copilot.auth, signal)
    if (outcome.kind === 'ok') context.secrets.note(outcome.token)
    return outcome
  })

  const copilotModels = once(async () => {
    const { login: own } = await copilot()
    const outcome = await exchange()
    return own === undefined || outcome.kind !== 'ok' ? undefined : listCopilotModels(context, settings, own, outcome)
  })
  const codexAnswer = once(async () => {
    const connection = await codexConnection()
    if (connection === undefined) throw new Error('Codex is disabled')
    const outcome = await tryList(connection.executor, parseCodexModels, { signal, timeoutMs: codexTimeoutMs })
    return { outcome, status: connection.credentials.status() }
  })
  const worksHere = async (provider: ProviderId): Promise<boolean | undefined> => {
    if ((await login(provider)).kind !== 'login') return undefined
    const outcome = provider === 'copilot' ? await copilotModels() : (await codexAnswer()).outcome
    return outcome?.kind === 'listed'
  }

  return {
    /** Results for the hosts of a provider; empty if the provider is not in use. */
    probes: (provider: ProviderId) => probes[provider](),
    login,
    /** The exchange with GitHub for a Copilot token. */
    exchange,
    account: once(async () => {
      const { login: own } = await copilot()
      return own === undefined ? aborted : fetchCopilotUser(askBriefly(own), own.githubToken, signal)
    }),
    /** Requested with the token of `exchange`; undefined if there is none. */
    copilotModels,
    codexAnswer,
    port: async () => {
      const { host, port } = config.server
      const code = await tryPort({ host, port })
      const holder =
        code === 'EADDRINUSE' ? await findPortHolder(context.fetch, config.server) : ({ kind: 'unknown' } as const)
      const isRunning = holder.kind === 'copilot-proxy'
      const callerKey = isRunning ? await checkCommandKey(context, settings, daemonUrl(config.server)) : undefined
      const backgroundUrl = code === undefined ? await findBackgroundUrl(context) : undefined
      return { host, port, code, holder, callerKey, backgroundUrl, version: context.version }
    },
    daemon: () => findDaemonFacts(context, settings, worksHere),
    openness: () => findOpenness(config.server),
    hasWorkspaces: config.workspaces.length > 0,
    async sandbox() {
      const { sandboxState } = await import('../../workspace/sandbox/create-sandbox.ts')
      return sandboxState(config.workspace.sandbox)
    },
    daemonUrl: daemonUrl(config.server),
    /** Tools of other programs are configured. */
    hasForeignTools:
      config.workspaces.length > 0 && (config.gateway.enabled || Object.keys(config.mcpServers).length > 0),
    /** Undefined if no daemon runs. */
    toolFailures: async () => {
      const { health } = await findDaemon(context, settings)
      return health && (await findToolFailures(context, settings))
    },
    /** Waits for a running renewal: its tokens exist nowhere else. */
    close: async () => opened?.close(),
  }
}

/** As a daemon connects, including the lock: a refresh token must be redeemed where requests redeem it. */
function openCodexConnection(context: CommandContext, settings: LoadedSettings): CodexConnection | undefined {
  const { env, fetch, now, version, beforeExit, secrets } = context
  return connectCodex(
    {
      store: openRecordStore(codexRecordKind, recordPlace(context, settings), silentLog),
      codexHome: findCodexHome(context),
      ...(beforeExit && { beforeExit }),
      log: silentLog,
      noteSecrets: secrets.note,
      redact: secrets.redact,
      onModelsChanged: () => {},
      fetch,
      now,
      env,
      version,
    },
    settings.config,
  )
}

/** Undefined also if the record of the daemon cannot be read: `status` reports that. */
async function findBackgroundUrl(context: CommandContext): Promise<string | undefined> {
  const record = await findRunningDaemon(context, findStateFiles(context)).catch(() => undefined)
  return record?.url
}

const nobodysRecord: CopilotRecord = {
  id: 'copilot-nobody',
  provider: 'copilot',
  label: '',
  attributes: {},
  metadata: { github_access_token: '-' },
}

/** Base URLs of Copilot requests for this account, in the order of trying. */
function endpointsOf(
  { config }: LoadedSettings,
  record: CopilotRecord | undefined,
  learned: Partial<CopilotRecord['metadata']> = {},
): readonly string[] {
  const { attributes, metadata, ...rest } = record ?? nobodysRecord
  const { githubBaseUrl, githubApiBaseUrl } = config.copilotOauth
  return endpointCandidates(
    { ...rest, attributes, metadata: { ...metadata, ...learned } },
    { explicitBaseUrl: config.copilot.baseUrl, githubHosts: githubHostsOf([githubBaseUrl, githubApiBaseUrl]) },
  ).candidates
}

/** Uses the token of the exchange, which is not stored. */
export async function listCopilotModels(
  { env, secrets, signal }: CommandContext,
  settings: LoadedSettings,
  { record }: Pick<LoginInUse, 'record'>,
  { token: value, direct, apiBaseUrl }: ExchangedToken,
): Promise<ListingOutcome> {
  const { headers, timeouts } = settings.config.copilot
  const learned = { access_token: value, ...(apiBaseUrl !== undefined && { base_url: apiBaseUrl }) }
  const candidates = endpointsOf(settings, record, learned)
  const token = {
    value,
    recordId: record?.id ?? nobodysRecord.id,
    candidates,
    // Not asked here.
    completionsUrl: '',
    ...(direct && { direct }),
  }
  const give = () => Promise.resolve(token)
  const connectMs = Math.min(timeouts.connectSeconds * 1000, connectTimeoutMs)
  const executor = createCopilotExecutor(
    {
      tokens: { get: give, replace: give, renewBeforeNext: () => {} },
      pool: createPool({ connectMs, env }),
      log: silentLog,
      redact: secrets.redact,
    },
    { refreshOnUnauthorized: false, headers, connectMs, headersMs: requestTimeoutMs, idleMs: requestTimeoutMs },
  )
  try {
    return await tryList(executor, parseCopilotModels, { signal, timeoutMs: requestTimeoutMs })
  } finally {
    await executor.close()
  }
}

/** Limit of one request with its answer; shorter than for commands whose result the person waits for. Ms. */
const requestTimeoutMs = 10_000

/** Shorter still, to distinguish an unreachable host from a slow one. Ms. */
const connectTimeoutMs = 6_000

async function tryList(
  executor: Pick<Executor, 'listModels'>,
  parse: (reply: unknown) => ModelListing | undefined,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<ListingOutcome> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const listing = parse(await executor.listModels({ signal: AbortSignal.any([signal, timeout]) }))
    return listing === undefined ? { kind: 'unusable' } : { kind: 'listed', listing }
  } catch (error) {
    if (error instanceof Fault) return { kind: 'fault', error: error.error }
    if (!timeout.aborted) throw error
    return { kind: 'fault', error: { kind: 'upstream_silent', phase: 'headers', afterMs: timeoutMs } }
  }
}
