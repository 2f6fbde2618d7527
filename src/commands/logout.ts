import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { codexRecordKind } from '../auth/codex/record.ts'
import { copilotRecordKind } from '../auth/copilot-record-kind.ts'
import { openRecordStore, otherPlace } from '../auth/open-record-store.ts'
import type { RecordPlace } from '../auth/open-record-store.ts'
import { RecordStoreError } from '../auth/record-fs.ts'
import type { StoredRecord } from '../auth/record-kind.ts'
import { newestLogin } from '../auth/record-rules.ts'
import { recordSuffixes } from '../auth/record-store.ts'
import type { RecordStore } from '../auth/record-store.ts'
import type { ProviderId } from '../executors/executor.ts'
import type { Logger } from '../log.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import type { ExitCode } from './exit-code.ts'
import type { LogoutFlags } from './flags.ts'
import { keychainOf, quietLog, recordPlace, tokenOfEnvironment, troubleLog } from './account.ts'
import { parseProvider, providerNames } from './provider.ts'
import { readSettings } from './settings.ts'
import type { SettingsResult } from './settings.ts'

/** As much as leaving an account takes. */
type Account = StoredRecord & { readonly label: string }
type Accounts = Pick<RecordStore<Account>, 'current' | 'list' | 'locationOf' | 'remove'>

interface Provider {
  readonly isRecordId: (id: string) => boolean
  readonly open: (place: RecordPlace, log: Logger) => Accounts
  /** What removing a record leaves undone. */
  readonly afterwards: string
}

const providers: Readonly<Record<ProviderId, Provider>> = {
  copilot: {
    isRecordId: copilotRecordKind.isRecordId,
    open: (place, log) => openRecordStore(copilotRecordKind, place, log),
    afterwards: 'GitHub itself still lists the authorization: https://github.com/settings/apps/authorizations',
  },
  codex: {
    isRecordId: codexRecordKind.isRecordId,
    open: (place, log) => openRecordStore(codexRecordKind, place, log),
    // Not revoked from here: OpenAI then ends the account's logins of Codex on every machine (openai/codex#22577).
    afterwards:
      'OpenAI itself still knows the login. Its settings end it, and with it those of Codex CLI on every machine:\n' +
      'https://chatgpt.com/#settings/Security',
  },
}

/**
 * Deletes the account in use, or all of them; of Copilot when no provider is named, and with `--all` of both. From the
 * store in use and from the other one. Works with any configuration, also one that is not valid.
 */
export async function logout(context: CommandContext, flags: LogoutFlags): Promise<ExitCode> {
  const named = flags.provider === undefined ? undefined : parseProvider(flags.provider)
  const settings = await readSettings(context, flags.config)
  const place = placeOf(context, settings)
  const left: readonly ProviderId[] = named === undefined ? (flags.all ? ['copilot', 'codex'] : ['copilot']) : [named]

  let removed = 0
  let failures = 0
  for (const provider of left) {
    const outcome = flags.all
      ? await leaveAll(context, place, providers[provider])
      : await leaveCurrent(context, place, provider)
    if (outcome.removed > 0) context.stdout.write(`${providers[provider].afterwards}\n`)
    removed += outcome.removed
    failures += outcome.failures
  }
  const other = named === undefined && !flags.all ? await codexLogin(place) : undefined
  if (removed === 0 && failures === 0) {
    const where = named === undefined && other === undefined ? '' : ` to ${providerNames[named ?? 'copilot']}`
    context.stdout.write(`Nobody is logged in${where}; there is nothing to remove.\n`)
  }
  if (other !== undefined) {
    context.stdout.write(`The Codex login of ${nameOf(other)} stays; to remove it: copilot-proxy logout codex\n`)
  }
  await tellSetAside(context, place.dir)
  tellStillUsed(context, left, settings)
  return failures === 0 ? exitCode.done : exitCode.failed
}

/** Where the configuration cannot be used, logins are looked for as without one. */
function placeOf(context: CommandContext, result: SettingsResult): RecordPlace {
  if (result.ok) return recordPlace(context, result.settings)
  const rules = { store: 'file', strictPermissions: false } as const
  return { dir: result.places.authDir, rules, keychain: keychainOf(context) }
}

async function codexLogin(place: RecordPlace): Promise<Account | undefined> {
  return newestLogin(await providers.codex.open(place, quietLog).list())
}

/** Names what is used although no stored login is left, and is not for this command to remove. */
function tellStillUsed(context: CommandContext, left: readonly ProviderId[], result: SettingsResult): void {
  const { stdout } = context
  if (left.includes('copilot') && tokenOfEnvironment(context) !== undefined) {
    stdout.write('COPILOT_GITHUB_TOKEN is still set, and still used.\n')
  }
  if (!left.includes('codex') || !result.ok) return
  const { apiKey, useCliLogin } = result.settings.config.codex
  if (apiKey !== '') stdout.write('codex.api-key is still set, and still used.\n')
  if (useCliLogin) {
    stdout.write(
      'codex.use-cli-login is on: the login of Codex CLI was left alone and is still used. To end it: codex logout\n',
    )
  }
}

interface Outcome {
  /** Records. */
  readonly removed: number
  /** Records that should have been removed and could not be; each has been told of. */
  readonly failures: number
}

/** @throws CommandFailure `failed` when no record can be read, so that nobody knows which one is in use */
async function leaveCurrent(context: CommandContext, place: RecordPlace, provider: ProviderId): Promise<Outcome> {
  const records = providers[provider].open(place, troubleLog(context))
  const current = await records.current().catch((error: unknown) => {
    if (!(error instanceof RecordStoreError)) throw error
    const removeIt = `copilot-proxy logout ${provider} --all`
    const message = `Nothing was removed: the stored login cannot be read. To remove it: ${removeIt}`
    throw new CommandFailure(exitCode.failed, message, { cause: error })
  })
  if (current === undefined) return { removed: 0, failures: 0 }
  await leave(context, records, current)
  const others = providers[provider].open(otherPlace(place), quietLog)
  if (await others.remove(current.id, { signal: context.signal })) {
    context.stdout.write(visibleLines(`Removed ${others.locationOf(current.id)}\n`))
  }
  // Not `current`: one that cannot be read has been told of, and is no reason to fail now.
  const next = newestLogin(await records.list())
  if (next !== undefined) {
    context.stdout.write(`The ${providerNames[provider]} account in use is now ${nameOf(next)}.\n`)
  }
  return { removed: 1, failures: 0 }
}

/** Removes every record by its file name: one that cannot be read holds a login all the same. */
async function leaveAll(context: CommandContext, place: RecordPlace, provider: Provider): Promise<Outcome> {
  const used = await leaveStore(context, place, provider)
  const other = await leaveStore(context, otherPlace(place), provider)
  return { removed: used.removed + other.removed, failures: used.failures + other.failures }
}

async function leaveStore(context: CommandContext, place: RecordPlace, provider: Provider): Promise<Outcome> {
  const { isRecordId, open } = provider
  const { stdout, stderr, signal } = context
  const suffix = recordSuffixes[place.rules.store]
  // What it would advise about records that cannot be read is not wanted any more: they go too.
  const records = open(place, quietLog)
  let removed = 0
  let failures = 0
  for (const record of await records.list()) {
    await leave(context, records, record)
    removed += 1
  }
  for (const name of await namesIn(place.dir)) {
    const id = name.slice(0, -suffix.length)
    if (!name.endsWith(suffix) || !isRecordId(id)) continue
    const target = await readlink(join(place.dir, name)).catch(() => undefined)
    try {
      await records.remove(id, { signal })
      removed += 1
      stdout.write(visibleLines(`Removed ${records.locationOf(id)}${target === undefined ? '' : linkNote(target)}\n`))
    } catch (error) {
      if (!(error instanceof RecordStoreError)) throw error
      failures += 1
      stderr.write(visibleLines(`${error.message}\n`))
    }
  }
  return { removed, failures }
}

function linkNote(target: string): string {
  return `, a link; what it leads to was left alone and may hold a token: ${target}`
}

async function leave({ stdout, signal }: CommandContext, records: Accounts, record: Account): Promise<void> {
  await records.remove(record.id, { signal })
  stdout.write(`Logged out ${nameOf(record)}; removed ${records.locationOf(record.id)}\n`)
}

/** Names the files that were kept because they are no usable records; this program deletes none of them. */
async function tellSetAside({ stdout }: CommandContext, authDir: string): Promise<void> {
  const aside = (await namesIn(authDir)).filter((name) => /\.(?:json|sealed)\.corrupt-\d+$/.test(name))
  if (aside.length === 0) return
  const paths = aside.map((name) => `  ${visible(join(authDir, name))}\n`)
  stdout.write(`Set aside because they could not be used; they may hold a token, so delete them:\n${paths.join('')}`)
}

async function namesIn(dir: string): Promise<readonly string[]> {
  const names: readonly string[] = await readdir(dir).catch(() => [])
  return names.toSorted()
}

/** Records can be edited by hand, so what they say is shown and not obeyed. */
function nameOf(record: Account): string {
  return visible(record.label || record.id)
}
