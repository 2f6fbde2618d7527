import { Document, isCollection, isNode } from 'yaml'
import { parseApiKeyEntry } from './api-keys.ts'
import type { Sources } from './load.ts'
import { formatSource } from './problem.ts'
import { configSchema } from './schema.ts'
import type { Config } from './schema.ts'
import { isObject, objectOf } from '../json/json.ts'
import { valueAt } from '../json/value-at.ts'
import { camelKey, settingLeaves, valuePaths, withValue } from './settings-tree.ts'
import type { SettingLeaf, SettingsTree } from './settings-tree.ts'

const leaves = settingLeaves(configSchema)

/** Users add headers for gateways of their own, which can carry a key. */
const secretHeader = /key|token|secret|auth|cookie|password/

function isSecretEntry({ key }: SettingLeaf, name: string): boolean {
  if (key === 'mcp-servers') return /\.(?:env|headers)(?:\.|$)/.test(name)
  return key === 'copilot.headers' && secretHeader.test(name)
}

/** @param path of a setting, or of an entry of a table */
export function isSecretSetting(path: readonly string[]): boolean {
  const leaf = leaves.find((each) => each.path.every((step, at) => path[at] === step))
  return leaf !== undefined && (leaf.secret || isSecretEntry(leaf, path.slice(leaf.path.length).join('.')))
}

/** Every secret text of the configuration. */
export function secretValues(config: Config): readonly string[] {
  return leaves.flatMap((leaf) => {
    const value = valueAt(config, leaf.path.map(camelKey))
    if (leaf.secret) return textsIn(value)
    if (leaf.kind !== 'table' || !isObject(value)) return []
    if (leaf.key === 'mcp-servers') return Object.values(value).flatMap(secretsOfServer)
    return Object.entries(value).flatMap(([name, entry]) => (isSecretEntry(leaf, name) ? textsIn(entry) : []))
  })
}

/** The values of the variables and headers of an MCP server, and the arguments of its program that look like a secret. */
function secretTables(server: unknown): readonly unknown[] {
  if (!isObject(server)) return []
  const inTables = ['env', 'headers'].flatMap((key) => (isObject(server[key]) ? Object.entries(server[key]) : []))
  const secrets = inTables.filter(([name, value]) => secretOption.test(name) || !plainValue.test(String(value)))
  return [...secrets.map(([, value]) => value), ...splitArguments(server['command']).map(({ secret }) => secret)]
}

/** Every secret text of the settings of an MCP server. */
export function secretsOfServer(server: unknown): readonly string[] {
  return secretTables(server).flatMap(textsIn)
}

/** The name of an option whose value is a secret, unless the value says where the secret is. */
const secretOption =
  /^-{0,2}[\w.-]*(?:key|token|secret|auth|cookie|passw(?:or)?d|passphrase|credential|(?<![a-z])pass(?![a-z]))(?![\w.-]*(?:file|path|dir|url|name|mode|type)$)[\w.-]*$/i

/**
 * A word, a number, a path or an address without a login: the value of a setting like `NODE_ENV`, which other texts contain too and
 * which is no secret unless the name of the setting says so.
 */
const plainValue = /^(?:[A-Za-z]+|[\d.]+|~?\/[\w./-]*|https?:\/\/[\w.:[\]-]+(?:\/[\w./-]*)?)$/

/** Each argument as the part that may be shown and the secret after it: `--token=` and `abc`, or '' and `abc` after `--token`. */
function splitArguments(command: unknown): readonly { readonly shown: string; readonly secret: string }[] {
  return textsIn(command).map((text, index, all) => {
    const [, name = '', value = ''] = /^([^=\s]+)=(.*)$/s.exec(text) ?? []
    if (secretOption.test(name)) return { shown: `${name}=`, secret: value }
    const before = all[index - 1] ?? ''
    const isValue = before.startsWith('-') && secretOption.test(before) && !text.startsWith('-')
    return isValue ? { shown: '', secret: text } : { shown: text, secret: '' }
  })
}

function maskServer(server: unknown): unknown {
  if (!isObject(server)) return server
  return Object.fromEntries(
    Object.entries(server).map(([key, value]) => {
      if (key === 'command')
        return [key, splitArguments(value).map(({ shown, secret }) => `${shown}${String(maskSecret(secret))}`)]
      if ((key !== 'env' && key !== 'headers') || !isObject(value)) return [key, value]
      return [key, Object.fromEntries(Object.entries(value).map(([name, text]) => [name, maskSecret(text)]))]
    }),
  )
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.flatMap(textsIn) : []
}

/** Four characters would give away a shorter secret. */
const minRecognisable = 16

/** At most the last four characters. */
export function maskSecret(secret: unknown): unknown {
  if (typeof secret !== 'string' || secret === '') return secret
  const hashed = parseApiKeyEntry(secret)
  if (hashed?.form === 'hash') return `${hashed.name}:sha256:…${hashed.sha256.slice(-4)}`
  return secret.length < minRecognisable ? '…' : `…${secret.slice(-4)}`
}

function masked(leaf: SettingLeaf, value: unknown): unknown {
  if (leaf.secret) return Array.isArray(value) ? value.map(maskSecret) : maskSecret(value)
  if (leaf.kind !== 'table' || !isObject(value)) return value
  if (leaf.key === 'mcp-servers')
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, maskServer(entry)]))
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, isSecretEntry(leaf, name) ? maskSecret(entry) : entry]),
  )
}

/** The settings in the file's keys and order, without secrets. */
export function maskConfig(config: Config): SettingsTree {
  const tree = leaves.reduce<unknown>(
    (all, leaf) => withValue(all, leaf.path, masked(leaf, valueAt(config, leaf.path.map(camelKey)))),
    {},
  )
  return objectOf(tree)
}

/** The settings in force without secrets: YAML with the source after each value, or JSON `{settings, sources}`. */
export function showConfig(config: Config, sources: Sources, format: 'yaml' | 'json'): string {
  const settings = maskConfig(config)
  if (format === 'json') {
    const named = Object.fromEntries(Object.entries(sources).map(([key, source]) => [key, formatSource(source)]))
    return `${JSON.stringify({ settings, sources: named }, null, 2)}\n`
  }
  const document = new Document(settings)
  for (const path of valuePaths(settings, leaves)) {
    const node = document.getIn(path, true)
    const source = sources[path.join('.')]
    if (!isNode(node) || source === undefined) continue
    if (isCollection(node)) node.flow = true
    node.comment = ` ${formatSource(source)}`
  }
  return document.toString({ lineWidth: 0 })
}
