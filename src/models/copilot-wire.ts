import { z } from 'zod'
import { count, lenient, modelId, price, strings } from './lenient.ts'

/**
 * The price of tokens in one context tier: AI credits (US$0.01 each) per `batch_size` tokens. API versions before
 * 2026-08-01 write `cache_price` and `context_max`. Source: docs/copilot-wire.md, "Context tiers and prices".
 */
const tierPrices = z.looseObject({
  input_price: lenient(price),
  output_price: lenient(price),
  cache_read_price: lenient(price),
  cache_price: lenient(price),
  cache_write_price: lenient(price),
  /** Tokens of a prompt: where this tier ends. */
  context_max: lenient(count),
  max_prompt_tokens: lenient(count),
})

/** A notice on a model, e.g. that it is about to be retired. */
const notices = lenient(z.array(lenient(z.looseObject({ code: lenient(z.string()), message: lenient(z.string()) }))))

/**
 * One entry of upstream's `GET /models`. Only `id` is always there; `policy`, `supports`, `limits` and
 * `supported_endpoints` may each be absent, and new keys appear every few months (test/fixtures/models/copilot.json).
 */
export const copilotModelEntry = z.looseObject({
  id: modelId,
  name: lenient(z.string()),
  vendor: lenient(z.string().min(1)),
  preview: lenient(z.boolean()),
  model_picker_enabled: lenient(z.boolean()),
  /** GitHub's clients take it where the user has chosen none. */
  is_chat_default: lenient(z.boolean()),
  /** Seconds since epoch. Not sent by Copilot so far; read where a compatible endpoint sends it. */
  created: lenient(z.number().int().nonnegative()),
  policy: lenient(z.looseObject({ state: lenient(z.string()) })),
  capabilities: lenient(
    z.looseObject({
      /** `chat`, `embeddings` or `completion` so far. */
      type: lenient(z.string()),
      family: lenient(z.string().min(1)),
      limits: lenient(
        z.looseObject({
          max_context_window_tokens: lenient(count),
          max_prompt_tokens: lenient(count),
          max_output_tokens: lenient(count),
          max_inputs: lenient(count),
          vision: lenient(
            z.looseObject({
              max_prompt_images: lenient(count),
              /** Bytes of one image. */
              max_prompt_image_size: lenient(count),
              supported_media_types: lenient(strings),
            }),
          ),
        }),
      ),
      supports: lenient(
        z.looseObject({
          tool_calls: lenient(z.boolean()),
          parallel_tool_calls: lenient(z.boolean()),
          vision: lenient(z.boolean()),
          structured_outputs: lenient(z.boolean()),
          prediction: lenient(z.boolean()),
          adaptive_thinking: lenient(z.boolean()),
          min_thinking_budget: lenient(count),
          max_thinking_budget: lenient(count),
          reasoning_effort: lenient(strings),
          tool_search: lenient(z.boolean()),
          context_editing: lenient(z.boolean()),
        }),
      ),
    }),
  ),
  billing: lenient(
    z.looseObject({
      multiplier: lenient(price),
      /** The part of the price that is left off where upstream chooses the model. Since API version 2026-08-01. */
      auto_discount: lenient(price),
      token_prices: lenient(
        z.looseObject({
          /** Tokens that the prices are for. */
          batch_size: lenient(count),
          default: lenient(tierPrices),
          long_context: lenient(tierPrices),
        }),
      ),
    }),
  ),
  info_messages: notices,
  warning_messages: notices,
  warning_message: lenient(z.string()),
  supported_endpoints: lenient(strings),
})
export type CopilotModelEntry = z.infer<typeof copilotModelEntry>

const modelListReply = z.looseObject({ data: z.array(z.unknown()) })

interface ParsedModelList {
  readonly entries: readonly CopilotModelEntry[]
  /** How many entries could not be read and were left out. */
  readonly leftOut: number
}

/**
 * Reads upstream's reply to `GET /models`, entry by entry; a bad entry never costs the others.
 * Undefined when the reply is not a model list at all.
 */
export function parseModelList(reply: unknown): ParsedModelList | undefined {
  const list = modelListReply.safeParse(reply)
  if (!list.success) return undefined
  const entries = list.data.data.flatMap((item) => copilotModelEntry.safeParse(item).data ?? [])
  return { entries, leftOut: list.data.data.length - entries.length }
}
