import { z } from 'zod'
import type { Body } from './body.ts'

const dialect = z.enum(['chat', 'responses', 'messages'])

/** Credits per million tokens; a credit is US$0.01. */
const tierPrices = z.object({
  input: z.number().nullable(),
  output: z.number().nullable(),
  cache_read: z.number().nullable(),
  cache_write: z.number().nullable(),
  cache_write_1h: z.number().nullable(),
  /** The longest prompt of the tier. Tokens. */
  context_max: z.number().nullable(),
})
export type TierPrices = Body<typeof tierPrices>

/**
 * One model in OpenAI's list. One row represents both context tiers: upstream prices a prompt by its length, whatever its model
 * was called, so that a second row would offer the same model twice. Null: upstream does not state it.
 */
export const modelRow = z.object({
  id: z.string(),
  object: z.literal('model'),
  /** Seconds since epoch. Strict clients require an integer, even if upstream states none. */
  created: z.number(),
  owned_by: z.string(),
  /** Our own fields, under one key that OpenAI will not use. */
  copilot_proxy: z.object({
    /** Set for an alias of the user's: its first model, and the fallbacks that are asked in turn if that model fails. */
    alias_of: z.string().nullable(),
    fallbacks: z.array(z.string()),
    provider: z.enum(['copilot', 'codex']),
    name: z.string(),
    type: z.enum(['chat', 'embeddings', 'completion', 'other']),
    family: z.string(),
    preview: z.boolean(),
    /** Any value but `enabled` closes the model to the account; null: nothing gates it. */
    policy: z.string().nullable(),
    /** `seed` until the account's own list has been fetched. */
    source: z.enum(['live', 'seed']),
    endpoints: z.array(z.string()),
    /** By caller dialect, the upstream dialect that serves it. */
    routes: z.object({ chat: dialect.nullable(), responses: dialect.nullable(), messages: dialect.nullable() }),
    /** Tokens. */
    context_window: z.number().nullable(),
    max_prompt_tokens: z.number().nullable(),
    max_output_tokens: z.number().nullable(),
    /** The tier of these limits; null: the model has one tier. */
    context_tier: z.enum(['default', 'long']).nullable(),
    /** The long tier: the name that a request uses to get it, and its limits. Null if the model has one tier, or if this row is the long tier. */
    long_context: z
      .object({ id: z.string(), context_window: z.number().nullable(), max_prompt_tokens: z.number().nullable() })
      .nullable(),
    prices: z
      .object({
        unit: z.literal('credits per million tokens'),
        default: tierPrices,
        /** For prompts longer than `context_max` of the default tier. */
        long_context: tierPrices.nullable(),
      })
      .nullable(),
    /** Premium requests that one request counts as. */
    premium_multiplier: z.number().nullable(),
    /** Warnings first. */
    notices: z.array(
      z.object({ level: z.enum(['warning', 'info']), code: z.string().nullable(), message: z.string() }),
    ),
    /** Texts per upstream request for embeddings; longer requests are split. */
    max_inputs: z.number().nullable(),
    capabilities: z.object({
      tool_calls: z.boolean().nullable(),
      parallel_tool_calls: z.boolean().nullable(),
      vision: z.boolean().nullable(),
      structured_outputs: z.boolean().nullable(),
      reasoning_effort: z.array(z.string()).nullable(),
    }),
  }),
})
export type ModelRow = Body<typeof modelRow>

/** `GET /v1/models`, as OpenAI's clients get it. */
export const modelList = z.object({
  object: z.literal('list'),
  data: z.array(modelRow),
  /** `?include=disabled`: the models that are switched off for the account. */
  disabled: z.array(modelRow).optional(),
})
export type ModelList = Body<typeof modelList>
