import * as nodeFs from 'node:fs/promises'
import { codexLoginFix, codexRecordKind } from '../../auth/codex/record.ts'
import type { CodexRecord } from '../../auth/codex/record.ts'
import type { ExchangedToken } from '../../auth/copilot/github-api.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import { endpointCandidates } from '../../auth/copilot/endpoint.ts'
import { findLoginInUse } from '../../auth/copilot/account-in-use.ts'
import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import type { RecordFs } from '../../auth/records/record-fs.ts'
import type { RecordKind, StoredRecord } from '../../auth/records/record-kind.ts'
import type { RecordStore } from '../../auth/records/record-store.ts'
import type { CopilotRecord } from '../../auth/copilot/wire.ts'
import { githubHostsOf } from '../../config/upstream-hosts.ts'
import { Fault } from '../../errors.ts'
import { createPool } from '../../executors/agent.ts'
import type { CodexConnection } from '../../executors/codex-connection.ts'
import { createCopilotExecutor } from '../../executors/copilot.ts'
import type { Executor } from '../../executors/executor.ts'
import type { Logger } from '../../logging/logger.ts'
import { parseCopilotModels } from '../../models/copilot-model.ts'
import type { ModelListing } from '../../models/model.ts'
import { silentLog, tokenOfEnvironment, recordPlace } from '../shared/accounts.ts'
import type { CommandContext } from '../shared/command.ts'
import { planNameOfSku } from '../shared/plan-name.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import type { LoginState, ListingOutcome } from './account-checks.ts'

interface CopilotLogin {
  readonly login: LoginInUse | undefined
  readonly state: LoginState
}

export async function findCopilotLogin(context: CommandContext, settings: LoadedSettings): Promise<CopilotLogin> {
  const { login, problem } = await findStored(context, settings, copilotRecordKind, (store) =>
    findLoginInUse({
      store,
      githubToken: tokenOfEnvironment(context),
      githubApiBaseUrl: settings.config.copilotOauth.githubApiBaseUrl,
    }),
  )
  if (problem !== undefined) {
    return { login: undefined, state: problemState(problem, copilotRecordKind.loginCommand) }
  }
  if (login === undefined) return { login, state: { kind: 'nobody' } }
  context.secrets.note(login.githubToken, login.record?.metadata.access_token)
  return { login, state: { kind: 'login', who: describeCopilot(login) } }
}

function describeCopilot({ record }: LoginInUse): string {
  if (record === undefined) return 'The token in COPILOT_GITHUB_TOKEN'
  const plan = planNameOfSku(record.metadata.sku)
  return plan === undefined ? record.label : `${record.label}, ${plan}`
}

const nobodysRecord: CopilotRecord = {
  id: 'copilot-nobody',
  provider: 'copilot',
  label: '',
  attributes: {},
  metadata: { github_access_token: '-' },
}

/** Base URLs of Copilot requests for this account, in the order of trying. */
export function endpointsOf(
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

interface CodexSources {
  readonly codexRecord: () => Promise<Stored<CodexRecord>>
  readonly codexConnection: () => Promise<CodexConnection | undefined>
}

export async function findCodexLogin(
  context: CommandContext,
  settings: LoadedSettings,
  { codexRecord, codexConnection }: CodexSources,
): Promise<LoginState> {
  const { enabled, apiKey, useCliLogin } = settings.config.codex
  if (!enabled) return { kind: 'off', detail: 'Off: codex.enabled is false' }
  if (apiKey !== '') return { kind: 'login', who: 'The API key in codex.api-key' }
  if (useCliLogin) return findCliLogin(context, await codexConnection())
  const { login, problem } = await codexRecord()
  if (problem !== undefined) return problemState(problem, codexRecordKind.loginCommand)
  if (login === undefined) return { kind: 'nobody' }
  const { plan, access_token: access, refresh_token: refresh, id_token: id } = login.metadata
  context.secrets.note(access, refresh, id)
  return { kind: 'login', who: plan === undefined ? login.label : `${login.label}, ChatGPT plan ${plan}` }
}

/** Codex CLI's login was configured explicitly, so a missing one is a problem. */
async function findCliLogin({ signal }: CommandContext, connection: CodexConnection | undefined): Promise<LoginState> {
  // Its status reports the same failure.
  await connection?.credentials.get(signal).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error
  })
  const { state, detail = '', fix = codexLoginFix, email } = connection?.credentials.status() ?? {}
  return state === 'ok' || state === 'expired'
    ? { kind: 'login', who: `${email ?? 'Codex CLI'} (login of Codex CLI, read-only)` }
    : { kind: 'problem', detail, fix }
}

export interface Stored<Login> {
  readonly login: Login | undefined
  /** Why an existing file cannot be used: a sentence that names it. */
  readonly problem: string | undefined
}

/** Reads the store without changing it, not even unusable records. */
export async function findStored<Record extends StoredRecord, Login>(
  context: CommandContext,
  settings: LoadedSettings,
  kind: RecordKind<Record>,
  look: (store: RecordStore<Record>) => Promise<Login | undefined>,
): Promise<Stored<Login>> {
  const warnings: string[] = []
  const warn: Logger['warn'] = (first: unknown, message?: unknown) => void warnings.push(String(message ?? first))
  const log: Logger = { ...silentLog, warn }
  try {
    const login = await look(openRecordStore(kind, recordPlace(context, settings), log, readOnlyFs))
    const unusable = warnings.find((sentence) => / is not us(?:able|ed), /.test(sentence))
    // Doctor sets nothing aside, so that part is no problem.
    const [problem] = unusable?.split(', and cannot be set aside') ?? []
    return { login, problem: login === undefined ? problem : undefined }
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    return { login: undefined, problem: error.message }
  }
}

function problemState(problem: string, loginCommand: string): LoginState {
  return { kind: 'problem', detail: problem, fix: `Put that right, or log in again: ${loginCommand}` }
}

/** For one request with its answer; shorter than where a person waits for the answer itself. Ms. */
export const requestTimeoutMs = 10_000

/** Shorter still, to distinguish an unreachable host from a slow one. Ms. */
export const connectTimeoutMs = 6_000

export async function tryList(
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

/** Read-only access for a record store: modes are not tightened, and unusable records are not set aside. */
const readOnlyFs: RecordFs = {
  ...nodeFs,
  async open(path, flags) {
    const file = await nodeFs.open(path, flags)
    file.chmod = unchanged
    return file
  },
  chmod: unchanged,
  link: refused,
  mkdir: refused,
  rename: refused,
  unlink: refused,
}

function unchanged(): Promise<void> {
  return Promise.resolve()
}

function refused(): Promise<never> {
  return Promise.reject(Object.assign(new Error('Nothing is changed here'), { code: 'EROFS' }))
}
