import { z } from 'zod'
import { Fault } from '../errors.ts'

/** Wrong types count as absent: one odd value must not cost the user a model. */
export const lenient = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(undefined)

/** Shown in terminals and sent in headers, hence no control characters. */
const modelId = z.string().regex(/^\P{Cc}{1,200}$/u)

// Fields of one kind share a schema: an idle daemon keeps some kilobytes for each.
const flag = lenient(z.boolean())
const amount = lenient(z.number().int().positive())
const cost = lenient(z.number().nonnegative())
const seconds = lenient(z.number().int().nonnegative())
const text = lenient(z.string())
const filledText = lenient(z.string().min(1))
/** The strings of an array; other items are dropped. */
const texts = lenient(z.array(z.unknown()).transform((items) => items.filter((item) => typeof item === 'string')))

/**
 * Prices of one context tier: AI credits (US$0.01 each) per `batch_size` tokens. API versions before 2026-08-01 have
 * `cache_price` and `context_max`. Source: docs/copilot-wire.md, "Context tiers and prices".
 */
const tierPrices = z.looseObject({
  input_price: cost,
  output_price: cost,
  cache_read_price: cost,
  cache_price: cost,
  cache_write_price: cost,
  /** For prompts that the cache keeps for an hour. */
  cache_write_1h: cost,
  /** Tokens of the longest prompt of this tier. */
  context_max: amount,
  max_prompt_tokens: amount,
})

const notices = lenient(z.array(lenient(z.looseObject({ code: text, message: text }))))

/**
 * One entry of Copilot's `GET /models`. Only `id` is always present, and new keys appear every few months
 * (test/fixtures/models/copilot.json).
 */
export const copilotModelEntry = z.looseObject({
  id: modelId,
  name: text,
  vendor: filledText,
  /** A dated id for some models (`gpt-4.1-2025-04-14` for `gpt-4.1`), the id itself for others. */
  version: lenient(modelId),
  preview: flag,
  model_picker_enabled: flag,
  /** GitHub's clients use it by default. */
  is_chat_default: flag,
  /** Seconds since epoch. Copilot has not sent it so far; compatible endpoints do. */
  created: seconds,
  policy: lenient(z.looseObject({ state: text })),
  capabilities: lenient(
    z.looseObject({
      /** `chat`, `embeddings` or `completion` so far. */
      type: text,
      family: filledText,
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
      /** Share of the price that `auto` saves. Since API version 2026-08-01. */
      auto_discount: cost,
      token_prices: lenient(
        z.looseObject({
          /** Tokens. */
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

const reasoningLevel = z.object({ effort: z.string().min(1) })

/** Items that name no effort are dropped. */
const efforts = z
  .array(z.unknown())
  .transform((levels) => levels.flatMap((level) => reasoningLevel.safeParse(level).data?.effort ?? []))

/**
 * One entry of the ChatGPT backend's `GET /models`. Only `slug` is required. Other keys are dropped: an entry carries
 * prompts of tens of kB (docs/codex-wire.md, "Models").
 */
const codexModelEntry = z.object({
  slug: modelId,
  display_name: filledText,
  /** `list` or `hide` so far. */
  visibility: text,
  /** Ascending. */
  priority: lenient(z.number()),
  /** Tokens. A user may widen it up to the maximum. */
  context_window: amount,
  max_context_window: amount,
  /** `text` and `image` so far. */
  input_modalities: texts,
  supported_reasoning_levels: lenient(efforts),
  default_reasoning_level: text,
  supports_parallel_tool_calls: flag,
  /** Whether `reasoning.summary` is taken. */
  supports_reasoning_summary_parameter: flag,
  /** Whether `text.verbosity` is taken; both spellings have been seen. */
  supports_verbosity: flag,
  support_verbosity: flag,
  use_responses_lite: flag,
})
export type CodexModelEntry = z.infer<typeof codexModelEntry>

/** One entry of the key API's `GET /models`. Source: OpenAI API reference, models, 2026-11. */
const openaiModelEntry = z.object({
  id: modelId,
  /** Seconds since epoch. */
  created: seconds,
})
export type OpenaiModelEntry = z.infer<typeof openaiModelEntry>

const catalogueReply = z.object({ models: z.array(z.unknown()) })
const listReply = z.object({ data: z.array(z.unknown()) })

interface ParsedList<Entry> {
  readonly entries: readonly Entry[]
  /** Unreadable entries. */
  readonly leftOut: number
}

/** Reads Copilot's `GET /models`. Undefined if it is no model list. */
export function parseModelList(reply: unknown): ParsedList<CopilotModelEntry> | undefined {
  const list = listReply.safeParse(reply)
  return list.success ? readEntries(copilotModelEntry, list.data.data) : undefined
}

type ParsedCodexList =
  | ({ readonly kind: 'catalogue' } & ParsedList<CodexModelEntry>)
  | ({ readonly kind: 'key-api' } & ParsedList<OpenaiModelEntry>)

/** Reads `GET /models` of either Codex upstream, which differ in shape. Undefined if it is no model list. */
export function parseCodexList(reply: unknown): ParsedCodexList | undefined {
  const catalogue = catalogueReply.safeParse(reply)
  if (catalogue.success) return { kind: 'catalogue', ...readEntries(codexModelEntry, catalogue.data.models) }
  const list = listReply.safeParse(reply)
  if (list.success) return { kind: 'key-api', ...readEntries(openaiModelEntry, list.data.data) }
  return undefined
}

/** Several times the models of any provider. Checking more of them would delay requests. */
const maxEntries = 2000

/**
 * A bad entry never costs the others.
 * @throws Fault `upstream_unusable` for more entries than any real list has
 */
function readEntries<Entry>(schema: z.ZodType<Entry>, items: readonly unknown[]): ParsedList<Entry> {
  if (items.length > maxEntries) {
    const detail = `its model list has ${items.length} models; at most ${maxEntries} are read`
    throw new Fault({ kind: 'upstream_unusable', detail })
  }
  const entries = items.flatMap((item) => schema.safeParse(item).data ?? [])
  return { entries, leftOut: items.length - entries.length }
}
