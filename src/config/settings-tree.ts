import type { z } from 'zod'
import { leafKind, sectionShape, type SettingLeaf } from './setting-leaves.ts'

/** Settings as they were read, in the file's kebab-case keys, before anything is checked. */
export type SettingsTree = Readonly<Record<string, unknown>>

export function isTable(value: unknown): value is SettingsTree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a path, undefined where the path leaves the tree. */
export function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    return Reflect.get(value, key)
  }, tree)
}

/** A copy of the tree with one value replaced. Where something other than a table is in the way, it stays: the schema reports it. */
export function withValue(tree: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (!isTable(tree)) return tree
  // A computed key defines an own property even for `__proto__`.
  return { ...tree, [key]: withValue(valueAt(tree, [key]) ?? {}, rest, value) }
}

/**
 * Drops sections, lists and tables that were left empty: in YAML, a key whose lines are all commented out is null,
 * and means that nothing is set there.
 */
export function withoutEmptySections(schema: z.ZodType, tree: unknown): unknown {
  const shape = sectionShape(schema)
  if (shape === undefined || !isTable(tree)) return tree
  const kept = Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
    const inner = Object.hasOwn(shape, key) ? shape[key] : undefined
    if (inner === undefined) return [[key, value]]
    const holdsMore = sectionShape(inner) !== undefined || ['list', 'table'].includes(leafKind(inner))
    return value === null && holdsMore ? [] : [[key, withoutEmptySections(inner, value)]]
  })
  return Object.fromEntries(kept)
}

/** A copy with its keys in lower case. Where two of them become one, the second stays as it is, for the schema to refuse. */
export function withLowerCaseKeys(table: SettingsTree): SettingsTree {
  const taken = new Set(Object.keys(table))
  const renamed = Object.entries(table).map(([key, value]): [string, unknown] => {
    const lower = key.toLowerCase()
    if (taken.has(lower)) return [key, value]
    taken.add(lower)
    return [lower, value]
  })
  return Object.fromEntries(renamed)
}

/** The paths of all values: one for each setting, but one for each entry of a table that has any. */
export function valuePaths(settings: unknown, leaves: readonly SettingLeaf[]): readonly (readonly string[])[] {
  return leaves.flatMap(({ path, kind }) => {
    const value = valueAt(settings, path)
    const entries = kind === 'table' && isTable(value) ? Object.keys(value) : []
    return entries.length === 0 ? [path] : entries.map((entry) => path.concat(entry))
  })
}
