import * as nodeFs from 'node:fs/promises'
import { codexRecordKind } from '../../auth/codex/record.ts'
import { fetchCopilotUser, obtainCopilotToken } from '../../auth/copilot/github-api.ts'
import { inspectAuthFolder } from '../../auth/records/inspect-permissions.ts'
import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import { createPool } from '../../executors/agent.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { parseCodexModels } from '../../models/codex-model.ts'
import { readClientSettings } from '../clients/client-settings.ts'
import { exposedKeys } from '../serve/start-checks.ts'
import { githubApi, silentLog } from '../shared/accounts.ts'
import { openCodexConnection } from '../shared/codex-connection.ts'
import { findCodexHome } from '../shared/codex-login.ts'
import { CommandFailure } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { daemonUrl, findPortHolder } from '../shared/find-daemon.ts'
import { readSettings } from '../shared/settings.ts'
import type { UserFiles, LoadedSettings, SettingsResult } from '../shared/settings.ts'
import type { LoginState } from './account-checks.ts'
import type { Facts, SettledFacts } from './checks.ts'
import type { ConfigState, FileFacts } from './local-checks.ts'
import { tryPort } from './network-checks.ts'
import type { TrustSettings } from './network-checks.ts'
import { probe } from './probe.ts'
import type { Probe } from './probe.ts'
import {
  findCodexLogin,
  endpointsOf,
  findCopilotLogin,
  listCopilotModels,
  findStored,
  connectTimeoutMs,
  requestTimeoutMs,
  tryList,
} from './provider-facts.ts'

/** For the list of Codex models, including a renewal of the token. Ms. */
const codexTimeoutMs = 20_000

export interface OpenFacts {
  readonly facts: Facts
  /** Waits for a running renewal: its tokens exist nowhere else. */
  readonly close: () => Promise<void>
}

/** The facts of this machine and this user's settings, which the checks judge. */
export async function openFacts(context: CommandContext, configFlag: string | undefined): Promise<OpenFacts> {
  const { state, places, settings } = await readConfig(context, configFlag)
  const opened = settings === undefined ? undefined : openSettledFacts(context, settings)
  const { env, nodeVersion } = context
  return {
    facts: {
      config: state,
      files: once(() => readFileFacts(context, places, settings)),
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

/** Runs at the first call; later calls share the result. */
function once<T>(find: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= find())
}

interface ReadConfig {
  readonly state: ConfigState
  readonly places: UserFiles | undefined
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

async function readFileFacts(
  { platform }: CommandContext,
  places: UserFiles | undefined,
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

/** Larger than any settings file or certificate bundle. Bytes. */
const mostBytes = 4 * 1024 * 1024

/** Reads a regular file; reading a pipe might never end. */
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
    const connection = openCodexConnection(context, settings, silentLog)
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
    const outcome = await obtainCopilotToken(askBriefly(own), own.githubToken, config.copilot.auth, signal)
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
        const outcome = await tryList(connection.executor, parseCodexModels, { signal, timeoutMs: codexTimeoutMs })
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
