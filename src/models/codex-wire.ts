import { z } from 'zod'
import { count, lenient, modelId, strings } from './lenient.ts'

const reasoningLevel = z.object({ effort: z.string().min(1) })

/** The efforts of an array of levels, whatever else is in it. */
const efforts = z
  .array(z.unknown())
  .transform((levels) => levels.flatMap((level) => reasoningLevel.safeParse(level).data?.effort ?? []))

/**
 * One entry of the ChatGPT backend's `GET /models`. What is not named here is dropped while it is read: an entry carries
 * prompts of tens of kB (`base_instructions`, `model_messages`). Only `slug` has to be there
 * (docs/codex-wire.md, "Models").
 */
const codexModelEntry = z.object({
  slug: modelId,
  display_name: lenient(z.string().min(1)),
  /** `list` or `hide` so far. */
  visibility: lenient(z.string()),
  /** The lowest is listed first. */
  priority: lenient(z.number()),
  /** Tokens that a client plans with, unless its user widens the window up to the maximum. */
  context_window: lenient(count),
  max_context_window: lenient(count),
  /** `text` and `image` so far. */
  input_modalities: lenient(strings),
  supported_reasoning_levels: lenient(efforts),
  default_reasoning_level: lenient(z.string()),
  supports_parallel_tool_calls: lenient(z.boolean()),
  /** Whether `reasoning.summary` is taken. */
  supports_reasoning_summary_parameter: lenient(z.boolean()),
  /** Whether `text.verbosity` is taken; both spellings have been seen. */
  supports_verbosity: lenient(z.boolean()),
  support_verbosity: lenient(z.boolean()),
  use_responses_lite: lenient(z.boolean()),
})
export type CodexModelEntry = z.infer<typeof codexModelEntry>

/** One entry of the key API's `GET /models`. Source: OpenAI API reference, models, 2026-11. */
const openaiModelEntry = z.object({
  id: modelId,
  /** Seconds since epoch. */
  created: lenient(z.number().int().nonnegative()),
})
export type OpenaiModelEntry = z.infer<typeof openaiModelEntry>

const catalogueReply = z.object({ models: z.array(z.unknown()) })
const keyApiReply = z.object({ data: z.array(z.unknown()) })

type ParsedCodexList = {
  /** How many entries could not be read and were left out. */
  readonly leftOut: number
} & (
  | { readonly kind: 'catalogue'; readonly entries: readonly CodexModelEntry[] }
  | { readonly kind: 'key-api'; readonly entries: readonly OpenaiModelEntry[] }
)

/**
 * Reads a reply to `GET /models` of either Codex upstream, told apart by their shape; a bad entry never costs the others.
 * Undefined when the reply is not a model list at all.
 */
export function parseCodexList(reply: unknown): ParsedCodexList | undefined {
  const catalogue = catalogueReply.safeParse(reply)
  if (catalogue.success) return { kind: 'catalogue', ...readEntries(codexModelEntry, catalogue.data.models) }
  const list = keyApiReply.safeParse(reply)
  if (list.success) return { kind: 'key-api', ...readEntries(openaiModelEntry, list.data.data) }
  return undefined
}

function readEntries<Entry>(schema: z.ZodType<Entry>, items: readonly unknown[]) {
  const entries = items.flatMap((item) => schema.safeParse(item).data ?? [])
  return { entries, leftOut: items.length - entries.length }
}
