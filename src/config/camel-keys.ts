import type { z } from 'zod'
import { sectionShape } from './setting-leaves.ts'
import { valueAt } from './settings-tree.ts'

type CamelKey<Key extends string> = Key extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelKey<Tail>>}`
  : Key

/** Sections get camelCase keys; a record (its keys are the user's own, such as header names) keeps them. All read-only. */
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

/** `value`, the output of `schema`, with its sections' keys in camelCase, frozen all the way down. Leaves are frozen in place. */
export function camelKeys<Schema extends z.ZodType>(
  schema: Schema,
  value: z.output<Schema>,
): CamelKeys<z.output<Schema>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the walk renames exactly the keys that CamelKeys renames, those of ZodObject shapes
  return renamed(schema, value) as CamelKeys<z.output<Schema>>
}
