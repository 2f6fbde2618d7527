import type { CataloguePrice, CatalogueRow, ProfileId } from './catalogue.ts'

/** Largest image that every model with vision accepts. Bytes. */
export const LARGEST_IMAGE = 3_145_728

/** A model of the catalogue, with the facts that requests need. */
export interface DemoModel {
  readonly id: string
  readonly type: 'chat' | 'embeddings' | 'completion'
  readonly profile: ProfileId
  /** From the catalogue entry; chat only if the entry has none (docs/copilot-wire.md, "Models"). */
  readonly endpoints: readonly string[]
  readonly isEnabled: boolean
  readonly contextTokens: number
  readonly maxPromptTokens: number
  readonly efforts: readonly string[]
  /** Claude's version; 0 for other models. */
  readonly version: number
  readonly row: CatalogueRow
  /** The model's entry in `GET /models`. */
  readonly entry: Readonly<Record<string, unknown>>
}

/**
 * The models of a server for one API version (`x-github-api-version`). '' means the oldest version, undefined the
 * newest.
 */
export interface DemoModels {
  readonly list: (version: string) => readonly DemoModel[]
  /** Finds a model by id: the first one if the list repeats the id. */
  readonly find: (id: string, version?: string) => DemoModel | undefined
}

/** The models that `auto` may choose, and the discount for choosing them. */
export const AUTO_POOL: readonly string[] = ['gpt-5-mini', 'claude-sonnet-5', 'gpt-5.4', 'claude-haiku-4.5']
export const AUTO_DISCOUNT = 0.1

export function toModel(row: CatalogueRow): DemoModel {
  const [context, prompt] = row.limits
  return {
    id: row.id,
    type: row.type ?? 'chat',
    profile: row.profile,
    endpoints: row.endpoints ?? ['/chat/completions'],
    isEnabled: row.policy === undefined || row.policy === 'enabled',
    contextTokens: context * 1000,
    maxPromptTokens: prompt * 1000,
    efforts: row.efforts ?? [],
    version: row.version ?? 0,
    row,
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
    version: row.snapshot ?? row.id,
    preview: row.id.endsWith('-preview'),
    model_picker_enabled: row.picker ?? true,
    is_chat_default: row.id === 'gpt-5-mini',
    is_chat_fallback: row.id === 'gpt-4.1',
    ...(row.policy !== undefined && {
      policy: { state: row.policy, terms: `Enable access to the simulated ${name} model.` },
    }),
    ...(row.multiplier !== undefined && {
      billing: {
        is_premium: row.multiplier > 0,
        multiplier: row.multiplier,
        ...(AUTO_POOL.includes(row.id) && { auto_discount: AUTO_DISCOUNT }),
        ...tokenPrices(row),
      },
    }),
    ...(row.info !== undefined && { info_messages: [row.info] }),
    ...(row.warning !== undefined && { warning_messages: [row.warning] }),
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

function tokenPrices(row: CatalogueRow): Record<string, unknown> {
  const { price, long, priceBatch: batch = 1_000_000 } = row
  if (price === undefined) return {}
  const tier = (of: CataloguePrice, contextMax: number | undefined) => ({
    input_price: (of.input * batch) / 1_000_000,
    output_price: (of.output * batch) / 1_000_000,
    cache_read_price: (of.cacheRead * batch) / 1_000_000,
    ...(of.cacheWrite !== undefined && { cache_write_price: (of.cacheWrite * batch) / 1_000_000 }),
    ...(contextMax !== undefined && { context_max: contextMax * 1000 }),
  })
  return {
    token_prices: {
      batch_size: batch,
      default: tier(price, long?.defaultPrompt),
      ...(long !== undefined && { long_context: tier(long.price, row.limits[1]) }),
    },
  }
}

function limitsOf(row: CatalogueRow): Record<string, unknown> {
  const [context, prompt, output] = row.limits
  return {
    max_context_window_tokens: context * 1000,
    max_prompt_tokens: prompt * 1000,
    max_output_tokens: output * 1000,
    ...(row.profile === 'claude' && { max_non_streaming_output_tokens: 16_000 }),
    ...(row.images !== undefined && {
      vision: {
        max_prompt_images: row.images,
        max_prompt_image_size: LARGEST_IMAGE,
        supported_media_types: ['image/jpeg', 'image/png', 'image/webp'],
      },
    }),
  }
}

function supportsOf(row: CatalogueRow): Record<string, unknown> {
  return {
    streaming: true,
    tool_calls: true,
    ...(row.profile !== 'grok' && { parallel_tool_calls: true }),
    ...(row.images !== undefined && { vision: true }),
    ...(row.profile !== 'grok' && row.id !== 'gpt-3.5-turbo' && { structured_outputs: true }),
    ...(row.adaptive === true && { adaptive_thinking: true }),
    ...(row.toolSearch === true && { tool_search: true }),
    ...(row.thinkingBudget !== undefined && { min_thinking_budget: 1024, max_thinking_budget: row.thinkingBudget }),
    ...(row.efforts !== undefined && { reasoning_effort: row.efforts }),
    ...(row.version !== undefined && { tool_search: row.noBetas !== true, context_editing: row.noBetas !== true }),
  }
}
