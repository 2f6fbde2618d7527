/** One entry of `server.api-keys`: a key as it is, or the name and the SHA-256 of one that is not in the file. */
export type ApiKeyEntry =
  | { readonly form: 'plain'; readonly key: string }
  | { readonly form: 'hash'; readonly name: string; readonly sha256: string }

/** What a name is made of: it appears in logs and on command lines. */
const keyName = /^[a-z0-9][a-z0-9._-]{0,63}$/i

const hashEntry = /^(?<name>[^:]*):sha256:(?<sha256>[0-9a-f]{64})$/i

/** Meant as a hash, however badly written: taken for a plain key, its text would itself open the door. */
const attemptedHash = /(?:^|:)\s*sha-?256\s*:/i

/** What an entry without a name of its own is called in logs and commands, by its place in the list. */
const placeName = /^plain-\d+$/i

const hashPhrase = 'expected a plain key, or NAME:sha256: followed by 64 hexadecimal digits'

/** Why a name cannot be that of a key, or undefined. Never repeats it: it may be a key in the wrong place. */
export function keyNameFault(name: string): string | undefined {
  if (!keyName.test(name)) return 'a name is made of at most 64 letters, digits, dots, dashes and underscores'
  return placeName.test(name) ? 'names such as plain-1 stand for keys without a name' : undefined
}

/** Undefined for an entry that is neither; `apiKeyEntryFault` says why. */
export function parseApiKeyEntry(text: string): ApiKeyEntry | undefined {
  const { name, sha256 } = hashEntry.exec(text)?.groups ?? {}
  if (name !== undefined && sha256 !== undefined && keyNameFault(name) === undefined) {
    return { form: 'hash', name, sha256: sha256.toLowerCase() }
  }
  return attemptedHash.test(text) ? undefined : { form: 'plain', key: text }
}

/** Why an entry is not acceptable, or undefined. Repeats nothing of it. */
export function apiKeyEntryFault(text: string): string | undefined {
  if (parseApiKeyEntry(text) !== undefined) return undefined
  const name = hashEntry.exec(text)?.groups?.['name']
  const inName = name === undefined ? undefined : keyNameFault(name)
  return inName === undefined ? hashPhrase : `${hashPhrase}; ${inName}`
}

/** What the entry at this place of the list is called. */
export function apiKeyName(entry: ApiKeyEntry, index: number): string {
  return entry.form === 'hash' ? entry.name : `plain-${index + 1}`
}

/** The entries in words of their own; those that are not valid are left out. */
export function namedApiKeys(
  entries: readonly string[],
): readonly { readonly name: string; readonly entry: ApiKeyEntry }[] {
  return entries.flatMap((text, index) => {
    const entry = parseApiKeyEntry(text)
    return entry === undefined ? [] : [{ name: apiKeyName(entry, index), entry }]
  })
}
