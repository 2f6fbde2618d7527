import { randomBytes, createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { KeyRow } from '../api/keys.ts'
import { usageReport } from '../api/usage.ts'
import type { UsageReport } from '../api/usage.ts'
import {
  addApiKey,
  apiKeyLines,
  apiKeyName,
  apiKeysOf,
  keyNameFault,
  namedApiKeys,
  parseApiKeyEntry,
  removeApiKey,
  removeKeyLimits,
} from '../config/api-keys.ts'
import { toKeyRows } from '../http/access/key-rows.ts'
import type { Sources } from '../config/load.ts'
import { maskSecret } from '../config/secrets.ts'
import { formatSource } from '../config/problem.ts'
import type { Source } from '../config/problem.ts'
import { formatTable } from '../terminal/table.ts'
import type { TableColumn } from '../terminal/table.ts'
import { visible, visibleLines } from '../terminal/visible.ts'
import { CommandFailure, exitCode, writeJson } from './shared/command.ts'
import type { CommandContext, ExitCode, KeyFlags, ReportFlags } from './shared/command.ts'
import { changeSettings } from './shared/change-settings.ts'
import { findFiles, loadSettings } from './shared/settings.ts'
import type { LoadedSettings } from './shared/settings.ts'
import { openView } from './shared/view.ts'

const setting = 'server.api-keys'

/** Makes a key, stores its hash in the configuration file, and prints the key once, alone on stdout. */
export async function keyAdd(context: CommandContext, flags: KeyFlags): Promise<ExitCode> {
  const { configFile: path } = findFiles(context, flags.config)
  if (flags.name !== undefined) {
    const fault = keyNameFault(flags.name)
    if (fault !== undefined) throw new CommandFailure(exitCode.usage, `Invalid key name: ${fault}.`)
  }
  const { key, sha256 } = generateKey(randomBytes)
  let name = ''
  let isFirst = false
  let isOut = false
  const edit = (text: string): string | undefined => {
    const taken = new Set(namesIn(text).map((each) => each.toLowerCase()))
    name = flags.name ?? freeName(taken)
    isFirst = taken.size === 0
    if (taken.has(name.toLowerCase())) {
      const advice = `Choose another name, or run: copilot-proxy key remove ${name}`
      throw new CommandFailure(exitCode.usage, `The key ${name} already exists. ${advice}`)
    }
    return addApiKey(text, `${name}:sha256:${sha256}`)
  }
  const { stdout, stderr } = context
  // Printed before it is stored: a stored key that nobody has seen would lock every program out.
  const writeOut = async (): Promise<void> => {
    if (flags.json) writeJson(context, { name, key, path })
    else stdout.write(`${key}\n`)
    isOut = (await stdout.isDelivered?.()) ?? true
    if (isOut) return
    const lost = 'The key was not created, because it could not be printed.'
    throw new CommandFailure(exitCode.failed, lost)
  }
  let sources: Sources
  try {
    sources = await changeSettings(context, { path, key: setting, edit, beforeReplace: writeOut })
  } catch (error) {
    if (isOut) stderr.write('The key above is not valid, because it could not be stored.\n')
    throw error
  }
  stderr.write(visibleLines(`Created the key ${name}. Copy it now: only its hash is stored, in ${path}.\n`))
  if (isFirst) stderr.write('From now on, every program must send a key.\n')
  warnIfOverridden(context, sources)
  return exitCode.done
}

export async function keyRemove(context: CommandContext, flags: KeyFlags): Promise<ExitCode> {
  const { configFile: path } = findFiles(context, flags.config)
  const wanted = flags.name?.toLowerCase()
  let removed = ''
  let left = 0
  let hadLimits = false
  const remove = (text: string): string | undefined => {
    const names = namesIn(text)
    const index = names.findIndex((name) => name.toLowerCase() === wanted)
    removed = names[index] ?? ''
    left = names.length - 1
    if (index >= 0) {
      const withoutKey = removeApiKey(text, index)
      if (withoutKey === undefined) return undefined
      // The configuration would be invalid with limits of an unknown key.
      const changed = removeKeyLimits(withoutKey, removed)
      hadLimits = changed !== withoutKey
      return changed
    }
    const known = names.length === 0 ? 'There are no keys' : `The keys are ${names.join(', ')}`
    throw new CommandFailure(exitCode.failed, `No key with that name in ${path}. ${known}.`)
  }
  const sources = await changeSettings(context, { path, key: setting, edit: remove })
  if (flags.json) writeJson(context, { name: removed, path })
  const { stderr } = context
  const effect = left === 0 ? ' It was the last key: from now on, programs need no key.' : ''
  stderr.write(visibleLines(`Removed the key ${removed}${hadLimits ? ' and its limits' : ''} from ${path}.${effect}\n`))
  warnIfOverridden(context, sources)
  return exitCode.done
}

/** Lists the keys in force with their limits and use, and at most the last characters of a plain key. */
export async function keyList(context: CommandContext, flags: ReportFlags): Promise<ExitCode> {
  const settings = await loadSettings(context, flags.config)
  const { config } = settings
  const source = settings.sources[setting]
  const lines = source?.kind === 'file' ? apiKeyLines(await readFile(source.path, 'utf8').catch(() => '')) : []
  const { totals } = await usageOf(context, settings)
  const named = namedApiKeys(config.server.apiKeys)
  const rows = toKeyRows(config.server, totals.by_key.last_30_days).map((row, index) =>
    withSource(row, sourceOf(source, lines[index])),
  )
  if (flags.json) writeJson(context, { keys: rows })
  else if (rows.length === 0) {
    context.stdout.write('No keys. Programs on this machine need no key. To require one, run: copilot-proxy key add\n')
  } else {
    const endings = new Map(
      named.map(({ name, entry }) => [name, entry.form === 'plain' ? String(maskSecret(entry.key)) : '']),
    )
    const columns: readonly TableColumn<(typeof rows)[number]>[] = [
      { title: 'NAME', cell: ({ name }) => visible(name) },
      {
        title: 'STORED',
        cell: ({ stored, name }) => (stored === 'hash' ? stored : visible(`plain text ${endings.get(name)}`)),
      },
      { title: 'LIMITS', cell: (row) => visible(limitsText(row)) },
      {
        title: 'LAST USED',
        cell: ({ last_day: day, requests }) => (day === null ? '' : `${visible(day)}, ${requests} req`),
      },
      { title: 'IN', cell: (row) => visible(row.source) },
    ]
    context.stdout.write(formatTable(columns, rows, context.stdout))
  }
  return exitCode.done
}

function withSource(row: KeyRow, source: string): KeyRow & { readonly source: string } {
  return { ...row, source }
}

/** The stored totals, with those that a running daemon has not written yet. */
async function usageOf(context: CommandContext, settings: LoadedSettings): Promise<UsageReport> {
  const view = await openView(context, settings)
  try {
    return await view.get('/usage?account=false', usageReport)
  } finally {
    await view.close()
  }
}

/** The place of an entry: its own line in the file, or the variable. */
function sourceOf(source: Source | undefined, line: number | undefined): string {
  if (source === undefined) return ''
  return formatSource(source.kind === 'file' && line !== undefined ? { kind: 'file', path: source.path, line } : source)
}

function limitsText({ requests_per_minute: perMinute, credits_per_day: perDay, models, account }: KeyRow): string {
  return [
    ...(perMinute === null ? [] : [`${perMinute} req/min`]),
    ...(perDay === null ? [] : [`${perDay} credits/day`]),
    ...(models === null ? [] : [models.join(' ')]),
    ...(account === null ? [] : [`account ${account}`]),
  ].join(', ')
}

/** The names of the keys by position; '' for an invalid entry. */
function namesIn(text: string): readonly string[] {
  return apiKeysOf(text).map((value, index) => {
    const entry = typeof value === 'string' ? parseApiKeyEntry(value.trim()) : undefined
    return entry === undefined ? '' : apiKeyName(entry, index)
  })
}

function freeName(taken: ReadonlySet<string>): string {
  let number = 1
  while (taken.has(`key-${number}`)) number += 1
  return `key-${number}`
}

function warnIfOverridden({ stderr }: CommandContext, sources: Sources): void {
  const source = sources[setting]
  if (source?.kind !== 'environment') return
  stderr.write(`Note: ${source.name} is set and overrides the keys in the file.\n`)
}

/**
 * A new key for `server.api-keys`, of 256 bits. Its prefix is that of OpenAI's keys, which some clients check and which
 * redaction tools recognise.
 * @param random as `randomBytes` of node:crypto
 */
export function generateKey(random: (size: number) => Buffer): { readonly key: string; readonly sha256: string } {
  const key = `sk-copilot-proxy-${random(32).toString('base64url')}`
  return { key, sha256: createHash('sha256').update(key).digest('hex') }
}
