import { parseModelList } from './wire.ts'
import type { CopilotModelEntry } from './wire.ts'
import type { ContextLimits, ImageLimits } from '../translate/model-traits.ts'
import {
  chatEndpoint,
  completionsEndpoint,
  embeddingsEndpoint,
  imageEditsEndpoint,
  imagesEndpoint,
} from './endpoints.ts'
import type { Model, ModelListing, ModelNotice, ModelPrices, ModelType, TierPrices } from './model.ts'

/** Reads Copilot's `GET /models`. Undefined if it is no model list. */
export function parseCopilotModels(reply: unknown): ModelListing | undefined {
  const list = parseModelList(reply)
  return list && { models: list.entries.map(toCopilotModel), leftOut: list.leftOut }
}

export function toCopilotModel(entry: CopilotModelEntry): Model {
  const capabilities = entry.capabilities ?? {}
  const limits = capabilities.limits ?? {}
  const supports = capabilities.supports ?? {}
  const type = toModelType(capabilities.type ?? undefined, entry.id, entry.supported_endpoints ?? [])
  const prices = toPrices(entry)
  return {
    provider: 'copilot',
    id: entry.id,
    name: entry.name ?? entry.id,
    type,
    family: capabilities.family ?? entry.id,
    vendor: entry.vendor ?? undefined,
    ...toContextLimits(limits, prices),
    maxOutputTokens: limits.max_output_tokens ?? undefined,
    maxInputs: limits.max_inputs ?? undefined,
    endpoints: toEndpoints(type, entry.supported_endpoints ?? []),
    version: entry.version ?? undefined,
    // A policy without a state does not open the model.
    policy: entry.policy ? (entry.policy.state ?? 'unconfigured') : undefined,
    prices,
    premiumMultiplier: entry.billing?.multiplier ?? undefined,
    notices: toNotices(entry),
    imageLimits: toImageLimits(limits.vision),
    autoDiscount: entry.billing?.auto_discount ?? undefined,
    isChatDefault: entry.is_chat_default ?? undefined,
    preview: entry.preview ?? false,
    pickerEnabled: entry.model_picker_enabled ?? true,
    createdSeconds: entry.created ?? undefined,
    source: 'live',
    supports: {
      toolCalls: supports.tool_calls ?? undefined,
      parallelToolCalls: supports.parallel_tool_calls ?? undefined,
      vision: supports.vision ?? undefined,
      structuredOutputs: supports.structured_outputs ?? undefined,
      prediction: supports.prediction ?? undefined,
      adaptiveThinking: supports.adaptive_thinking ?? undefined,
      minThinkingBudget: supports.min_thinking_budget ?? undefined,
      maxThinkingBudget: supports.max_thinking_budget ?? undefined,
      // Treat an empty list as absent.
      reasoningEffort: supports.reasoning_effort?.length ? supports.reasoning_effort : undefined,
      toolSearch: supports.tool_search ?? undefined,
      contextEditing: supports.context_editing ?? undefined,
    },
  }
}

type LimitsEntry = NonNullable<NonNullable<CopilotModelEntry['capabilities']>['limits']>

/**
 * With two price tiers, upstream states the limits of the long one. A client that saw them would compact late and pay the
 * long tier's prices unasked, so each tier ends where its prices do.
 */
function toContextLimits(
  { max_context_window_tokens: stated, max_prompt_tokens: prompt, max_output_tokens: output }: Partial<LimitsEntry>,
  prices: ModelPrices | undefined,
): ContextLimits & { readonly longContext?: ContextLimits } {
  const window = stated ?? (prompt && output ? prompt + output : undefined)
  const upTo = (tierEnd: number | undefined): ContextLimits => ({
    contextWindow: least(window, tierEnd),
    maxPromptTokens: least(prompt, tierEnd),
  })
  const defaultEnd = prices?.default.contextMax
  if (prices?.longContext === undefined || defaultEnd === undefined) return upTo(undefined)
  const longContext = upTo(prices.longContext.contextMax)
  // Older API versions can state the long tier's prices and enforce the default tier's limits.
  const longEnd = longContext.maxPromptTokens ?? longContext.contextWindow
  return { ...upTo(defaultEnd), ...(longEnd !== undefined && longEnd > defaultEnd && { longContext }) }
}

function least(stated: number | null | undefined, tierEnd: number | undefined): number | undefined {
  if (tierEnd === undefined) return stated ?? undefined
  return Math.min(stated ?? tierEnd, tierEnd)
}

function toPrices({ billing }: CopilotModelEntry): ModelPrices | undefined {
  const { batch_size: batch, default: normal, long_context: long } = billing?.token_prices ?? {}
  if (!normal) return undefined
  const perMillion = 1_000_000 / (batch ?? 1_000_000)
  return { default: toTier(normal, perMillion), longContext: long ? toTier(long, perMillion) : undefined }
}

type TierEntry = NonNullable<NonNullable<NonNullable<CopilotModelEntry['billing']>['token_prices']>['default']>

function toTier(tier: TierEntry, perMillion: number): TierPrices {
  const scaled = (price: number | null | undefined) => (typeof price === 'number' ? price * perMillion : undefined)
  return {
    input: scaled(tier.input_price),
    output: scaled(tier.output_price),
    cacheRead: scaled(tier.cache_read_price ?? tier.cache_price),
    cacheWrite: scaled(tier.cache_write_price),
    cacheWrite1h: scaled(tier.cache_write_1h),
    contextMax: tier.max_prompt_tokens ?? tier.context_max ?? undefined,
  }
}

function toNotices({ info_messages: infos, warning_messages: warnings, warning_message: warning }: CopilotModelEntry) {
  const noticesOf = (level: ModelNotice['level'], entries: typeof infos): readonly ModelNotice[] =>
    (entries ?? []).flatMap((entry) =>
      entry?.message ? [{ level, code: entry.code ?? undefined, message: entry.message }] : [],
    )
  const all = [...noticesOf('warning', [...(warnings ?? []), { message: warning }]), ...noticesOf('info', infos)]
  return all.length > 0 ? all : undefined
}

function toImageLimits(vision: LimitsEntry['vision']): ImageLimits | undefined {
  if (!vision) return undefined
  return {
    maxImages: vision.max_prompt_images ?? undefined,
    maxImageBytes: vision.max_prompt_image_size ?? undefined,
    mediaTypes: vision.supported_media_types ?? undefined,
  }
}

const imagePaths: ReadonlySet<string> = new Set([imagesEndpoint, imageEditsEndpoint])

/**
 * An entry without a type is a chat model, unless its id contains `embedding`, which is a guess. The type of a model that only
 * makes images has not been captured: its paths say it.
 */
function toModelType(stated: string | undefined, id: string, paths: readonly string[]): ModelType {
  if (paths.length > 0 && paths.every((path) => imagePaths.has(path))) return 'other'
  switch (stated) {
    case 'chat':
    case 'embeddings':
    case 'completion':
      return stated
    case undefined:
      return id.includes('embedding') ? 'embeddings' : 'chat'
    default:
      return 'other'
  }
}

/**
 * Upstream's `supported_endpoints` never names `/embeddings`, and is absent for older chat models. An empty list means chat
 * too: if that is wrong, upstream answers a clear 400; the opposite guess would make a working model unreachable.
 */
function toEndpoints(type: ModelType, stated: readonly string[]): readonly string[] {
  if (type === 'embeddings') return [embeddingsEndpoint]
  if (type === 'completion') return [completionsEndpoint]
  if (type === 'chat' && stated.length === 0) return [chatEndpoint]
  return stated
}
