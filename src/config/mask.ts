import { Document, isCollection, isNode } from 'yaml'
import { parseApiKeyEntry } from './api-key-entry.ts'
import { camelKey } from './camel-keys.ts'
import type { Sources } from './load.ts'
import { formatSource } from './problem.ts'
import { type Config, configSchema } from './schema.ts'
import { isSecretEntry } from './secret-values.ts'
import { type SettingLeaf, settingLeaves } from './setting-leaves.ts'
import { isTable, type SettingsTree, valueAt, valuePaths, withValue } from './settings-tree.ts'

const leaves = settingLeaves(configSchema)

/** A secret shorter than this would be given away by four of its characters. */
const minRecognisable = 16

/** Enough to tell one key from another, never enough to use it: at most the last four characters. */
export function maskSecret(secret: unknown): unknown {
  if (typeof secret !== 'string' || secret === '') return secret
  const hashed = parseApiKeyEntry(secret)
  if (hashed?.form === 'hash') return `${hashed.name}:sha256:…${hashed.sha256.slice(-4)}`
  return secret.length < minRecognisable ? '…' : `…${secret.slice(-4)}`
}

function masked(leaf: SettingLeaf, value: unknown): unknown {
  if (leaf.secret) return Array.isArray(value) ? value.map(maskSecret) : maskSecret(value)
  if (leaf.kind !== 'table' || !isTable(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, isSecretEntry(leaf, name) ? maskSecret(entry) : entry]),
  )
}

/** The settings in the file's words and order, without secrets. */
export function maskConfig(config: Config): SettingsTree {
  const tree = leaves.reduce<unknown>(
    (all, leaf) => withValue(all, leaf.path, masked(leaf, valueAt(config, leaf.path.map(camelKey)))),
    {},
  )
  return isTable(tree) ? tree : {}
}

/** What is in force and where each value comes from, without secrets: YAML with the source behind each value, or JSON `{settings, sources}`. */
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
