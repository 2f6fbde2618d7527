import { camelKey } from './camel-keys.ts'
import { type Config, configSchema } from './schema.ts'
import { type SettingLeaf, settingLeaves } from './setting-leaves.ts'
import { isTable, valueAt } from './settings-tree.ts'

const leaves = settingLeaves(configSchema)

/** Headers a user adds for a gateway of their own can carry a key. */
const secretHeader = /key|token|secret|auth|cookie|password/

/** Whether an entry of a table of settings is shown to nobody. */
export function isSecretEntry({ key }: SettingLeaf, name: string): boolean {
  return key === 'copilot.headers' && secretHeader.test(name)
}

/** Every text of the configuration that is shown to nobody. */
export function secretValues(config: Config): readonly string[] {
  return leaves.flatMap((leaf) => {
    const value = valueAt(config, leaf.path.map(camelKey))
    if (leaf.secret) return textsIn(value)
    if (leaf.kind !== 'table' || !isTable(value)) return []
    return Object.entries(value).flatMap(([name, entry]) => (isSecretEntry(leaf, name) ? textsIn(entry) : []))
  })
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.flatMap(textsIn) : []
}
