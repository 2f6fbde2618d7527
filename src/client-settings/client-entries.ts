import { isLoopbackHost } from '../config/loopback.ts'
import { claudeVariables } from './claude.ts'
import type { FileClientId, Target } from './target.ts'
import { codexSettings, tomlValue } from './codex.ts'
import { isOddlyWritten, removeTomlTable, setTomlRoot, setTomlTable, tomlRoot, tomlTable } from './toml.ts'
import type { TomlPairs } from './toml.ts'
import { getJsonc, removeJsonc, setJsonc } from './jsonc.ts'
import { opencodeSettings } from './opencode.ts'
import { anyKey, providerName } from './target.ts'
import { parseJson } from '../json/json.ts'

/** The entries of setup in a client's file, by name, as text of that file. Undefined: absent. */
type Entries = Readonly<Record<string, string | undefined>>

/** Reads and writes the entries for `Wanted` in one client's file. Touches nothing but the entries. */
export interface EntryFormat<Wanted = Target> {
  /** @param present the current entries */
  readonly wanted: (wanted: Wanted, present: Entries) => Entries
  /** Every possible entry; undefined if the text cannot be parsed. */
  readonly read: (text: string) => Entries | undefined
  /** Undefined if the entries cannot be set without touching anything else. */
  readonly write: (text: string, entries: Entries) => string | undefined
  /** Whether these entries are those of setup: they lead, or once led, to the daemon at this address. */
  readonly areOurs: (entries: Entries, url: string) => boolean
  /** For people: text that could be edited, but that the client itself does not read. */
  readonly limit?: string
}

type Path = readonly [string, ...string[]]

type ReaderWriter = Pick<EntryFormat, 'read' | 'write' | 'limit'>

/** Entries of a JSON file, by the paths to them. */
export function jsonFormat(paths: Readonly<Record<string, Path>>): ReaderWriter {
  return {
    read(text) {
      if (text.trim() !== '' && setJsonc(text, ['probe'], '1') === undefined) return undefined
      return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, getJsonc(text, path)]))
    },
    write: (text, entries) =>
      Object.entries(entries).reduce<string | undefined>((before, [name, json]) => {
        const path = paths[name]
        if (before === undefined || path === undefined) return undefined
        const present = getJsonc(before, path)
        if (present === json || (present !== undefined && json !== undefined && isSameJson(present, json)))
          return before
        return json === undefined ? removeJsonc(before, path) : setJsonc(before, path, json)
      }, text),
  }
}

function isSameJson(a: string, b: string): boolean {
  try {
    return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b))
  } catch {
    return false
  }
}

const claudeNames = [
  'ANTHROPIC_BASE_URL',
  'ANTHROPIC_AUTH_TOKEN',
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'ANTHROPIC_SMALL_FAST_MODEL',
  'CLAUDE_CODE_GATEWAY_HINT_HEADERS',
  'CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY',
  'CLAUDE_CODE_MAX_OUTPUT_TOKENS',
  'CLAUDE_CODE_MAX_CONTEXT_TOKENS',
  'CLAUDE_CODE_AUTO_COMPACT_WINDOW',
] as const

/** Entries of a file of Claude Code, which ignores a whole file with comments or trailing commas (seen with 2.1.329). */
export function claudeFormat(paths: Readonly<Record<string, Path>>): ReaderWriter {
  const json = jsonFormat(paths)
  return {
    ...json,
    read: (text) =>
      text.trim() === '' || parseJson(text.replace(/^\uFEFF/, '')) !== undefined ? json.read(text) : undefined,
    limit: 'Claude Code ignores a settings file with comments or trailing commas.',
  }
}

const claude: EntryFormat = {
  ...claudeFormat(Object.fromEntries(claudeNames.map((name) => [name, ['env', name]]))),
  wanted: (target) =>
    Object.fromEntries(Object.entries(claudeVariables(target)).map(([name, value]) => [name, JSON.stringify(value)])),
  areOurs: ({ ANTHROPIC_BASE_URL: address, ANTHROPIC_AUTH_TOKEN: token }, url) =>
    address === JSON.stringify(url) || (token === JSON.stringify(anyKey) && leadsToThisMachine(address)),
}

/** @param address as JSON */
function leadsToThisMachine(address: string | undefined): boolean {
  const url = URL.parse(address?.replaceAll('"', '') ?? '')
  return url !== null && isLoopbackHost(url.hostname)
}

const opencode: EntryFormat = {
  ...jsonFormat({
    $schema: ['$schema'],
    model: ['model'],
    small_model: ['small_model'],
    provider: ['provider', providerName],
  }),
  wanted(target, present) {
    const { provider, model, small_model } = opencodeSettings(target)
    return {
      // opencode adds it by itself.
      $schema: present['$schema'] ?? '"https://opencode.ai/config.json"',
      model: JSON.stringify(model),
      small_model: JSON.stringify(small_model),
      provider: JSON.stringify(provider),
    }
  },
  areOurs: (entries) => entries['provider'] !== undefined,
}

const codexRootKeys = ['model', 'model_provider', 'model_catalog_json', 'model_context_window'] as const
const codexTable = ['model_providers', providerName]

const codex: EntryFormat = {
  read(text) {
    const root = tomlRoot(text)
    if (root === undefined || isOddlyWritten(text, codexTable)) return undefined
    const table = tomlTable(text, codexTable)
    return {
      ...Object.fromEntries(codexRootKeys.map((key) => [key, root[key]])),
      table: table && JSON.stringify(table),
    }
  },
  write(text, { table, ...root }) {
    const withRoot = setTomlRoot(text, root)
    if (withRoot === undefined || table === undefined) return withRoot && removeTomlTable(withRoot, codexTable)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `read` and `wanted` make it of such pairs
    return setTomlTable(withRoot, codexTable, JSON.parse(table) as TomlPairs)
  },
  wanted(target) {
    const { root, provider } = codexSettings(target)
    return { ...asToml(root), table: JSON.stringify(asToml(provider)) }
  },
  areOurs: (entries) => entries['table'] !== undefined,
}

function asToml(values: Readonly<Record<string, string | number>>): TomlPairs {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, tomlValue(value)]))
}

export const entryFormats: Readonly<Record<FileClientId, EntryFormat>> = { claude, codex, opencode }

/**
 * The file after setup; undefined if it has to be edited by hand.
 * @param before the file before the first setup, from which entries that are no longer needed are restored
 */
export function setUpText<Wanted>(
  format: EntryFormat<Wanted>,
  text: string,
  before: string,
  wanted: Wanted,
): string | undefined {
  const present = format.read(text)
  const original = format.read(before)
  if (present === undefined || original === undefined) return undefined
  return format.write(text, { ...original, ...format.wanted(wanted, original) })
}

export type Undone =
  /** Nothing else has changed since: the original file. */
  | { readonly kind: 'exact'; readonly text: string }
  /** Other changes stay. */
  | { readonly kind: 'entries'; readonly text: string }
  | { readonly kind: 'by-hand' }

/** @param before the file before the first setup; '' if there was none */
export function undoText(format: ReaderWriter, text: string, before: string): Undone {
  const present = format.read(text)
  const original = format.read(before)
  if (present === undefined || original === undefined) return { kind: 'by-hand' }
  if (format.write(before, present) === text) return { kind: 'exact', text: before }
  const reverted = format.write(text, original)
  return reverted === undefined ? { kind: 'by-hand' } : { kind: 'entries', text: reverted }
}
