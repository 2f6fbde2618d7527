import * as nodeFs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { GithubApiDeps } from '../../auth/copilot/github-api.ts'
import { copilotRecordKind } from '../../auth/copilot/record.ts'
import { createSystemKeychain } from '../../auth/records/keychain.ts'
import type { Keychain } from '../../auth/records/keychain.ts'
import type { LoginInUse } from '../../auth/copilot/account-in-use.ts'
import { openRecordStore } from '../../auth/records/open-record-store.ts'
import { otherStoreLocation } from '../../auth/records/open-record-store.ts'
import type { StoreLocation } from '../../auth/records/open-record-store.ts'
import { acquireLock, LOCK_TIMES } from '../../auth/records/file-lock.ts'
import { adviceFor, errnoOf, RecordStoreError } from '../../auth/records/record-fs.ts'
import type { RecordKind, StoredRecord } from '../../auth/records/record-kind.ts'
import type { RecordStore } from '../../auth/records/record-store.ts'
import type { CopilotRecord } from '../../auth/copilot/wire.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { silentLog } from '../../logging/logger.ts'
import type { Logger } from '../../logging/logger.ts'
import { visibleLines } from '../../terminal/visible.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import type { LoadedSettings } from './settings.ts'

/** For one request to GitHub, headers and body. Ms. */
export const githubTimeoutMs = 30_000

export const loginAdvice = 'Not logged in. Run: copilot-proxy login (for ChatGPT: copilot-proxy login codex)'

/** Calls `tell` with warnings and errors, and drops everything else. */
export function warningsTo(tell: (sentence: string) => void): Logger {
  const onWarning = (first: string | Readonly<Record<string, unknown>>, message = ''): void =>
    tell(typeof first === 'string' ? first : message)
  return { ...silentLog, warn: onWarning, error: onWarning }
}

export function writeNote(context: CommandContext, warning: string): void {
  context.stderr.write(visibleLines(`Note: ${warning}\n`))
}

/** Writes warnings and errors of the modules that a command uses to stderr, and drops everything else. */
export function warningLog(context: CommandContext): Logger {
  return warningsTo((warning) => writeNote(context, warning))
}

export type AuthSettings = Pick<LoadedSettings, 'authDir' | 'config'>

export function recordPlace(context: CommandContext, { authDir, config }: AuthSettings): StoreLocation {
  return { dir: authDir, rules: config.auth, keychain: keychainOf(context) }
}

export function keychainOf({ env, keychain }: CommandContext): Keychain {
  return keychain ?? createSystemKeychain({ env })
}

export function openRecords(
  context: CommandContext,
  settings: AuthSettings,
  options: { readonly isReadOnly?: boolean } = {},
): RecordStore<CopilotRecord> {
  return openRecordStore(copilotRecordKind, recordPlace(context, settings), warningLog(context), options)
}

/**
 * Called before a login, to fail early if the login could not be stored.
 * @throws RecordStoreError `unwritable`, `busy`, `keychain`
 */
export async function requireStore(context: CommandContext, settings: AuthSettings): Promise<void> {
  const { dir, rules, keychain } = recordPlace(context, settings)
  try {
    const made = await nodeFs.mkdir(dir, { recursive: true, mode: 0o700 })
    const trial = await acquireLock(nodeFs, join(dir, 'trial.lock'), LOCK_TIMES, context.signal)
    await trial.release()
    // A login that is cancelled leaves nothing behind.
    if (made !== undefined) await removeEmptyFolders(dir, made)
  } catch (cause) {
    if (cause instanceof RecordStoreError || context.signal.aborted) throw cause
    const message = `${dir} cannot store a login: ${adviceFor(errnoOf(cause))}`
    throw new RecordStoreError('unwritable', message, { cause })
  }
  if (rules.store !== 'keychain') return
  // Reading does not fail if the keychain is locked or full.
  await keychain.set('trial', 'trial')
  await keychain.remove('trial')
}

/** Removes `folder` and the folders above it, up to `top`. All of them are empty. */
async function removeEmptyFolders(folder: string, top: string): Promise<void> {
  await nodeFs.rmdir(folder)
  if (folder !== top) await removeEmptyFolders(dirname(folder), top)
}

/** Removes the account from the store that is not in use. Never throws. */
export async function removeFromOtherStore<Stored extends StoredRecord>(
  context: CommandContext,
  settings: AuthSettings,
  kind: RecordKind<Stored>,
  id: string,
): Promise<void> {
  const other = openRecordStore(kind, otherStoreLocation(recordPlace(context, settings)), silentLog)
  try {
    const removed = await other.remove(id, { signal: context.signal })
    if (removed) context.stdout.write(`Removed the earlier login: ${other.locationOf(id)}\n`)
  } catch (error) {
    if (!(error instanceof RecordStoreError)) throw error
    writeNote(context, error.message)
  }
}

/** Completes the sentence “the login is stored in …”. */
export function describePlace(location: string, { config }: AuthSettings): string {
  return config.auth.store === 'keychain'
    ? `${location}, encrypted with a key in the system keychain`
    : `${location} (only you can read it)`
}

export function tokenOfEnvironment(context: CommandContext): string | undefined {
  return context.env['COPILOT_GITHUB_TOKEN']?.trim() || undefined
}

export function githubApi(
  context: CommandContext,
  settings: LoadedSettings,
  { apiBaseUrl, tokenOrigin }: Pick<LoginInUse, 'apiBaseUrl' | 'tokenOrigin'>,
): GithubApiDeps {
  const { fetch, now } = context
  return { fetch, now, apiBaseUrl, tokenOrigin, headers: settings.config.copilot.headers, timeoutMs: githubTimeoutMs }
}

export const providerNames: Readonly<Record<ProviderId, string>> = { copilot: 'Copilot', codex: 'Codex' }

/** @throws CommandFailure `usage` for an unknown name */
export function parseProvider(name: string): ProviderId {
  if (name === 'copilot' || name === 'codex') return name
  throw new CommandFailure(exitCode.usage, `Unknown provider ${JSON.stringify(name)}. Use copilot or codex.`)
}
