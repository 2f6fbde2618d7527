import { z } from 'zod'
import type { Body } from './body.ts'

const keyRow = z.object({
  name: z.string(),
  /** The configuration has the key itself, or its hash. */
  stored: z.enum(['plain', 'hash']),
  /** Null: no limit. */
  requests_per_minute: z.number().nullable(),
  credits_per_day: z.number().nullable(),
  /** Names or patterns; null: all. */
  models: z.array(z.string()).nullable(),
  /** The GitHub account of its requests; null: the account in use. */
  account: z.string().nullable(),
  /** In the last 30 days. */
  requests: z.number(),
  /** The day of the last request in those; null: none. */
  last_day: z.string().nullable(),
  credits: z.number().nullable(),
})
export type KeyRow = Body<typeof keyRow>

/** `GET /keys`: for a key its own row, and nothing of the key itself. */
export const keyList = z.object({ keys: z.array(keyRow) })
export type KeyList = Body<typeof keyList>
