import { CATALOGUE } from './catalogue.ts'
import type { CataloguePrice, CatalogueRow, ProfileId } from './catalogue.ts'
import { pricesOf } from './usage.ts'
import type { DemoPrices } from './usage.ts'

const CHAT = '/chat/completions'

const HARD_TOOL_LIMIT = 128

/** Versions of the API from which on `GET /models` differs (docs/copilot-wire.md, "Context tiers and prices"). */
const TIERS_SINCE = '2026-06-01'
const CACHE_READ_SINCE = '2026-08-01'
const AUTO_SINCE = '2026-08-01'

/** Largest image of every model with vision. Bytes. */
export const LARGEST_IMAGE = 3_145_728

/** A model of the catalogue with what the request checks need. */
export interface DemoModel {
  readonly id: string
  readonly type: 'chat' | 'embeddings' | 'completion'
  readonly profile: ProfileId
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
  /** Tool search and context editing, each under its beta. */
  readonly takesBetas: boolean
  /** See `CatalogueRow`. */
  readonly isOlder: boolean
  /** Takes `prompt_cache_breakpoint` and `prompt_cache_options` on /responses. */
  readonly takesBreakpoints: boolean
  readonly isBench: boolean
  /** Undefined: replies state no credits. */
  readonly prices: DemoPrices | undefined
  /** Its element of `GET /models`, as clients of this version of the API get it. */
  readonly entry: (version: string) => Readonly<Record<string, unknown>>
}

/** The models that may be chosen for `auto`, and how much cheaper they are then. */
export const AUTO_POOL: readonly string[] = ['gpt-5-mini', 'claude-sonnet-5', 'gpt-5.4', 'claude-haiku-4.5']
export const AUTO_DISCOUNT = 0.1

/** Real lists have rows that lack almost everything; each must be judged alone. */
const SPARSE_ENTRY = { id: 'mai-code-1-flash' }

const MODELS: readonly DemoModel[] = [...CATALOGUE.map((row) => toModel(row)), sparseModel()]

/** Clients of older versions of the API get no more than the default tier. */
const OLD_MODELS: readonly DemoModel[] = [...CATALOGUE.map((row) => toModel(withoutLongTier(row))), sparseModel()]

/** What came out after the newer API versions, which alone list it. */
const NEWER = new Set(['claude-sonnet-5', 'claude-opus-4.8'])

/** The body of `GET /models`. @param version `x-github-api-version` */
export function modelList(version: string): string {
  const listed = modelsOf(version).filter(({ id }) => version >= TIERS_SINCE || !NEWER.has(id))
  return JSON.stringify({ object: 'list', data: listed.map((model) => model.entry(version)) })
}

/** The body of `GET /models` in the newest version. */
export const MODEL_LIST = modelList(CACHE_READ_SINCE)

/** The model with this id; the first where the list has it twice. @param version `x-github-api-version` */
export function findModel(id: string, version = CACHE_READ_SINCE): DemoModel | undefined {
  return modelsOf(version).find((model) => model.id === id)
}

/** Versions are dates, so they compare as text. */
function modelsOf(version: string): readonly DemoModel[] {
  return version >= TIERS_SINCE ? MODELS : OLD_MODELS
}

function withoutLongTier({ long, ...row }: CatalogueRow): CatalogueRow {
  if (long === undefined) return row
  return { ...row, prompt: long.defaultPrompt, context: Math.min(row.context, long.defaultPrompt + row.output) }
}

function sparseModel(): DemoModel {
  return {
    id: SPARSE_ENTRY.id,
    type: 'chat',
    profile: 'gpt-5',
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
    takesBetas: false,
    isOlder: false,
    takesBreakpoints: false,
    isBench: false,
    prices: undefined,
    entry: () => SPARSE_ENTRY,
  }
}

function toModel(row: CatalogueRow): DemoModel {
  return {
    id: row.id,
    type: row.type ?? 'chat',
    profile: row.profile,
    endpoints: row.endpoints ?? [CHAT],
    isEnabled: row.policy === undefined || row.policy === 'enabled',
    contextTokens: row.context * 1000,
    maxPromptTokens: row.prompt * 1000,
    maxOutputTokens: row.output * 1000,
    efforts: row.efforts ?? [],
    takesBudget: row.thinkingBudget !== undefined,
    takesAdaptive: row.adaptive === true,
    version: row.version ?? 0,
    takesOutputConfig: row.noOutputConfig !== true,
    mostTools: supportsOf(row)['tool_search'] === true ? Infinity : HARD_TOOL_LIMIT,
    takesBetas: row.noBetas !== true,
    isOlder: row.older === true,
    takesBreakpoints: row.breakpoints === true,
    isBench: row.bench === true,
    prices: pricesOf(row),
    entry: (version) => toEntry(row, version),
  }
}

function toEntry(row: CatalogueRow, version: string): Record<string, unknown> {
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
      billing: {
        is_premium: row.multiplier > 0,
        multiplier: row.multiplier,
        ...(AUTO_POOL.includes(row.id) && version >= AUTO_SINCE && { auto_discount: AUTO_DISCOUNT }),
        ...tokenPrices(row, version),
      },
    }),
    ...noticesOf(row),
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

function tokenPrices(row: CatalogueRow, version: string): Record<string, unknown> {
  const { price, long, priceBatch: batch = 1_000_000 } = row
  if (price === undefined) return {}
  const tier = (of: CataloguePrice, contextMax: number | undefined) => ({
    input_price: (of.input * batch) / 1_000_000,
    output_price: (of.output * batch) / 1_000_000,
    [version >= CACHE_READ_SINCE ? 'cache_read_price' : 'cache_price']: (of.cacheRead * batch) / 1_000_000,
    ...(of.cacheWrite !== undefined && { cache_write_price: (of.cacheWrite * batch) / 1_000_000 }),
    ...(contextMax !== undefined && { context_max: contextMax * 1000 }),
  })
  return {
    token_prices: {
      batch_size: batch,
      default: tier(price, long?.defaultPrompt),
      ...(long !== undefined && { long_context: tier(long.price, row.prompt) }),
    },
  }
}

function noticesOf({ notices = [] }: CatalogueRow): Record<string, unknown> {
  const of = (wanted: string) =>
    notices.flatMap(({ level, code, message }) => (level === wanted ? [{ code, message }] : []))
  return {
    ...(of('info').length > 0 && { info_messages: of('info') }),
    ...(of('warning').length > 0 && { warning_messages: of('warning') }),
  }
}

function limitsOf(row: CatalogueRow): Record<string, unknown> {
  return {
    max_context_window_tokens: row.context * 1000,
    max_prompt_tokens: row.prompt * 1000,
    max_output_tokens: row.output * 1000,
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
