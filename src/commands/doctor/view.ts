import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { codexRecordKind } from '../../auth/codex/record.ts'
import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import { endpointCandidates } from '../../auth/copilot/endpoint.ts'
import { fetchCopilotUser, obtainCopilotToken } from '../../auth/copilot/github-api.ts'
import { inspectAuthFolder } from '../../auth/records/inspect-permissions.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { githubHostsOf } from '../../config/upstream-hosts.ts'
import { connectCodex } from '../../executors/codex-connection.ts'
import type { CodexConnection } from '../../executors/codex-connection.ts'
import { createPool } from '../../executors/connection-pool.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { parseCodexModels } from '../../models/codex-model.ts'
import { exposedKeys } from '../serve/start-checks.ts'
import { githubApi, recordPlace } from '../shared/accounts.ts'
import { CommandFailure } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { findListener } from '../shared/find-daemon.ts'
import { tryList } from '../../models/try-list.ts'
import { connectionDeps, listCopilotModels, nobodysRecord } from '../shared/list-models.ts'
import { hasCodexLogin, readCodexState, readCopilotState } from '../../daemon/login-status.ts'
import { loginReaders } from '../shared/logins.ts'
import { findCodexHome, readSettings } from '../shared/settings.ts'
import type { LoadedSettings, UserFiles } from '../shared/settings.ts'
import { openDaemonView } from '../shared/view.ts'
import { policyName } from '../../workspace/policy/policy-file.ts'
import type { ConfigState, FileFacts, PolicyFacts, PortFacts, TrustSettings } from './machine-checks.ts'
import { tryPort } from './machine-checks.ts'
import { probe } from './probe.ts'
import type { Probe } from './probe.ts'

export type MachineView = Awaited<ReturnType<typeof openMachineView>>
export type LoginView = ReturnType<typeof openLoginView>

/** Limit of one request with its answer; shorter than for commands whose result the person waits for. Ms. */
const requestTimeoutMs = 10_000

/** Shorter still, to distinguish an unreachable host from a slow one. Ms. */
const connectTimeoutMs = 6_000

/** For the list of Codex models, including a renewal of the token. Ms. */
const codexTimeoutMs = 20_000

/** This machine and the user's settings, valid or not. */
export async function openMachineView(context: CommandContext, configFlag: string | undefined) {
  const { state, places, settings } = await readConfig(context, configFlag)
  return {
    context,
    config: state,
    /** Undefined if the paths are unknown. */
    files: async () => places && readFileFacts(context, places, settings),
    /** Undefined without valid settings: credentials are not sent anywhere then. */
    logins: settings && openLoginView(context, settings),
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

export async function readTrust(env: CommandContext['env']): Promise<TrustSettings> {
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
export async function readSmallFile(path: string): Promise<string> {
  const stat = await nodeFs.stat(path)
  if (!stat.isFile() || stat.size > mostBytes) throw new Error('not a file to read')
  return nodeFs.readFile(path, 'utf8')
}

/** The logins of this user and their providers. Each function asks once, and nothing on the disk changes but a renewed Codex token. */
function openLoginView(context: CommandContext, settings: LoadedSettings) {
  const { config } = settings
  const { env, now, signal } = context
  const readers = loginReaders(context, settings, { isReadOnly: true, isSilent: true })
  let opened: CodexConnection | undefined

  const copilot = once(() => readCopilotState(readers))
  const codex = once(() => readCodexState(readers))

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
    if (own === undefined || outcome.kind !== 'ok') return undefined
    return listCopilotModels(context, settings, own, outcome, { signal, timeoutMs: requestTimeoutMs })
  })
  const codexAnswer = once(async () => {
    await context.prepareFetch()
    opened = openCodexConnection(context, settings)
    if (opened === undefined) throw new Error('Codex is disabled')
    const outcome = await tryList(opened.executor, parseCodexModels, { signal, timeoutMs: codexTimeoutMs })
    return { outcome, status: opened.credentials.status() }
  })

  async function hostsOf(provider: ProviderId): Promise<readonly string[]> {
    const { login: own, problem } = await copilot()
    const state = await codex()
    const usesCodex = hasCodexLogin(state)
    if (provider === 'copilot') {
      return own === undefined && problem === undefined && usesCodex ? [] : copilotHosts(settings, own)
    }
    if (!usesCodex) return []
    const { apiBaseUrl, baseUrl, issuer } = config.codex
    if (state.kind === 'api-key') return [apiBaseUrl]
    // This program never renews the login of Codex CLI.
    return state.kind === 'login' ? [state.issuer ?? issuer, baseUrl] : [baseUrl]
  }
  async function probeAll(urls: readonly string[]): Promise<readonly Probe[]> {
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
    copilot: once(async () => probeAll(await hostsOf('copilot'))),
    codex: once(async () => probeAll(await hostsOf('codex'))),
  }

  return {
    context,
    settings,
    /** The stored logins, from local files only. */
    copilot,
    codex,
    /** The running daemon; undefined if none runs. */
    daemon: once(() => openDaemonView(context, settings)),
    policy: () => findPolicy(context, settings),
    /** Results for the hosts of a provider; empty if the provider is not in use. */
    probes: (provider: ProviderId) => probes[provider](),
    /** The exchange with GitHub for a Copilot token, which is not stored. */
    exchange,
    account: once(async () => {
      const { login: own } = await copilot()
      return own === undefined ? aborted : fetchCopilotUser(askBriefly(own), own.githubToken, signal)
    }),
    /** Requested with the token of `exchange`; undefined if there is none. */
    copilotModels,
    /** The models of Codex, and the status of the login after the request for them. */
    codexAnswer,
    /** Whether this command can use a provider; undefined without a login. */
    worksHere: async (provider: ProviderId): Promise<boolean | undefined> => {
      const hasLogin = provider === 'copilot' ? (await copilot()).login !== undefined : hasCodexLogin(await codex())
      if (!hasLogin) return undefined
      const outcome = provider === 'copilot' ? await copilotModels() : (await codexAnswer()).outcome
      return outcome?.kind === 'listed'
    },
    /** Waits for a running renewal: its tokens exist nowhere else. */
    close: async () => opened?.close(),
  }
}

/** As a daemon connects, including the lock: a refresh token must be redeemed where requests redeem it. */
function openCodexConnection(context: CommandContext, settings: LoadedSettings): CodexConnection | undefined {
  const deps = connectionDeps(context)
  const { version, beforeExit } = context
  return connectCodex(
    {
      ...deps,
      version,
      store: openRecordStore(codexRecordKind, recordPlace(context, settings), deps.log),
      codexHome: findCodexHome(context),
      ...(beforeExit && { beforeExit }),
      onModelsChanged: () => {},
    },
    settings.config,
  )
}

/** The hosts of GitHub, and the first one of Copilot requests. */
function copilotHosts({ config }: LoadedSettings, own: LoginInUse | undefined): readonly string[] {
  const { githubBaseUrl, githubApiBaseUrl } = config.copilotOauth
  const { candidates } = endpointCandidates(own?.record ?? nobodysRecord, {
    explicitBaseUrl: config.copilot.baseUrl,
    githubHosts: githubHostsOf([githubBaseUrl, githubApiBaseUrl]),
  })
  const base = own?.record?.metadata.github_base_url ?? githubBaseUrl
  return [base, own?.apiBaseUrl ?? githubApiBaseUrl, candidates[0] ?? '']
}

/** The policies of the workspace of the current folder. */
async function findPolicy(context: CommandContext, settings: LoadedSettings): Promise<PolicyFacts> {
  const { openRules } = await import('../policy.ts')
  const rules = await openRules(context, settings, context.workingDir()).catch((error: unknown) => {
    if (error instanceof CommandFailure) return error
    throw error
  })
  if (rules instanceof CommandFailure) return { kind: 'none', detail: rules.message }
  const { workspace, folder, policy } = rules
  // An ordinary folder may be huge, so nobody looks for policies in its subfolders.
  const isWorkspace = settings.config.workspaces.includes(workspace)
  const isThere = (await nodeFs.lstat(join(folder.root, policyName)).catch(() => undefined)) !== undefined
  if (!isWorkspace && !isThere) {
    return { kind: 'none', detail: 'This folder is no workspace with a policy' }
  }
  return { kind: 'workspace', root: folder.root, ...(await policy.describe()) }
}

/** Listens for a moment at the configured address, and looks for what listens there if that fails. */
export async function findPort({ context, settings, daemon }: LoginView): Promise<PortFacts> {
  const { host, port } = settings.config.server
  const running = await daemon()
  const code = await tryPort({ host, port })
  return {
    host,
    port,
    code,
    daemon: running && { url: running.address.url, health: running.health },
    listener: code === 'EADDRINUSE' ? await findListener(port) : { kind: 'unknown' },
    version: context.version,
  }
}
