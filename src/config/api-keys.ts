import { isMap, isSeq, YAMLMap, YAMLSeq } from 'yaml'
import { isObject } from '../json/json.ts'
import { valueAt } from '../json/value-at.ts'
import { childOf, editDocument } from './edit-document.ts'
import { readYaml } from './yaml-document.ts'

/** One entry of `server.api-keys`: a plain key, or the name and SHA-256 of a key. */
export type ApiKeyEntry =
  | { readonly form: 'plain'; readonly key: string }
  | { readonly form: 'hash'; readonly name: string; readonly sha256: string }

/** Safe in logs and on command lines. */
const keyName = /^[a-z0-9][a-z0-9._-]{0,63}$/i

const hashEntry = /^(?<name>[^:]*):sha256:(?<sha256>[0-9a-f]{64})$/i

/** A misspelt hash entry. Accepted as a plain key, its text itself would be a valid key. */
const attemptedHash = /(?:^|:)\s*sha-?256\s*:/i

/** Name of a plain entry in logs and commands, by its position in the list. */
const positionName = /^plain-\d+$/i

const hashPhrase = 'expected a plain key, or NAME:sha256: followed by 64 hexadecimal digits'

/** Why a name is not acceptable, or undefined. Never repeats the name: it may be a misplaced key. */
export function keyNameFault(name: string): string | undefined {
  if (!keyName.test(name)) return 'use up to 64 letters, digits, dots, dashes and underscores'
  return positionName.test(name) ? 'names such as plain-1 are for keys without a name' : undefined
}

/** Undefined for an invalid entry; `apiKeyEntryFault` says why. */
export function parseApiKeyEntry(text: string): ApiKeyEntry | undefined {
  const { name, sha256 } = hashEntry.exec(text)?.groups ?? {}
  if (name !== undefined && sha256 !== undefined && keyNameFault(name) === undefined) {
    return { form: 'hash', name, sha256: sha256.toLowerCase() }
  }
  return attemptedHash.test(text) ? undefined : { form: 'plain', key: text }
}

/** Why an entry is not acceptable, or undefined. Never repeats the entry. */
export function apiKeyEntryFault(text: string): string | undefined {
  if (parseApiKeyEntry(text) !== undefined) return undefined
  const name = hashEntry.exec(text)?.groups?.['name']
  const inName = name === undefined ? undefined : keyNameFault(name)
  return inName === undefined ? hashPhrase : `${hashPhrase}; ${inName}`
}

export function apiKeyName(entry: ApiKeyEntry, index: number): string {
  return entry.form === 'hash' ? entry.name : `plain-${index + 1}`
}

/** The valid entries with their names. */
export function namedApiKeys(
  entries: readonly string[],
): readonly { readonly name: string; readonly entry: ApiKeyEntry }[] {
  return entries.flatMap((text, index) => {
    const entry = parseApiKeyEntry(text)
    return entry === undefined ? [] : [{ name: apiKeyName(entry, index), entry }]
  })
}

/** Limits of one key; absent: none. Keys as in the file. */
export interface KeyLimits {
  readonly 'requests-per-minute'?: number | undefined
  readonly 'credits-per-day'?: number | undefined
  /** Names or patterns with `*`. */
  readonly models?: readonly string[] | undefined
  /** The GitHub account of the key's requests, as `account list` names it; absent: the account in use. */
  readonly account?: string | undefined
}

/** The limits of a key, whose name is compared without regard to case. */
export function keyLimitsOf(
  { keyLimits }: { readonly keyLimits: Readonly<Record<string, KeyLimits>> },
  ofKey: string | undefined,
): KeyLimits | undefined {
  if (ofKey === undefined) return undefined
  const name = ofKey.toLowerCase()
  return Object.entries(keyLimits).find(([each]) => each.toLowerCase() === name)?.[1]
}

const path = ['server', 'api-keys'] as const
const limitsPath = ['server', 'key-limits'] as const

/** The line of each entry in the file's text, from 1. */
export function apiKeyLines(text: string): readonly number[] {
  const read = readYaml(text)
  return read.ok ? apiKeysOf(text).map((_, index) => read.value.locate([...path, index], 'value').line) : []
}

/** The entries of `server.api-keys` as a configuration file writes them. */
export function apiKeysOf(text: string): readonly unknown[] {
  const read = readYaml(text)
  const entries = read.ok ? valueAt(read.value.value, path) : undefined
  return Array.isArray(entries) ? entries : []
}

/** Adds an entry to the file's text; undefined if that would change anything else. */
export function addApiKey(text: string, entry: string): string | undefined {
  return edited(text, [...apiKeysOf(text), entry], (keys) => keys.add(entry))
}

/** Removes an entry; undefined as for `addApiKey`. */
export function removeApiKey(text: string, index: number): string | undefined {
  return edited(text, apiKeysOf(text).toSpliced(index, 1), (keys) => keys.delete(index))
}

/** Removes the limits of a key from the file's text; undefined as for `addApiKey`. */
export function removeKeyLimits(text: string, name: string): string | undefined {
  const read = readYaml(text)
  const limits = read.ok ? valueAt(read.value.value, limitsPath) : undefined
  if (!isObject(limits)) return text
  const entry = Object.keys(limits).find((each) => each.toLowerCase() === name.toLowerCase())
  if (entry === undefined) return text
  const { [entry]: _removed, ...others } = limits
  return editDocument(text, limitsPath, others, (root) => root.deleteIn([...limitsPath, entry]))
}

function edited(text: string, wanted: readonly unknown[], edit: (keys: YAMLSeq) => void): string | undefined {
  return editDocument(text, path, wanted, (root) => {
    const keys = listIn(root)
    if (keys !== undefined) edit(keys)
    return keys !== undefined
  })
}

/** Finds or creates the node of the list; undefined if another kind of value is there. */
function listIn(root: YAMLMap): YAMLSeq | undefined {
  const server = childOf(root, 'server', () => new YAMLMap())
  if (!isMap(server)) return undefined
  const keys = childOf(server, 'api-keys', () => new YAMLSeq())
  if (!isSeq(keys)) return undefined
  // `[]` becomes a block list when it gets an entry, unless it is inside braces.
  if (keys.items.length === 0) keys.flow = server.flow === true
  return keys
}
