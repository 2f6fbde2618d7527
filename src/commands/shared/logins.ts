import { codexRecordKind } from '../../auth/codex/record.ts'
import type { CodexRecord } from '../../auth/codex/record.ts'
import { findLoginInUse } from '../../auth/copilot/account-in-use.ts'
import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { RecordStoreError } from '../../auth/records/record-fs.ts'
import type { RecordKind, StoredRecord } from '../../auth/records/record-kind.ts'
import type { RecordStore } from '../../auth/records/record-store.ts'
import { hasCodexLogin, readCodexState } from '../../daemon/login-status.ts'
import type { LoginReaders } from '../../daemon/login-status.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { silentLog } from '../../logging/logger.ts'
import { recordPlace, tokenOfEnvironment, warningsTo, writeNote } from './accounts.ts'
import type { AuthSettings } from './accounts.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import { findCodexHome } from './settings.ts'
import type { LoadedSettings } from './settings.ts'

interface Reading {
  /** Changes nothing on the disk: an unusable record stays where it is and is thrown as an error. */
  readonly isReadOnly?: boolean
  /** Writes no notes. What only a note would state about the cause of a missing login is thrown as an error. */
  readonly isSilent?: boolean
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
  { isReadOnly = false, isSilent = false }: Reading,
): Promise<Found | undefined> {
  const warnings = new Set<string>()
  const log = warningsTo((warning) => warnings.add(warning))
  const store = openRecordStore(kind, recordPlace(context, settings), log, { isReadOnly })
  try {
    const found = await look(store)
    if (!isSilent) return found
    const unused = [...warnings].find((sentence) => sentence.includes(' is not used, '))
    if (found === undefined && unused !== undefined) throw new RecordStoreError('unreadable', unused)
    return found
  } catch (error) {
    if (error instanceof RecordStoreError) warnings.delete(error.message)
    throw error
  } finally {
    if (!isSilent) for (const warning of warnings) writeNote(context, warning)
  }
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

/**
 * The newest stored login; undefined if none exists.
 * @throws RecordStoreError if records exist and none can be used
 */
async function findCodexRecord(
  context: CommandContext,
  settings: AuthSettings,
  reading: Reading = {},
): Promise<CodexRecord | undefined> {
  const record = await lookUp(context, settings, codexRecordKind, (store) => store.current(), reading)
  const { access_token: access, refresh_token: refresh, id_token: id } = record?.metadata ?? {}
  context.secrets.note(access, refresh, id)
  return record
}

/** Reads the logins of this user, from local files only. */
export function loginReaders(context: CommandContext, settings: LoadedSettings, reading: Reading = {}): LoginReaders {
  const { now, signal } = context
  const place = recordPlace(context, settings)
  return {
    config: settings.config,
    findCopilot: () => findLogin(context, settings, reading),
    findCodex: () => findCodexRecord(context, settings, reading),
    locateCopilot: openRecordStore(copilotRecordKind, place, silentLog).locationOf,
    locateCodex: openRecordStore(codexRecordKind, place, silentLog).locationOf,
    codexHome: findCodexHome(context),
    now,
    sleep: (ms) => context.sleep(ms, signal).catch(() => {}),
    signal,
  }
}

/** Results of tools are redacted as the daemon redacts them, so a process that makes no use of the logins has to know them too. */
export async function noteLogins(context: CommandContext, settings: LoadedSettings): Promise<void> {
  // Reading encrypted logins could open a window of the keychain.
  if (settings.config.auth.store !== 'file') return
  const reading = { isReadOnly: true, isSilent: true }
  await Promise.allSettled([findLogin(context, settings, reading), findCodexRecord(context, settings, reading)])
}

/** The account and its plan. */
export function describeCodexLogin(account: string | null, plan: string | null, isOfCli: boolean): string {
  const ofPlan = plan === null ? '' : `, ChatGPT plan ${plan}`
  return `${account}${ofPlan}${isOfCli ? ' (login of Codex CLI, read-only)' : ''}`
}

/** @throws CommandFailure `failed`, RecordStoreError */
export async function findLogins(
  context: CommandContext,
  settings: LoadedSettings,
  reading: Reading = {},
): Promise<readonly ProviderId[]> {
  const login = await findLogin(context, settings, reading)
  const codex = await readCodexState(loginReaders(context, settings, reading))
  // A Copilot login is enough to serve, even if the Codex login cannot be read.
  if (login === undefined && codex.kind === 'problem') throw new CommandFailure(exitCode.failed, codex.sentence)
  return [...(login === undefined ? [] : (['copilot'] as const)), ...(hasCodexLogin(codex) ? (['codex'] as const) : [])]
}
