import { z } from 'zod'

/** A field of a wrong type counts as absent: one odd value must not cost the user a model. */
export const lenient = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(undefined)

/** The strings of an array, whatever else is in it. */
export const strings = z.array(z.unknown()).transform((items) => items.filter((item) => typeof item === 'string'))

/** A limit of zero or less says nothing. */
export const count = z.number().int().positive()

/** Free is a price; less than nothing is not. */
export const price = z.number().nonnegative()

/** Shown in terminals and sent in headers, hence no control characters. */
export const modelId = z.string().regex(/^\P{Cc}{1,200}$/u)
