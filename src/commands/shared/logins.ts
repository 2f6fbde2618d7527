import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { createCliLoginSource } from '../../auth/codex/cli-login.ts'
import { accessLife, codexRecordKind } from '../../auth/codex/record.ts'
import type { CodexRecord } from '../../auth/codex/record.ts'
import { findLoginInUse } from '../../auth/copilot/account-in-use.ts'
import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import type { RecordFs } from '../../auth/records/record-fs.ts'
import type { RecordKind, StoredRecord } from '../../auth/records/record-kind.ts'
import type { RecordStore } from '../../auth/records/record-store.ts'
import { Fault } from '../../errors.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { recordPlace, silentLog, tokenOfEnvironment, warningsTo, writeNote } from './accounts.ts'
import type { AuthSettings } from './accounts.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import { findCodexHome } from './settings.ts'
import type { LoadedSettings } from './settings.ts'

interface Reading {
  /** Changes nothing on the disk and writes no notes: an unusable record stays where it is and is thrown as an error. */
  readonly isReadOnly?: boolean
}

/**
 * Looks up a login in the records of one kind. Writes each distinct warning to stderr once, but not the message of a
 * thrown RecordStoreError.
 * @throws what `look` throws; RecordStoreError if records exist and none can be used
 */
async function lookUp<Stored extends StoredRecord, Found>(
  context: CommandContext,
  settings: AuthSettings,
  kind: RecordKind<Stored>,
  look: (store: RecordStore<Stored>) => Promise<Found | undefined>,
  { isReadOnly = false }: Reading,
): Promise<Found | undefined> {
  const warnings = new Set<string>()
  const log = warningsTo((warning) => warnings.add(warning))
  const store = openRecordStore(kind, recordPlace(context, settings), log, isReadOnly ? readOnlyFs : undefined)
  try {
    if (!isReadOnly) return await look(store)
    const found = await look({ ...store, current: () => store.current({ leaveCorrupt: true }) })
    const unused = [...warnings].find((sentence) => sentence.includes(' is not used, '))
    if (found === undefined && unused !== undefined) throw new RecordStoreError('unreadable', unused)
    return found
  } catch (error) {
    if (error instanceof RecordStoreError) warnings.delete(error.message)
    throw error
  } finally {
    if (!isReadOnly) for (const warning of warnings) writeNote(context, warning)
  }
}

/** Modes are not tightened, and unusable records are not set aside. */
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
  return Promise.reject(Object.assign(new Error('This check changes no files'), { code: 'EROFS' }))
}

/**
 * The environment's token, else the newest record; undefined if nobody is logged in to Copilot.
 * @throws RecordStoreError if records exist and none can be used
 */
export async function findLogin(
  context: CommandContext,
  settings: LoadedSettings,
  reading: Reading = {},
): Promise<LoginInUse | undefined> {
  const githubToken = tokenOfEnvironment(context)
  const { githubApiBaseUrl } = settings.config.copilotOauth
  const look = (store: Parameters<typeof findLoginInUse>[0]['store']) =>
    findLoginInUse({ store, githubToken, githubApiBaseUrl })
  const login = await lookUp(context, settings, copilotRecordKind, look, reading)
  context.secrets.note(login?.githubToken, login?.record?.metadata.access_token)
  return login
}

export async function requireLogin(context: CommandContext, settings: LoadedSettings): Promise<LoginInUse> {
  const login = await findLogin(context, settings)
  if (login !== undefined) return login
  throw new CommandFailure(exitCode.notLoggedIn, 'Not logged in to Copilot. Run: copilot-proxy login')
}

/** A login of Copilot, or why none can be used: a sentence that names the file. */
export interface CopilotState {
  readonly login: LoginInUse | undefined
  readonly problem: string | undefined
}

/** Does not throw for an unusable stored login. */
export async function readCopilotState(
  context: CommandContext,
  settings: LoadedSettings,
  reading?: Reading,
): Promise<CopilotState> {
  return toState(findLogin(context, settings, reading))
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

/**
 * The newest stored login; undefined if none exists.
 * @throws RecordStoreError if records exist and none can be used
 */
export async function findCodexRecord(
  context: CommandContext,
  settings: AuthSettings,
  reading: Reading = {},
): Promise<CodexRecord | undefined> {
  const record = await lookUp(context, settings, codexRecordKind, (store) => store.current(), reading)
  const { access_token: access, refresh_token: refresh, id_token: id } = record?.metadata ?? {}
  context.secrets.note(access, refresh, id)
  return record
}

/** The login of Codex requests, from local files only. */
export type CodexState =
  /** `codex.enabled` is false. */
  | { readonly kind: 'off' }
  /** `isChosen`: the configuration names this source of a login. */
  | { readonly kind: 'nobody'; readonly detail: string; readonly fix: string; readonly isChosen: boolean }
  /** The login cannot be read. `sentence` says so with the name of the file; `detail` says only why. */
  | { readonly kind: 'problem'; readonly sentence: string; readonly detail: string; readonly fix: string }
  | { readonly kind: 'api-key' }
  | CodexLogin

export interface CodexLogin {
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

/** Does not throw for an unusable stored login. */
export async function readCodexState(
  context: CommandContext,
  settings: LoadedSettings,
  reading?: Reading,
): Promise<CodexState> {
  const { enabled, apiKey, useCliLogin } = settings.config.codex
  if (!enabled) return { kind: 'off' }
  if (apiKey !== '') return { kind: 'api-key' }
  return useCliLogin ? readCliState(context) : readStoredState(context, settings, reading)
}

async function readStoredState(
  context: CommandContext,
  settings: LoadedSettings,
  reading?: Reading,
): Promise<CodexState> {
  const { login: record, problem } = await toState(findCodexRecord(context, settings, reading))
  const { loginCommand } = codexRecordKind
  if (problem !== undefined) {
    return { kind: 'problem', sentence: problem, detail: problem, fix: `Fix that, or log in again: ${loginCommand}` }
  }
  if (record === undefined) {
    return { kind: 'nobody', detail: 'not logged in', fix: `Run: ${loginCommand}`, isChosen: false }
  }
  const nowMs = context.now()
  const store = openRecordStore(codexRecordKind, recordPlace(context, settings), silentLog)
  return {
    kind: 'login',
    account: record.label,
    plan: record.metadata.plan,
    location: store.locationOf(record.id),
    untilMs: nowMs + accessLife(record, 0, { wallMs: nowMs, monotonicMs: 0 }).expiresAfterMs,
    issuer: record.metadata.issuer,
  }
}

async function readCliState(context: CommandContext): Promise<CodexState> {
  const { now, signal } = context
  const codexHome = findCodexHome(context)
  if (codexHome === undefined) {
    const [detail, fix] = ['The folder of Codex CLI is unknown', 'Set CODEX_HOME to an absolute path']
    return { kind: 'problem', sentence: `${detail}. ${fix}`, detail, fix }
  }
  const sleep = (ms: number): Promise<void> => context.sleep(ms, signal).catch(() => {})
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

export function hasCodexLogin({ kind }: CodexState): boolean {
  return kind === 'login' || kind === 'codex-cli' || kind === 'api-key'
}

/** The account and its plan. */
export function describeCodexLogin({ kind, account, plan }: CodexLogin): string {
  const ofPlan = plan === undefined ? '' : `, ChatGPT plan ${plan}`
  return `${account}${ofPlan}${kind === 'codex-cli' ? ' (login of Codex CLI, read-only)' : ''}`
}

/** @throws CommandFailure `failed`, RecordStoreError */
export async function findLogins(context: CommandContext, settings: LoadedSettings): Promise<readonly ProviderId[]> {
  const login = await findLogin(context, settings)
  const codex = await readCodexState(context, settings)
  // A Copilot login is enough to serve, even if the Codex login cannot be read.
  if (login === undefined && codex.kind === 'problem') throw new CommandFailure(exitCode.failed, codex.sentence)
  return [...(login === undefined ? [] : (['copilot'] as const)), ...(hasCodexLogin(codex) ? (['codex'] as const) : [])]
}
