import type { z } from 'zod'

/**
 * The type of the bodies that a schema describes, without anything to assign to. Schemas state no `readonly` themselves: JSON
 * Schema would repeat it for every field.
 */
export type Body<Schema extends z.ZodType> = Fixed<z.output<Schema>>

type Fixed<Value> = Value extends readonly (infer Item)[]
  ? readonly Fixed<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Fixed<Value[Key]> }
    : Value
