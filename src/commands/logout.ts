import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { codexRecordKind } from '../auth/codex/record.ts'
import { copilotRecordKind } from '../auth/copilot/record.ts'
import { openRecordStore, otherStoreLocation } from '../auth/records/open-record-store.ts'
import type { StoreLocation } from '../auth/records/open-record-store.ts'
import { RecordStoreError } from '../auth/records/record-fs.ts'
import { newestLogin, type StoredRecord } from '../auth/records/record-kind.ts'
import { recordSuffixes } from '../auth/records/record-store.ts'
import type { RecordStore } from '../auth/records/record-store.ts'
import type { ProviderId } from '../executors/executor.ts'
import type { Logger } from '../logging/logger.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { silentLog } from '../logging/logger.ts'
import {
  keychainOf,
  recordPlace,
  tokenOfEnvironment,
  warningLog,
  parseProvider,
  providerNames,
} from './shared/accounts.ts'
import { CommandFailure, exitCode } from './shared/command.ts'
import type { CommandContext, ExitCode, LogoutFlags } from './shared/command.ts'
import { readSettings } from './shared/settings.ts'
import type { SettingsResult } from './shared/settings.ts'

/** The common part of both providers' records. */
type Account = StoredRecord & { readonly label: string }
type Accounts = Pick<RecordStore<Account>, 'current' | 'list' | 'locationOf' | 'remove'>

interface Provider {
  readonly isRecordId: (id: string) => boolean
  readonly open: (place: StoreLocation, log: Logger) => Accounts
  /** A hint about the authorization that the provider keeps. */
  readonly afterwards: string
}

const providers: Readonly<Record<ProviderId, Provider>> = {
  copilot: {
    isRecordId: copilotRecordKind.isRecordId,
    open: (place, log) => openRecordStore(copilotRecordKind, place, log),
    afterwards: 'To revoke the access on GitHub as well: https://github.com/settings/apps/authorizations',
  },
  codex: {
    isRecordId: codexRecordKind.isRecordId,
    open: (place, log) => openRecordStore(codexRecordKind, place, log),
    // Not revoked: OpenAI would end the account's Codex logins on every machine (openai/codex#22577).
    afterwards:
      'To revoke the access at OpenAI as well, which logs out Codex CLI on all machines:\n' +
      'https://chatgpt.com/#settings/Security',
  },
}

/**
 * Deletes the account in use, or all with `--all`; of Copilot when no provider is named, of both with `--all`. Deletes
 * from both stores. Works with an invalid configuration too.
 */
export async function logout(context: CommandContext, flags: LogoutFlags): Promise<ExitCode> {
  const named = flags.provider === undefined ? undefined : parseProvider(flags.provider)
  const settings = await readSettings(context, flags.config)
  const place = placeOf(context, settings)
  const left: readonly ProviderId[] = named === undefined ? (flags.all ? ['copilot', 'codex'] : ['copilot']) : [named]

  const outcome: Outcome = { removed: 0, failures: 0 }
  for (const provider of left) {
    const { removed } = outcome
    if (flags.all) {
      for (const store of [place, otherStoreLocation(place)]) {
        await removeFromStore(context, store, providers[provider], outcome)
      }
    } else if (await removeCurrent(context, place, provider)) outcome.removed += 1
    if (outcome.removed > removed) context.stdout.write(`${providers[provider].afterwards}\n`)
  }
  const { removed, failures } = outcome
  const other = named === undefined && !flags.all ? await codexLogin(place) : undefined
  if (removed === 0 && failures === 0) {
    const where = named === undefined && other === undefined ? '' : ` to ${providerNames[named ?? 'copilot']}`
    context.stdout.write(`Not logged in${where}.\n`)
  }
  if (other !== undefined) {
    context.stdout.write(`Still logged in to Codex as ${nameOf(other)}. To log out: copilot-proxy logout codex\n`)
  }
  await listSetAside(context, place.dir)
  noteStillUsed(context, left, settings)
  return failures === 0 ? exitCode.done : exitCode.failed
}

/** An invalid configuration counts as the default one. */
function placeOf(context: CommandContext, result: SettingsResult): StoreLocation {
  if (result.ok) return recordPlace(context, result.settings)
  const rules = { store: 'file', strictPermissions: false } as const
  return { dir: result.places.authDir, rules, keychain: keychainOf(context) }
}

async function codexLogin(place: StoreLocation): Promise<Account | undefined> {
  return newestLogin(await providers.codex.open(place, silentLog).list())
}

/** Notes credentials that remain in use and are not stored by this program. */
function noteStillUsed(context: CommandContext, left: readonly ProviderId[], result: SettingsResult): void {
  const { stdout } = context
  if (left.includes('copilot') && tokenOfEnvironment(context) !== undefined) {
    stdout.write('COPILOT_GITHUB_TOKEN is set, so copilot-proxy still uses its token.\n')
  }
  if (!left.includes('codex') || !result.ok) return
  const { apiKey, useCliLogin } = result.settings.config.codex
  if (apiKey !== '') stdout.write('codex.api-key is set, so copilot-proxy still uses it.\n')
  if (useCliLogin) {
    stdout.write(
      'codex.use-cli-login is on, so copilot-proxy still uses the login of Codex CLI. To log out: codex logout\n',
    )
  }
}

interface Outcome {
  removed: number
  /** Records that could not be removed; each has been reported. */
  failures: number
}

/** @throws CommandFailure `failed` when no record can be read: the one in use is unknown then */
async function removeCurrent(context: CommandContext, place: StoreLocation, provider: ProviderId): Promise<boolean> {
  const records = providers[provider].open(place, warningLog(context))
  const current = await records.current().catch((error: unknown) => {
    if (!(error instanceof RecordStoreError)) throw error
    const removeIt = `copilot-proxy logout ${provider} --all`
    const message = `The stored login cannot be read. To delete it, run: ${removeIt}`
    throw new CommandFailure(exitCode.failed, message, { cause: error })
  })
  if (current === undefined) return false
  await leave(context, records, current)
  const others = providers[provider].open(otherStoreLocation(place), silentLog)
  if (await others.remove(current.id, { signal: context.signal })) {
    context.stdout.write(visibleLines(`Deleted ${others.locationOf(current.id)}\n`))
  }
  // Not `current`, which would throw for an unreadable record; that has been reported.
  const next = newestLogin(await records.list())
  if (next !== undefined) {
    context.stdout.write(`Now using the ${providerNames[provider]} account ${nameOf(next)}.\n`)
  }
  return true
}

/** By file name: an unreadable record holds a login too. */
async function removeFromStore(
  context: CommandContext,
  place: StoreLocation,
  provider: Provider,
  outcome: Outcome,
): Promise<void> {
  const { isRecordId, open } = provider
  const { stdout, stderr, signal } = context
  const suffix = recordSuffixes[place.rules.store]
  // Advice about unreadable records is useless: they are removed too.
  const records = open(place, silentLog)
  for (const record of await records.list()) {
    await leave(context, records, record)
    outcome.removed += 1
  }
  for (const name of await namesIn(place.dir)) {
    const id = name.slice(0, -suffix.length)
    if (!name.endsWith(suffix) || !isRecordId(id)) continue
    const target = await readlink(join(place.dir, name)).catch(() => undefined)
    try {
      await records.remove(id, { signal })
      outcome.removed += 1
      stdout.write(visibleLines(`Deleted ${records.locationOf(id)}${target === undefined ? '' : linkNote(target)}\n`))
    } catch (error) {
      if (!(error instanceof RecordStoreError)) throw error
      outcome.failures += 1
      stderr.write(visibleLines(`${error.message}\n`))
    }
  }
}

function linkNote(target: string): string {
  return ` (a link; the file it points to was kept and may contain a token: ${target})`
}

async function leave({ stdout, signal }: CommandContext, records: Accounts, record: Account): Promise<void> {
  await records.remove(record.id, { signal })
  stdout.write(`Logged out ${nameOf(record)} and deleted ${records.locationOf(record.id)}\n`)
}

/** Lists the files that were set aside as unusable records, which this program never deletes. */
async function listSetAside({ stdout }: CommandContext, authDir: string): Promise<void> {
  const aside = (await namesIn(authDir)).filter((name) => /\.(?:json|sealed)\.corrupt-\d+$/.test(name))
  if (aside.length === 0) return
  const paths = aside.map((name) => `  ${visible(join(authDir, name))}\n`)
  stdout.write(`These unreadable logins may contain tokens. Delete them:\n${paths.join('')}`)
}

async function namesIn(dir: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(dir).catch(() => [])
  return names.toSorted()
}

/** Records may have been edited by hand, so control characters are escaped. */
function nameOf(record: Account): string {
  return visible(record.label || record.id)
}
