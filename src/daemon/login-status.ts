import { join } from 'node:path'
import { planNameOfSku } from '../api/plan-name.ts'
import type { AccountList, CodexStatus, LoginStatus } from '../api/status.ts'
import { createCliLoginSource } from '../auth/codex/cli-login.ts'
import { accessLife, codexRecordKind } from '../auth/codex/record.ts'
import type { CodexRecord } from '../auth/codex/record.ts'
import type { LoginInUse } from '../auth/copilot/account-in-use.ts'
import { accountHost, accountName, findAccounts } from '../auth/copilot/find-account.ts'
import { tokenLife } from '../auth/copilot/record.ts'
import { isUsedDirectly } from '../auth/copilot/wire.ts'
import type { CopilotRecord } from '../auth/copilot/wire.ts'
import { RecordStoreError } from '../auth/records/record-fs.ts'
import { newestLogin } from '../auth/records/record-kind.ts'
import { isExpired } from '../auth/token-life.ts'
import type { Config } from '../config/schema.ts'
import { Fault } from '../errors.ts'
import { silentLog } from '../logging/logger.ts'

/** Reads the stored logins; changes and renews nothing. */
export interface LoginReaders {
  readonly config: Config
  /** Undefined if nobody is logged in. @throws RecordStoreError */
  readonly findCopilot: () => Promise<LoginInUse | undefined>
  /** Undefined if nobody is logged in. @throws RecordStoreError */
  readonly findCodex: () => Promise<CodexRecord | undefined>
  readonly locateCopilot: (id: string) => string
  readonly locateCodex: (id: string) => string
  /** The folder of Codex CLI; undefined if it is unknown. */
  readonly codexHome: string | undefined
  /** Ms since epoch. */
  readonly now: () => number
  /** Never rejects. */
  readonly sleep: (ms: number) => Promise<void>
  readonly signal: AbortSignal
}

/** A login of Copilot, or why none can be used: a sentence that names the file. */
export interface CopilotState {
  readonly login: LoginInUse | undefined
  readonly problem: string | undefined
}

/** The login of Codex requests. */
export type CodexState =
  /** `codex.enabled` is false. */
  | { readonly kind: 'off' }
  /** `isChosen`: the configuration names this source of a login. */
  | { readonly kind: 'nobody'; readonly detail: string; readonly fix: string; readonly isChosen: boolean }
  /** The login cannot be read. `sentence` says so with the name of the file; `detail` says only why. */
  | { readonly kind: 'problem'; readonly sentence: string; readonly detail: string; readonly fix: string }
  | { readonly kind: 'api-key' }
  | CodexLogin

interface CodexLogin {
  readonly kind: 'login' | 'codex-cli'
  readonly account: string
  /** OpenAI's identifier. */
  readonly plan: string | undefined
  readonly location: string
  /** Ms since epoch; Infinity if unknown. */
  readonly untilMs: number
  /** The host that issued a stored login, if it is not the configured one. */
  readonly issuer?: string | undefined
}

/** The body of `GET /status`. Does not throw for an unusable stored login. */
export async function readLoginStatus(readers: LoginReaders): Promise<LoginStatus> {
  const { config, now } = readers
  const [{ login, problem }, codex] = await Promise.all([readCopilotState(readers), readCodexState(readers)])
  return {
    login: login === undefined ? null : describeCopilot(login, readers),
    problem: problem ?? null,
    store: config.auth.store,
    token: tokenOf(login?.record, config, now()),
    codex: describeCodex(codex, now()),
  }
}

/** Does not throw for an unusable stored login. */
export async function readCopilotState({ findCopilot }: Pick<LoginReaders, 'findCopilot'>): Promise<CopilotState> {
  return toState(findCopilot())
}

/** Does not throw for an unusable login. */
export async function readCodexState(readers: LoginReaders): Promise<CodexState> {
  const { enabled, apiKey, useCliLogin } = readers.config.codex
  if (!enabled) return { kind: 'off' }
  if (apiKey !== '') return { kind: 'api-key' }
  return useCliLogin ? readCliState(readers) : readStoredState(readers)
}

export function hasCodexLogin({ kind }: CodexState): boolean {
  return kind === 'login' || kind === 'codex-cli' || kind === 'api-key'
}

async function toState<Login>(
  found: Promise<Login | undefined>,
): Promise<{ readonly login: Login | undefined; readonly problem: string | undefined }> {
  try {
    return { login: await found, problem: undefined }
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    return { login: undefined, problem: error.message }
  }
}

async function readStoredState({ findCodex, locateCodex, now }: LoginReaders): Promise<CodexState> {
  const { login: record, problem } = await toState(findCodex())
  const { loginCommand } = codexRecordKind
  if (problem !== undefined) {
    return { kind: 'problem', sentence: problem, detail: problem, fix: `Fix that, or log in again: ${loginCommand}` }
  }
  if (record === undefined) {
    return { kind: 'nobody', detail: 'not logged in', fix: `Run: ${loginCommand}`, isChosen: false }
  }
  const nowMs = now()
  return {
    kind: 'login',
    account: record.label,
    plan: record.metadata.plan,
    location: locateCodex(record.id),
    untilMs: nowMs + accessLife(record, 0, { wallMs: nowMs, monotonicMs: 0 }).expiresAfterMs,
    issuer: record.metadata.issuer,
  }
}

async function readCliState({ codexHome, now, sleep, signal }: LoginReaders): Promise<CodexState> {
  if (codexHome === undefined) {
    const [detail, fix] = ['The folder of Codex CLI is unknown', 'Set CODEX_HOME to an absolute path']
    return { kind: 'problem', sentence: `${detail}. ${fix}`, detail, fix }
  }
  // The status of the source reports the same failure.
  const source = createCliLoginSource({ now, monotonicMs: now, sleep, log: silentLog }, { codexHome })
  try {
    await source.get(signal).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
    })
    const location = join(codexHome, 'auth.json')
    const { state, detail, fix, email, recordId = '', plan, expiresAtMs = Infinity } = source.status()
    switch (state) {
      case 'ok':
      case 'expired':
        return { kind: 'codex-cli', account: email ?? recordId, plan, location, untilMs: expiresAtMs }
      case 'login_required':
        return { kind: 'nobody', detail, fix, isChosen: true }
      default:
        return { kind: 'problem', sentence: `${location}: ${detail}. ${fix}`, detail, fix }
    }
  } finally {
    await source.close()
  }
}

function describeCopilot({ record }: LoginInUse, { locateCopilot }: LoginReaders): LoginStatus['login'] {
  if (record === undefined) {
    return { source: 'environment', account: null, host: null, plan: null, sku: null, record: null }
  }
  const { sku, github_base_url: host = null } = record.metadata
  const plan = planNameOfSku(sku) ?? null
  return { source: 'record', account: record.label, host, plan, sku: sku ?? null, record: locateCopilot(record.id) }
}

/** The stored Copilot token. */
function tokenOf(record: CopilotRecord | undefined, { copilot }: Config, nowMs: number): LoginStatus['token'] {
  const { access_token, obtained_at: obtainedAtSeconds, refresh_in: refreshInSeconds } = record?.metadata ?? {}
  if (access_token === undefined || obtainedAtSeconds === undefined || refreshInSeconds === undefined) {
    return { state: 'none', expires_at: null }
  }
  if (record !== undefined && isUsedDirectly(record.metadata)) return { state: 'direct', expires_at: null }
  const at = { wallMs: nowMs, monotonicMs: 0 }
  const marginSeconds = copilot.refreshSafetyMarginSeconds
  const life = tokenLife({ obtainedAtSeconds, refreshInSeconds }, { marginSeconds, random: 0 }, at)
  if (isExpired(life, at)) return { state: 'expired', expires_at: null }
  return { state: 'usable', expires_at: new Date(nowMs + life.expiresAfterMs).toISOString() }
}

function describeCodex(state: CodexState, nowMs: number): CodexStatus {
  const token = { state: 'none', expires_at: null } as const
  const nothing = { enabled: true, login: null, problem: null, advice: null, token }
  switch (state.kind) {
    case 'off':
      return { ...nothing, enabled: false }
    case 'nobody':
      return { ...nothing, advice: `${state.detail}. ${state.fix}` }
    case 'problem':
      return { ...nothing, problem: state.sentence }
    case 'api-key':
      return { ...nothing, login: { source: 'api-key', account: null, plan: null, record: null } }
    case 'login':
    case 'codex-cli': {
      const { kind, account, plan = null, location: record, untilMs } = state
      const isUsable = untilMs > nowMs
      const expires_at = isUsable && untilMs < Infinity ? new Date(untilMs).toISOString() : null
      return {
        ...nothing,
        login: { source: kind === 'login' ? 'record' : kind, account, plan, record },
        token: { state: isUsable ? 'usable' : 'expired', expires_at },
      }
    }
  }
}

/** The body of `GET /accounts`. */
export function toAccountList(
  records: readonly CopilotRecord[],
  { server }: Config,
  hasEnvironmentToken: boolean,
): AccountList {
  const used = hasEnvironmentToken ? undefined : newestLogin(records)
  const limits = Object.entries(server.keyLimits)
  const accounts = records.map((record) => ({
    name: accountName(record),
    host: accountHost(record.metadata.github_base_url),
    in_use: record === used,
    keys: limits.flatMap(([key, { account }]) =>
      account !== undefined && findAccounts(records, account).includes(record) ? [key] : [],
    ),
  }))
  return { accounts, environment_token: hasEnvironmentToken }
}
