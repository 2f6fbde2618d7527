import { z } from 'zod'
import { count, lenient, modelId, price, strings } from './lenient.ts'

// Fields of one kind share a schema: each is an object of some kilobytes, which an idle daemon keeps.
const flag = lenient(z.boolean())
const amount = lenient(count)
const cost = lenient(price)
const text = lenient(z.string())
const texts = lenient(strings)

/**
 * The price of tokens in one context tier: AI credits (US$0.01 each) per `batch_size` tokens. API versions before
 * 2026-08-01 write `cache_price` and `context_max`. Source: docs/copilot-wire.md, "Context tiers and prices".
 */
const tierPrices = z.looseObject({
  input_price: cost,
  output_price: cost,
  cache_read_price: cost,
  cache_price: cost,
  cache_write_price: cost,
  /** Tokens of a prompt: where this tier ends. */
  context_max: amount,
  max_prompt_tokens: amount,
})

/** A notice on a model, e.g. that it is about to be retired. */
const notices = lenient(z.array(lenient(z.looseObject({ code: text, message: text }))))

/**
 * One entry of upstream's `GET /models`. Only `id` is always there; `policy`, `supports`, `limits` and
 * `supported_endpoints` may each be absent, and new keys appear every few months (test/fixtures/models/copilot.json).
 */
export const copilotModelEntry = z.looseObject({
  id: modelId,
  name: text,
  vendor: lenient(z.string().min(1)),
  preview: flag,
  model_picker_enabled: flag,
  /** GitHub's clients take it where the user has chosen none. */
  is_chat_default: flag,
  /** Seconds since epoch. Not sent by Copilot so far; read where a compatible endpoint sends it. */
  created: lenient(z.number().int().nonnegative()),
  policy: lenient(z.looseObject({ state: text })),
  capabilities: lenient(
    z.looseObject({
      /** `chat`, `embeddings` or `completion` so far. */
      type: text,
      family: lenient(z.string().min(1)),
      limits: lenient(
        z.looseObject({
          max_context_window_tokens: amount,
          max_prompt_tokens: amount,
          max_output_tokens: amount,
          max_inputs: amount,
          vision: lenient(
            z.looseObject({
              max_prompt_images: amount,
              /** Bytes of one image. */
              max_prompt_image_size: amount,
              supported_media_types: texts,
            }),
          ),
        }),
      ),
      supports: lenient(
        z.looseObject({
          tool_calls: flag,
          parallel_tool_calls: flag,
          vision: flag,
          structured_outputs: flag,
          prediction: flag,
          adaptive_thinking: flag,
          min_thinking_budget: amount,
          max_thinking_budget: amount,
          reasoning_effort: texts,
          tool_search: flag,
          context_editing: flag,
        }),
      ),
    }),
  ),
  billing: lenient(
    z.looseObject({
      multiplier: cost,
      /** The part of the price that is left off where upstream chooses the model. Since API version 2026-08-01. */
      auto_discount: cost,
      token_prices: lenient(
        z.looseObject({
          /** Tokens that the prices are for. */
          batch_size: amount,
          default: lenient(tierPrices),
          long_context: lenient(tierPrices),
        }),
      ),
    }),
  ),
  info_messages: notices,
  warning_messages: notices,
  warning_message: text,
  supported_endpoints: texts,
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
