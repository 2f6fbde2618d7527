import { delimiter, isAbsolute, resolve } from 'node:path'
import type { Environment } from './environment.ts'
import { comparableValue, proxyVariables } from './proxy-variables.ts'

/** Variables with the path of a file. Node.js reads a relative one from the folder that a process starts in. */
const fileVariables: ReadonlySet<string> = new Set(['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'])

const otherVariables: readonly string[] = [
  ...fileVariables,
  'SSL_CERT_DIR',
  'NODE_USE_SYSTEM_CA',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_OPTIONS',
]

/** The variables that decide how a process reaches the internet and which certificates it trusts. */
const names: readonly string[] = [...Object.values(proxyVariables).flat(), ...otherVariables]

/**
 * The network variables that have a value, with absolute paths. Of NODE_OPTIONS, only the options that concern the network.
 * Values can hold the password of a proxy.
 * @param workingDir the folder that the process started in; called for relative paths only, and may throw
 */
export function networkVariables(env: Environment, workingDir: () => string): Readonly<Record<string, string>> {
  const absolute = (path: string): string => {
    if (isAbsolute(path)) return path
    try {
      return resolve(workingDir(), path)
    } catch {
      // The folder was deleted.
      return path
    }
  }
  const read = (name: string): string => {
    const text = env[name]?.trim() ?? ''
    if (text === '') return ''
    if (fileVariables.has(name)) return absolute(text)
    if (name === 'SSL_CERT_DIR') return text.split(delimiter).filter(Boolean).map(absolute).join(delimiter)
    return name === 'NODE_OPTIONS' ? splitOptions(text).network.join(' ') : text
  }
  const set = names.map((name) => [name, read(name)] as const)
  return Object.fromEntries(set.filter(([, value]) => value !== ''))
}

/** Options of Node.js that choose certificates, TLS versions or addresses. Source: node(1), NODE_OPTIONS. */
const networkOption =
  /^--(?:no-)?(?:use-(?:system|openssl|bundled)-ca|openssl-.+|tls-(?:cipher-list|m(?:in|ax)-v.+)|dns-result-order|(?:enable-)?network-family-autoselection.*)$/

/** Those of them that may be followed by their value as a word of its own. */
const valueOption =
  /^--(?:openssl-config|tls-cipher-list|dns-result-order|network-family-autoselection-attempt-timeout)$/

/** `--use_system_ca=…` is the option `--use-system-ca`. */
function nameOf(word: string): string {
  return (word.replaceAll('"', '').split('=')[0] ?? '').replaceAll('_', '-')
}

/** The words of NODE_OPTIONS as they are written: those that concern the network, and the others. */
function splitOptions(text: string): { readonly network: readonly string[]; readonly other: readonly string[] } {
  // Double quotes keep spaces, and a backslash escapes a character between them.
  const words = text.match(/(?:"(?:\\.|[^"\\])*"?|[^\s"])+/g) ?? []
  const ofNetwork = (word: string, at: number): boolean => {
    const before = words[at - 1] ?? ''
    const isValue = !word.startsWith('-') && !before.includes('=') && valueOption.test(nameOf(before))
    return isValue || networkOption.test(nameOf(word))
  }
  return { network: words.filter(ofNetwork), other: words.filter((word, at) => !ofNetwork(word, at)) }
}

/** Whether NODE_OPTIONS has options that do not concern the network. */
export function hasOtherOptions(env: Environment): boolean {
  return splitOptions(env['NODE_OPTIONS'] ?? '').other.length > 0
}

/** The setting `name` of another process, compared with that of this one. */
export interface NetworkDifference {
  readonly name: string
  /** `missing`: only this process has the setting. `extra`: only the other one has it. `other`: the values differ. */
  readonly kind: 'missing' | 'extra' | 'other'
}

/** Variables with one meaning: the first one that has a value counts. */
const settings: readonly (readonly string[])[] = [
  ...Object.values(proxyVariables),
  ...otherVariables.map((name) => [name]),
]

/** Hashes of network variables that allow a comparison and reveal no value, if nobody but the two sides can compute `hash`. */
export function fingerprints(
  variables: Readonly<Record<string, string>>,
  hash: (text: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, hash(comparableValue(name, value))]),
  )
}

/** How another process's variables differ from one's own, both as fingerprints. */
export function compareNetworks(
  own: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): readonly NetworkDifference[] {
  return settings.flatMap((alike): readonly NetworkDifference[] => {
    const mine = alike.find((name) => own[name] !== undefined)
    const theirs = alike.find((name) => other[name] !== undefined)
    if (mine === undefined) return theirs === undefined ? [] : [{ name: theirs, kind: 'extra' }]
    if (theirs === undefined) return [{ name: mine, kind: 'missing' }]
    return own[mine] === other[theirs] ? [] : [{ name: mine, kind: 'other' }]
  })
}
