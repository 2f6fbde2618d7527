import * as nodeFs from 'node:fs/promises'
import { codexLoginFix, codexRecordKind } from '../auth/codex/record.ts'
import type { CodexRecord } from '../auth/codex/record.ts'
import { exchangeCopilotToken } from '../auth/copilot-exchange.ts'
import type { ExchangeOutcome } from '../auth/copilot-exchange.ts'
import { copilotRecordKind } from '../auth/copilot-record-kind.ts'
import { endpointCandidates } from '../auth/endpoint.ts'
import { fetchCopilotUser } from '../auth/github-api.ts'
import { inspectAuthFolder } from '../auth/inspect-permissions.ts'
import { findLoginInUse } from '../auth/login-in-use.ts'
import type { LoginInUse } from '../auth/login-in-use.ts'
import { openRecordStore } from '../auth/open-record-store.ts'
import { RecordStoreError } from '../auth/record-fs.ts'
import type { RecordKind, StoredRecord } from '../auth/record-kind.ts'
import type { RecordStore } from '../auth/record-store.ts'
import type { CopilotRecord } from '../auth/wire.ts'
import { connectCodex } from '../codex-connection.ts'
import type { CodexConnection } from '../codex-connection.ts'
import { githubHostsOf } from '../config/upstream-hosts.ts'
import type { ConfigState } from '../doctor/config-check.ts'
import type { Facts, SettledFacts } from '../doctor/checks.ts'
import { readClientSettings } from '../doctor/clients/read-client-settings.ts'
import type { FileFacts } from '../doctor/file-check.ts'
import type { LoginState } from '../doctor/login-check.ts'
import type { ListingOutcome } from '../doctor/models-check.ts'
import { tryPort } from '../doctor/port-check.ts'
import { probe } from '../doctor/probe.ts'
import type { Probe } from '../doctor/probe.ts'
import { readOnlyFs } from '../doctor/read-only-fs.ts'
import type { TrustSettings } from '../doctor/tls-check.ts'
import { Fault } from '../errors.ts'
import { createPool } from '../executors/agent.ts'
import { createCopilotExecutor } from '../executors/copilot.ts'
import type { Executor, ProviderId } from '../executors/executor.ts'
import type { Logger } from '../log.ts'
import { parseCodexModels } from '../models/codex-model.ts'
import { parseCopilotModels } from '../models/copilot-model.ts'
import type { ModelListing } from '../models/model.ts'
import { githubApi, quietLog, recordPlace, tokenOfEnvironment } from './account.ts'
import { daemonUrl } from './ask-daemon.ts'
import { findCodexHome } from './codex-home.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure } from './exit-code.ts'
import { planNameOfSku } from './plan-name.ts'
import { findPortHolder } from './port-holder.ts'
import { readSettings } from './settings.ts'
import type { FilePlaces, LoadedSettings, SettingsResult } from './settings.ts'
import { exposedKeys } from './start-warnings.ts'

/** For one request, answer and all: shorter than when somebody waits for the answer itself. Ms. */
const requestTimeoutMs = 10_000

/** Less than that, so that a host that cannot be reached is told apart from one that is slow. Ms. */
const connectTimeoutMs = 6_000

/** For the list of Codex models, with a renewal of the token before it. Ms. */
const codexTimeoutMs = 20_000

export interface OpenFacts {
  readonly facts: Facts
  /** Waits for a renewal under way: its tokens exist nowhere else. */
  readonly close: () => Promise<void>
}

/** Everything that the checks ask about, on this machine and by this user's settings. */
export async function openFacts(context: CommandContext, configFlag: string | undefined): Promise<OpenFacts> {
  const { state, places, settings } = await readConfig(context, configFlag)
  const opened = settings === undefined ? undefined : openSettledFacts(context, settings)
  const { env, nodeVersion } = context
  return {
    facts: {
      config: state,
      files: once(() => lookAtFiles(context, places, settings)),
      trust: () => readTrust(env),
      clients: () =>
        readClientSettings({
          env,
          homeDir: homeOf(context),
          codexHome: findCodexHome(context),
          readFile: readSmallFile,
        }),
      nodeVersion,
      settled: opened?.settled,
    },
    close: opened?.close ?? (() => Promise.resolve()),
  }
}

/** Runs the first time it is asked, for everybody who asks. */
function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined
  return () => (found ??= find())
}

interface ReadConfig {
  readonly state: ConfigState
  readonly places: FilePlaces | undefined
  readonly settings: LoadedSettings | undefined
}

async function readConfig(context: CommandContext, configFlag: string | undefined): Promise<ReadConfig> {
  let result: SettingsResult
  try {
    result = await readSettings(context, configFlag)
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return { state: { kind: 'nowhere', problem: error.message }, places: undefined, settings: undefined }
  }
  if (!result.ok) {
    const { error, places } = result
    return { state: { kind: 'invalid', problems: error.problems }, places, settings: undefined }
  }
  const { settings } = result
  const { configFile: path, hasFile } = settings
  return { state: { kind: 'valid', path, hasFile }, places: settings, settings }
}

async function lookAtFiles(
  { platform }: CommandContext,
  places: FilePlaces | undefined,
  settings: LoadedSettings | undefined,
): Promise<FileFacts | undefined> {
  if (places === undefined) return undefined
  const { authDir, configFile } = places
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
    (text) => (text.includes('-----BEGIN CERTIFICATE-----') ? undefined : 'holds no certificate in PEM form'),
    () => 'cannot be read',
  )
  return { rejectUnauthorized, extra: { path, problem } }
}

/** Larger than any settings or bundle of certificates. Bytes. */
const mostBytes = 4 * 1024 * 1024

/** Reads a plain file; a pipe in its place would keep a reader waiting for ever. */
async function readSmallFile(path: string): Promise<string> {
  const stat = await nodeFs.stat(path)
  if (!stat.isFile() || stat.size > mostBytes) throw new Error('not a file to read')
  return nodeFs.readFile(path, 'utf8')
}

function homeOf({ homeDir }: CommandContext): string | undefined {
  try {
    return homeDir()
  } catch {
    return undefined
  }
}

interface OpenSettledFacts {
  readonly settled: SettledFacts
  readonly close: () => Promise<void>
}

function openSettledFacts(context: CommandContext, settings: LoadedSettings): OpenSettledFacts {
  const { config } = settings
  const { env, now, signal } = context
  const opened: { readonly close: () => Promise<void> }[] = []

  const copilot = once(() => findCopilotLogin(context, settings))
  const codexConnection = once(async () => {
    await context.prepareFetch()
    const connection = openCodex(context, settings)
    if (connection !== undefined) opened.push(connection)
    return connection
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
    // The login of Codex CLI is renewed by nobody here.
    if (useCliLogin) return [baseUrl]
    const record = await codexRecord()
    return [record.found?.metadata.issuer ?? issuer, baseUrl]
  }
  const probeAll = async (urls: readonly string[]): Promise<readonly Probe[]> => {
    const origins = new Set(urls.flatMap((url) => URL.parse(url)?.origin ?? []))
    if (origins.size === 0) return []
    const pool = createPool({ connectMs: connectTimeoutMs, env })
    try {
      const deps = { pool, env, now, timeoutMs: requestTimeoutMs }
      return await Promise.all([...origins].map((origin) => probe(deps, origin, signal)))
    } finally {
      await pool.agent.destroy()
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
    const outcome = await exchangeCopilotToken(askBriefly(own), own.githubToken, signal)
    if (outcome.kind === 'ok') context.secrets.note(outcome.token)
    return outcome
  })

  return {
    settled: {
      probes: (provider) => probes[provider](),
      login,
      exchange,
      account: once(async () => {
        const { login: own } = await copilot()
        return own === undefined ? aborted : fetchCopilotUser(askBriefly(own), own.githubToken, signal)
      }),
      copilotModels: once(async () => {
        const { login: own } = await copilot()
        const outcome = await exchange()
        return own === undefined || outcome.kind !== 'ok'
          ? undefined
          : listCopilotModels(context, settings, own, outcome)
      }),
      codexAnswer: once(async () => {
        const connection = await codexConnection()
        if (connection === undefined) throw new Error('Codex is switched off')
        const outcome = await list(connection.executor, parseCodexModels, { signal, timeoutMs: codexTimeoutMs })
        return { outcome, status: connection.credentials.status() }
      }),
      port: once(async () => {
        const { host, port } = config.server
        const code = await tryPort({ host, port })
        const holder =
          code === 'EADDRINUSE'
            ? await findPortHolder({ host, port, fetch: context.fetch, procDir: '/proc' })
            : ({ kind: 'unknown' } as const)
        return { host, port, code, holder, version: context.version }
      }),
      daemonUrl: daemonUrl(config.server),
    },
    async close() {
      await Promise.all(opened.map((one) => one.close()))
    },
  }
}

interface Stored<Found> {
  readonly found: Found | undefined
  /** Why there is none, although there is a file: a sentence that names it. */
  readonly problem: string | undefined
}

/** Looks into the store and changes nothing there, not even what is wrong with it. */
async function findStored<Record extends StoredRecord, Found>(
  context: CommandContext,
  settings: LoadedSettings,
  kind: RecordKind<Record>,
  look: (store: RecordStore<Record>) => Promise<Found | undefined>,
): Promise<Stored<Found>> {
  const told: string[] = []
  const tell: Logger['warn'] = (first: unknown, message?: unknown) => void told.push(String(message ?? first))
  const log: Logger = { ...quietLog, warn: tell }
  try {
    const found = await look(openRecordStore(kind, recordPlace(context, settings), log, readOnlyFs))
    const unusable = told.find((sentence) => / is not us(?:able|ed), /.test(sentence))
    // Nothing is set aside here, which is no trouble.
    const [problem] = unusable?.split(', and cannot be set aside') ?? []
    return { found, problem: found === undefined ? problem : undefined }
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    return { found: undefined, problem: error.message }
  }
}

function problemState(problem: string, loginCommand: string): LoginState {
  return { kind: 'problem', detail: problem, fix: `Put that right, or log in again: ${loginCommand}` }
}

interface CopilotLogin {
  readonly login: LoginInUse | undefined
  readonly state: LoginState
}

async function findCopilotLogin(context: CommandContext, settings: LoadedSettings): Promise<CopilotLogin> {
  const { found, problem } = await findStored(context, settings, copilotRecordKind, (store) =>
    findLoginInUse({
      store,
      githubToken: tokenOfEnvironment(context),
      githubApiBaseUrl: settings.config.copilotOauth.githubApiBaseUrl,
    }),
  )
  if (problem !== undefined) {
    return { login: undefined, state: problemState(problem, copilotRecordKind.loginCommand) }
  }
  if (found === undefined) return { login: undefined, state: { kind: 'nobody' } }
  context.secrets.note(found.githubToken, found.record?.metadata.access_token)
  return { login: found, state: { kind: 'login', who: describeCopilot(found) } }
}

function describeCopilot({ record }: LoginInUse): string {
  if (record === undefined) return 'The token in COPILOT_GITHUB_TOKEN'
  const plan = planNameOfSku(record.metadata.sku)
  return plan === undefined ? record.label : `${record.label}, ${plan}`
}

interface CodexSources {
  readonly codexRecord: () => Promise<Stored<CodexRecord>>
  readonly codexConnection: () => Promise<CodexConnection | undefined>
}

async function findCodexLogin(
  context: CommandContext,
  settings: LoadedSettings,
  { codexRecord, codexConnection }: CodexSources,
): Promise<LoginState> {
  const { enabled, apiKey, useCliLogin } = settings.config.codex
  if (!enabled) return { kind: 'off', detail: 'Off: codex.enabled is false' }
  if (apiKey !== '') return { kind: 'login', who: 'The API key in codex.api-key' }
  if (useCliLogin) return findCliLogin(context, await codexConnection())
  const { found, problem } = await codexRecord()
  if (problem !== undefined) return problemState(problem, codexRecordKind.loginCommand)
  if (found === undefined) return { kind: 'nobody' }
  const { plan, access_token: access, refresh_token: refresh, id_token: id } = found.metadata
  context.secrets.note(access, refresh, id)
  return { kind: 'login', who: plan === undefined ? found.label : `${found.label}, ChatGPT plan ${plan}` }
}

/** It was asked for, so that none is a trouble. */
async function findCliLogin({ signal }: CommandContext, connection: CodexConnection | undefined): Promise<LoginState> {
  // What is wrong is in its status too.
  await connection?.credentials.get(signal).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error
  })
  const { state, detail = '', fix = codexLoginFix, email } = connection?.credentials.status() ?? {}
  return state === 'ok' || state === 'expired'
    ? { kind: 'login', who: `${email ?? 'Codex CLI'} (login of Codex CLI, read-only)` }
    : { kind: 'problem', detail, fix }
}

/** The same way as a daemon goes, its lock included: a refresh token is redeemed where a request would redeem it. */
function openCodex(context: CommandContext, settings: LoadedSettings): CodexConnection | undefined {
  const { env, fetch, now, version, beforeExit, secrets } = context
  return connectCodex(
    {
      store: openRecordStore(codexRecordKind, recordPlace(context, settings), quietLog),
      codexHome: findCodexHome(context),
      ...(beforeExit && { beforeExit }),
      log: quietLog,
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

const nobodysRecord: CopilotRecord = {
  id: 'copilot-nobody',
  provider: 'copilot',
  label: '',
  attributes: {},
  metadata: { github_access_token: '-' },
}

/** Where Copilot requests of this account go, in the order to try. */
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

/** With the token that was just given out, and which is not stored. */
async function listCopilotModels(
  { env, secrets, signal }: CommandContext,
  settings: LoadedSettings,
  { record }: LoginInUse,
  { token: value, apiBaseUrl }: Extract<ExchangeOutcome, { kind: 'ok' }>,
): Promise<ListingOutcome> {
  const { headers, timeouts } = settings.config.copilot
  const learned = { access_token: value, ...(apiBaseUrl !== undefined && { base_url: apiBaseUrl }) }
  const candidates = endpointsOf(settings, record, learned)
  const token = { value, recordId: record?.id ?? nobodysRecord.id, candidates, expiresAtMs: Infinity }
  const give = () => Promise.resolve(token)
  const connectMs = Math.min(timeouts.connectSeconds * 1000, connectTimeoutMs)
  const executor = createCopilotExecutor(
    {
      tokens: { get: give, replace: give },
      pool: createPool({ connectMs, env }),
      log: quietLog,
      redact: secrets.redact,
    },
    { refreshOnUnauthorized: false, headers, connectMs, headersMs: requestTimeoutMs, idleMs: requestTimeoutMs },
  )
  try {
    return await list(executor, parseCopilotModels, { signal, timeoutMs: requestTimeoutMs })
  } finally {
    await executor.close()
  }
}

async function list(
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
