import { nearMatch } from './near-match.ts'
import { retiredDetail, retiredSetting } from './retired-settings.ts'
import { configSchema } from './schema.ts'
import { settingLeaves } from './settings-tree.ts'
import type { SettingLeaf } from './settings-tree.ts'
import { assignText } from './environment.ts'
import { readYaml } from './yaml-document.ts'

/** A setting that a command line names, or one entry of a table (`models.aliases.fast`). */
interface FoundSetting {
  readonly kind: 'setting'
  readonly leaf: SettingLeaf
  readonly path: readonly string[]
}

export type SettingLookup =
  | FoundSetting
  /** A group of settings, such as `server`. */
  | { readonly kind: 'section'; readonly path: readonly string[]; readonly keys: readonly string[] }
  | { readonly kind: 'retired'; readonly path: readonly string[]; readonly detail: string }
  | { readonly kind: 'unknown'; readonly meant: string | undefined }

const leaves = settingLeaves(configSchema)

export const settingKeys: readonly string[] = leaves.map(({ key }) => key)

export function findSetting(key: string): SettingLookup {
  for (const leaf of leaves) {
    if (leaf.key === key) return { kind: 'setting', leaf, path: leaf.path }
    const entry = key.startsWith(`${leaf.key}.`) ? key.slice(leaf.key.length + 1) : ''
    if (leaf.kind === 'table' && entry !== '') {
      return { kind: 'setting', leaf, path: [...leaf.path, leaf.caseless ? entry.toLowerCase() : entry] }
    }
  }
  const inside = settingKeys.filter((each) => each.startsWith(`${key}.`))
  if (inside.length > 0) return { kind: 'section', path: key.split('.'), keys: inside }
  const retired = retiredSetting(key)
  if (retired !== undefined) return { kind: 'retired', path: key.split('.'), detail: retiredDetail(retired) }
  const meant = nearMatch(key, settingKeys) ?? leaves.find(({ path }) => path.at(-1) === key)?.key
  return { kind: 'unknown', meant }
}

/** The value that a command line writes for a setting; what does not fit stays text, for the schema to refuse. */
export function parseSettingValue({ leaf, path }: FoundSetting, text: string): unknown {
  const isEntry = path.length > leaf.path.length
  if (leaf.kind === 'table' && (!isEntry || /^\s*[[{]/.test(text))) {
    const read = readYaml(text)
    return read.ok ? (read.value.value ?? {}) : text
  }
  return isEntry ? text : assignText(leaf, text, { kind: 'default' })[0]?.value
}
