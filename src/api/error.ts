import { z } from 'zod'

/** Every refusal of the daemon's own routes: OpenAI's error envelope. Source: OpenAI API reference, error object, 2026-08. */
export const errorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
})
