import { z } from 'zod'
import { isObject } from '../json/json.ts'
import { valueAt } from '../json/value-at.ts'

/** How an environment variable or a flag writes the setting. */
export type LeafKind = 'text' | 'number' | 'boolean' | 'list' | 'table'

/** A setting that holds a value, not further settings. */
export interface SettingLeaf {
  readonly path: readonly string[]
  /** `path` joined with dots, as in `copilot.timeouts.connect-seconds`. */
  readonly key: string
  readonly kind: LeafKind
  readonly description: string
  /** Never shown in `config show` or in an error. */
  readonly secret: boolean
  /** A table with case-insensitive keys, stored in lower case. */
  readonly caseless: boolean
}

/** The schema of the value that the user writes, without defaults and transforms. */
function inputSchema(schema: z.ZodType): z.ZodType {
  const inner =
    schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
      ? schema.def.innerType
      : schema instanceof z.ZodPipe
        ? schema.def.in
        : undefined
  return inner instanceof z.ZodType ? inputSchema(inner) : schema
}

/** The settings of a section by key; undefined for a leaf. */
export function sectionShape(schema: z.ZodType): Readonly<Record<string, z.ZodType>> | undefined {
  const plain = inputSchema(schema)
  return plain instanceof z.ZodObject ? plain.shape : undefined
}

function leafKind(schema: z.ZodType): LeafKind {
  const plain = inputSchema(schema)
  if (plain instanceof z.ZodNumber) return 'number'
  const isSwitch = plain instanceof z.ZodUnion && plain.options.some((option) => option instanceof z.ZodBoolean)
  if (plain instanceof z.ZodBoolean || isSwitch) return 'boolean'
  if (plain instanceof z.ZodArray) return 'list'
  if (plain instanceof z.ZodRecord) return 'table'
  return 'text'
}

/** Every leaf, in the schema's order. */
export function settingLeaves(schema: z.ZodType, path: readonly string[] = []): readonly SettingLeaf[] {
  const shape = sectionShape(schema)
  if (shape !== undefined) {
    return Object.entries(shape).flatMap(([key, inner]) => settingLeaves(inner, [...path, key]))
  }
  const meta = schema.meta()
  return [
    {
      path,
      key: path.join('.'),
      kind: leafKind(schema),
      description: meta?.description ?? '',
      secret: meta?.['secret'] === true,
      caseless: meta?.['caseless'] === true,
    },
  ]
}

/** Unvalidated settings with the file's kebab-case keys. */
export type SettingsTree = Readonly<Record<string, unknown>>

/** Returns a copy. A value on the path that is no table stays, for the schema to report. */
export function withValue(tree: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (!isObject(tree)) return tree
  // A computed key defines an own property even for `__proto__`.
  return { ...tree, [key]: withValue(valueAt(tree, [key]) ?? {}, rest, value) }
}

/** Returns a copy without the key at the end of the path. */
export function withoutValue(tree: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path
  if (key === undefined || !isObject(tree) || !Object.hasOwn(tree, key)) return tree
  const { [key]: inner, ...others } = tree
  return rest.length === 0 ? others : { ...tree, [key]: withoutValue(inner, rest) }
}

/** Drops sections, lists and tables that are null: in YAML, keys whose lines are all commented out. */
export function withoutEmptySections(schema: z.ZodType, tree: unknown): unknown {
  const shape = sectionShape(schema)
  if (shape === undefined || !isObject(tree)) return tree
  const kept = Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
    const inner = Object.hasOwn(shape, key) ? shape[key] : undefined
    if (inner === undefined) return [[key, value]]
    const holdsMore = sectionShape(inner) !== undefined || ['list', 'table'].includes(leafKind(inner))
    return value === null && holdsMore ? [] : [[key, withoutEmptySections(inner, value)]]
  })
  return Object.fromEntries(kept)
}

/** Returns a copy. The second of two keys that become equal keeps its case, for the schema to refuse. */
export function withLowerCaseKeys(table: SettingsTree): SettingsTree {
  const taken = new Set(Object.keys(table))
  const entries = Object.entries(table).map(([key, value]): [string, unknown] => {
    const lower = key.toLowerCase()
    if (taken.has(lower)) return [key, value]
    taken.add(lower)
    return [lower, value]
  })
  return Object.fromEntries(entries)
}

/** One path for each setting, and for each entry of a table that has any. */
export function valuePaths(settings: unknown, leaves: readonly SettingLeaf[]): readonly (readonly string[])[] {
  return leaves.flatMap(({ path, kind }) => {
    const value = valueAt(settings, path)
    const entries = kind === 'table' && isObject(value) ? Object.keys(value) : []
    return entries.length === 0 ? [path] : entries.map((entry) => path.concat(entry))
  })
}

type CamelKey<Key extends string> = Key extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelKey<Tail>>}`
  : Key

/** Read-only, with camelCase keys, except in tables, whose keys (e.g. header names) are the user's. */
export type CamelKeys<T> = T extends readonly (infer Item)[]
  ? readonly Item[]
  : T extends object
    ? string extends keyof T
      ? Readonly<T>
      : { readonly [Key in keyof T & string as CamelKey<Key>]: CamelKeys<T[Key]> }
    : T

export function camelKey(key: string): string {
  return key.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function renamed(schema: z.ZodType, value: unknown): unknown {
  const shape = sectionShape(schema)
  if (shape === undefined) return Object.freeze(value)
  const entries = Object.entries(shape).map(([key, inner]) => [camelKey(key), renamed(inner, valueAt(value, [key]))])
  return Object.freeze(Object.fromEntries(entries))
}

/** Renames the keys of sections and freezes everything; leaves in place. */
export function camelKeys<Schema extends z.ZodType>(
  schema: Schema,
  value: z.output<Schema>,
): CamelKeys<z.output<Schema>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the walk renames exactly the keys that CamelKeys renames, those of ZodObject shapes
  return renamed(schema, value) as CamelKeys<z.output<Schema>>
}
