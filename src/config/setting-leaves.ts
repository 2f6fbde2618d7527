import { z } from 'zod'

/** How one setting is written as plain text, in an environment variable or a flag. */
export type LeafKind = 'text' | 'number' | 'boolean' | 'list' | 'table'

/** One setting: a place in the file that holds a value and not further settings. */
export interface SettingLeaf {
  readonly path: readonly string[]
  /** `path` joined with dots, as in `copilot.timeouts.connect-seconds`. */
  readonly key: string
  readonly kind: LeafKind
  readonly description: string
  /** Its value is never shown: not by `config show`, not in an error. */
  readonly secret: boolean
  /** A table whose entries have the same name in upper and lower case; it is kept in lower case. */
  readonly caseless: boolean
}

/** The schema below defaults and transforms: what the user writes. */
function written(schema: z.ZodType): z.ZodType {
  const inner =
    schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
      ? schema.def.innerType
      : schema instanceof z.ZodPipe
        ? schema.def.in
        : undefined
  return inner instanceof z.ZodType ? written(inner) : schema
}

/** The settings of a section by key, or undefined when `schema` is a leaf. */
export function sectionShape(schema: z.ZodType): Readonly<Record<string, z.ZodType>> | undefined {
  const plain = written(schema)
  return plain instanceof z.ZodObject ? plain.shape : undefined
}

/** How a leaf's value is written. */
export function leafKind(schema: z.ZodType): LeafKind {
  const plain = written(schema)
  if (plain instanceof z.ZodNumber) return 'number'
  if (plain instanceof z.ZodBoolean) return 'boolean'
  if (plain instanceof z.ZodArray) return 'list'
  if (plain instanceof z.ZodRecord) return 'table'
  return 'text'
}

/** Every setting of a schema, in the schema's order. */
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
