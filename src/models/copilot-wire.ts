import { z } from 'zod'
import { count, lenient, modelId, strings } from './lenient.ts'

/**
 * One entry of upstream's `GET /models`. Only `id` is always there; `policy`, `supports`, `limits` and
 * `supported_endpoints` may each be absent, and new keys appear every few months (test/fixtures/models/copilot.json).
 */
const copilotModelEntry = z.looseObject({
  id: modelId,
  name: lenient(z.string()),
  vendor: lenient(z.string().min(1)),
  preview: lenient(z.boolean()),
  model_picker_enabled: lenient(z.boolean()),
  /** Seconds since epoch. Not sent by Copilot so far; read where a compatible endpoint sends it. */
  created: lenient(z.number().int().nonnegative()),
  policy: lenient(z.looseObject({ state: lenient(z.enum(['enabled', 'disabled', 'unconfigured'])) })),
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
        }),
      ),
    }),
  ),
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
