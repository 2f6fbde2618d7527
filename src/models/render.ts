import type { ProviderId } from '../executors/executor.ts'
import { longContextOf, type ListedModel } from './catalogue.ts'
import { dialectRoutes, type DialectRoutes, type EndpointAsk } from './endpoints.ts'
import type { ModelNotice, ModelPrices, TierPrices } from './model.ts'

/** `owned_by` of models whose vendor upstream does not state. */
const ownerOf = { copilot: 'github-copilot', codex: 'openai' } as const satisfies Record<ProviderId, string>

/**
 * One model as `GET /v1/models/{id}` and the list show it. The first four fields are OpenAI's; everything else is ours,
 * under one key of our own, so that it cannot collide with a field OpenAI adds.
 */
export interface RenderedModel {
  readonly id: string
  readonly object: 'model'
  /** Seconds since epoch; 0 where upstream states none, because strict clients require an integer. */
  readonly created: number
  readonly owned_by: string
  readonly copilot_proxy: {
    readonly provider: ProviderId
    readonly name: string
    readonly type: string
    readonly family: string
    readonly preview: boolean
    /** Any word but `enabled` closes the model to the account; null: nothing gates it. */
    readonly policy: string | null
    /** `seed` until the account's own list has been fetched. */
    readonly source: 'seed' | 'live'
    readonly endpoints: readonly string[]
    /** For a caller of each dialect, the upstream dialect that serves it; another one means translation. */
    readonly routes: DialectRoutes
    /** Tokens, as the other `max_…tokens`; null: not stated by upstream. */
    readonly context_window: number | null
    readonly max_prompt_tokens: number | null
    readonly max_output_tokens: number | null
    /** Which of its two tiers the limits are of; null: it has one only. */
    readonly context_tier: 'default' | 'long' | null
    /** The other name of the model, and the limits it stands for; null: it has one tier, or this is the long one. */
    readonly long_context: {
      readonly id: string
      readonly context_window: number | null
      readonly max_prompt_tokens: number | null
    } | null
    /** null: not stated by upstream. */
    readonly prices: RenderedPrices | null
    /** Premium requests that one request counts as; null: not stated by upstream. */
    readonly premium_multiplier: number | null
    /** Upstream's notices on the model, warnings first. */
    readonly notices: readonly { readonly level: string; readonly code: string | null; readonly message: string }[]
    /** Texts per embeddings request upstream; longer requests are split. */
    readonly max_inputs: number | null
    /** null: not stated by upstream. */
    readonly capabilities: {
      readonly tool_calls: boolean | null
      readonly parallel_tool_calls: boolean | null
      readonly vision: boolean | null
      readonly structured_outputs: boolean | null
      readonly reasoning_effort: readonly string[] | null
    }
  }
}

/** Whatever the batch that upstream states them for. */
interface RenderedPrices {
  /** A credit is US$0.01. */
  readonly unit: 'credits per million tokens'
  readonly default: RenderedTier
  /** For prompts longer than `context_max` of the default tier. */
  readonly long_context: RenderedTier | null
}

/** null: not stated by upstream. */
interface RenderedTier {
  readonly input: number | null
  readonly output: number | null
  readonly cache_read: number | null
  readonly cache_write: number | null
  /** Tokens of a prompt: where the tier ends. */
  readonly context_max: number | null
}

/**
 * One row stands for both tiers: upstream prices a prompt by its length, whatever the model was called, so a second row
 * would offer every picker the same model twice. Clients that go by a window find it in `long_context`.
 * @param setting `copilot.upstream-dialect`
 */
export function renderModel(entry: ListedModel, setting: EndpointAsk['setting']): RenderedModel {
  const { id, model, isLongContext } = entry
  const { supports } = model
  const long = longContextOf(entry)
  return {
    id,
    object: 'model',
    created: model.createdSeconds ?? 0,
    owned_by: model.vendor ?? ownerOf[model.provider],
    copilot_proxy: {
      provider: model.provider,
      name: model.name,
      type: model.type,
      family: model.family,
      preview: model.preview,
      policy: model.policy ?? null,
      source: model.source,
      endpoints: model.endpoints,
      routes: dialectRoutes(model, setting),
      ...limitsOf(entry),
      max_output_tokens: model.maxOutputTokens ?? null,
      context_tier: isLongContext === true ? 'long' : long === undefined ? null : 'default',
      long_context: long === undefined ? null : { id: long.id, ...limitsOf(long) },
      prices: model.prices === undefined ? null : renderPrices(model.prices),
      premium_multiplier: model.premiumMultiplier ?? null,
      notices: (model.notices ?? []).map(renderNotice),
      max_inputs: model.maxInputs ?? null,
      capabilities: {
        tool_calls: supports.toolCalls ?? null,
        parallel_tool_calls: supports.parallelToolCalls ?? null,
        vision: supports.vision ?? null,
        structured_outputs: supports.structuredOutputs ?? null,
        reasoning_effort: supports.reasoningEffort ?? null,
      },
    },
  }
}

function limitsOf({ model }: ListedModel) {
  return { context_window: model.contextWindow ?? null, max_prompt_tokens: model.maxPromptTokens ?? null }
}

function renderPrices({ default: normal, longContext }: ModelPrices): RenderedPrices {
  return {
    unit: 'credits per million tokens',
    default: renderTier(normal),
    long_context: longContext === undefined ? null : renderTier(longContext),
  }
}

function renderTier({ input, output, cacheRead, cacheWrite, contextMax }: TierPrices): RenderedTier {
  return {
    input: input ?? null,
    output: output ?? null,
    cache_read: cacheRead ?? null,
    cache_write: cacheWrite ?? null,
    context_max: contextMax ?? null,
  }
}

function renderNotice({ level, code, message }: ModelNotice) {
  return { level, code: code ?? null, message }
}

/** OpenAI's model list. */
export function renderModelList(
  models: readonly ListedModel[],
  setting: EndpointAsk['setting'],
): { readonly object: 'list'; readonly data: readonly RenderedModel[] } {
  return { object: 'list', data: models.map((entry) => renderModel(entry, setting)) }
}
