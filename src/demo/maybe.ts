import type { z } from 'zod'

/** A key that may be null or absent: both mean undefined here. */
export function maybe<Schema extends z.ZodType>(schema: Schema) {
  return schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional()
}
