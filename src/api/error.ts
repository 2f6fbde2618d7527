import { z } from 'zod'

/** Every refusal of the daemon's own routes: OpenAI's error envelope. Source: OpenAI API reference, error object, 2026-08. */
export const errorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
    /** Where files differ from what an undo expects. */
    conflicts: z
      .array(
        z.object({
          path: z.string(),
          /** Counted from 1. Absent: the whole file. */
          line: z.number().optional(),
          /** Lines. */
          expected: z.array(z.string()),
          found: z.array(z.string()),
        }),
      )
      .optional(),
  }),
})
