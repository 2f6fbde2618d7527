import { z } from 'zod'
import type { Body } from './body.ts'

/** `GET /policies`: the models whose terms the account has not accepted. */
export const policyList = z.object({
  models: z.array(
    z.object({
      id: z.string(),
      state: z.string(),
      /** GitHub's text; null: GitHub states none. */
      terms: z.string().nullable(),
    }),
  ),
})
export type PolicyList = Body<typeof policyList>

/** `POST /policies`: accepts the terms of a model. */
export const policyInput = z.strictObject({ model: z.string().trim().min(1).max(300) })
