import { CATALOGUE } from './catalogue.ts'
import type { CatalogueRow, HabitId } from './catalogue.ts'

const CHAT = '/chat/completions'

const HARD_TOOL_LIMIT = 128

/** A model of the catalogue with what the request checks need. `entry` is its element of `GET /models`. */
export interface DemoModel {
  readonly id: string
  readonly type: 'chat' | 'embeddings' | 'completion'
  readonly habit: HabitId
  /** Absent in the entry = chat only (docs/copilot-wire.md, "Models"). */
  readonly endpoints: readonly string[]
  readonly isEnabled: boolean
  readonly contextTokens: number
  readonly maxPromptTokens: number
  readonly maxOutputTokens: number
  readonly efforts: readonly string[]
  /** Takes `thinking: {type: "enabled", budget_tokens}`. */
  readonly takesBudget: boolean
  /** Takes `thinking: {type: "adaptive"}`. */
  readonly takesAdaptive: boolean
  /** Claude's; 0 elsewhere. */
  readonly version: number
  readonly takesOutputConfig: boolean
  /** Most tools on the chat and Responses routes. */
  readonly mostTools: number
  /** See `CatalogueRow`. */
  readonly isOlder: boolean
  readonly isBench: boolean
  readonly entry: Readonly<Record<string, unknown>>
}

/** Real lists have rows that lack almost everything; each must be judged alone. */
const SPARSE_ENTRY = { id: 'mai-code-1-flash' }

const MODELS: readonly DemoModel[] = [...CATALOGUE.map(toModel), sparseModel()]

/** The body of `GET /models`. */
export const MODEL_LIST = JSON.stringify({ object: 'list', data: MODELS.map((model) => model.entry) })

/** The model with this id; the first where the list has it twice. */
export function findModel(id: string): DemoModel | undefined {
  return MODELS.find((model) => model.id === id)
}

function sparseModel(): DemoModel {
  return {
    id: SPARSE_ENTRY.id,
    type: 'chat',
    habit: 'gpt-5',
    endpoints: [CHAT],
    isEnabled: true,
    contextTokens: 128_000,
    maxPromptTokens: 128_000,
    maxOutputTokens: 16_000,
    efforts: [],
    takesBudget: false,
    takesAdaptive: false,
    version: 0,
    takesOutputConfig: false,
    mostTools: HARD_TOOL_LIMIT,
    isOlder: false,
    isBench: false,
    entry: SPARSE_ENTRY,
  }
}

function toModel(row: CatalogueRow): DemoModel {
  return {
    id: row.id,
    type: row.type ?? 'chat',
    habit: row.habit,
    endpoints: row.endpoints ?? [CHAT],
    isEnabled: row.policy !== 'disabled',
    contextTokens: row.context * 1000,
    maxPromptTokens: row.prompt * 1000,
    maxOutputTokens: row.output * 1000,
    efforts: row.efforts ?? [],
    takesBudget: row.thinkingBudget !== undefined,
    takesAdaptive: row.adaptive === true,
    version: row.version ?? 0,
    takesOutputConfig: row.noOutputConfig !== true,
    mostTools: supportsOf(row)['tool_search'] === true ? Infinity : HARD_TOOL_LIMIT,
    isOlder: row.older === true,
    isBench: row.bench === true,
    entry: toEntry(row),
  }
}

function toEntry(row: CatalogueRow): Record<string, unknown> {
  const name = row.name ?? row.id
  return {
    id: row.id,
    object: 'model',
    name,
    vendor: row.vendor,
    version: row.id,
    preview: row.id.endsWith('-preview'),
    model_picker_enabled: row.picker ?? true,
    is_chat_default: row.id === 'gpt-5-mini',
    is_chat_fallback: row.id === 'gpt-4.1',
    ...(row.policy !== undefined && {
      policy: { state: row.policy, terms: `Enable access to the simulated ${name} model.` },
    }),
    ...(row.multiplier !== undefined && {
      billing: { is_premium: row.multiplier > 0, multiplier: row.multiplier },
    }),
    capabilities: {
      object: 'model_capabilities',
      type: row.type ?? 'chat',
      family: row.id,
      tokenizer: row.type === 'embeddings' ? 'cl100k_base' : 'o200k_base',
      limits: row.type === 'embeddings' ? { max_inputs: 512 } : limitsOf(row),
      supports: row.type === 'embeddings' ? { dimensions: true } : supportsOf(row),
    },
    ...(row.endpoints !== undefined && { supported_endpoints: row.endpoints }),
  }
}

function limitsOf(row: CatalogueRow): Record<string, unknown> {
  return {
    max_context_window_tokens: row.context * 1000,
    max_prompt_tokens: row.prompt * 1000,
    max_output_tokens: row.output * 1000,
    ...(row.habit === 'claude' && { max_non_streaming_output_tokens: 16_000 }),
    ...(row.images !== undefined && {
      vision: {
        max_prompt_images: row.images,
        max_prompt_image_size: 3_145_728,
        supported_media_types: ['image/jpeg', 'image/png', 'image/webp'],
      },
    }),
  }
}

function supportsOf(row: CatalogueRow): Record<string, unknown> {
  return {
    streaming: true,
    tool_calls: true,
    ...(row.habit !== 'grok' && { parallel_tool_calls: true }),
    ...(row.images !== undefined && { vision: true }),
    ...(row.habit !== 'grok' && row.id !== 'gpt-3.5-turbo' && { structured_outputs: true }),
    ...(row.adaptive === true && { adaptive_thinking: true }),
    ...(row.toolSearch === true && { tool_search: true }),
    ...(row.thinkingBudget !== undefined && { min_thinking_budget: 1024, max_thinking_budget: row.thinkingBudget }),
    ...(row.efforts !== undefined && { reasoning_effort: row.efforts }),
  }
}
