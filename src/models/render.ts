import type { ProviderId } from '../executors/executor.ts'
import { longContextOf, withLongContext } from './catalogue.ts'
import type { ListedModel } from './catalogue.ts'
import { dialectRoutes } from './endpoints.ts'
import type { EndpointAsk } from './endpoints.ts'
import type { ModelNotice, ModelPrices, TierPrices } from './model.ts'

/*
 * Models as the three kinds of clients list them. Null: upstream does not state it.
 */

/** `owned_by` of models whose vendor upstream does not state. */
const ownerOf = { copilot: 'github-copilot', codex: 'openai' } as const satisfies Record<ProviderId, string>

/**
 * One model as `GET /v1/models/{id}` and OpenAI's list show it. One row represents both context tiers: upstream prices a
 * prompt by its length, whatever its model was called, so that a second row would offer the same model twice.
 * @param setting `copilot.upstream-dialect`
 */
export function renderModel(entry: ListedModel, setting: EndpointAsk['setting']) {
  const { id, model, isLongContext } = entry
  const { supports } = model
  const long = longContextOf(entry)
  return {
    id,
    object: 'model' as const,
    /** Seconds since epoch. Strict clients require an integer, even if upstream states none. */
    created: model.createdSeconds ?? 0,
    owned_by: model.vendor ?? ownerOf[model.provider],
    /** Our own fields, under one key that OpenAI will not use. */
    copilot_proxy: {
      /**
       * Set for an alias of the user's: its first model, and the fallbacks that are asked in turn if that model fails.
       */
      alias_of: entry.aliasOf ?? null,
      fallbacks: entry.fallbacks ?? [],
      provider: model.provider,
      name: model.name,
      type: model.type,
      family: model.family,
      preview: model.preview,
      /** Any value but `enabled` closes the model to the account; null: nothing gates it. */
      policy: model.policy ?? null,
      /** `seed` until the account's own list has been fetched. */
      source: model.source,
      endpoints: model.endpoints,
      /** By caller dialect, the upstream dialect that serves it. */
      routes: dialectRoutes(model, setting),
      ...limitsOf(entry),
      max_output_tokens: model.maxOutputTokens ?? null,
      /** The tier of these limits; null: the model has one tier. */
      context_tier: isLongContext === true ? ('long' as const) : long === undefined ? null : ('default' as const),
      /** The name that asks for the long tier, and its limits; null: there is one tier, or this is the long one. */
      long_context: long === undefined ? null : { id: long.id, ...limitsOf(long) },
      prices: model.prices === undefined ? null : renderPrices(model.prices),
      /** Premium requests that one request counts as. */
      premium_multiplier: model.premiumMultiplier ?? null,
      /** Warnings first. */
      notices: (model.notices ?? []).map(renderNotice),
      /** Texts per upstream request for embeddings; longer requests are split. */
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

/** Tokens. */
function limitsOf({ model }: ListedModel) {
  return { context_window: model.contextWindow ?? null, max_prompt_tokens: model.maxPromptTokens ?? null }
}

/** A credit is US$0.01. */
function renderPrices({ default: normal, longContext }: ModelPrices) {
  return {
    unit: 'credits per million tokens' as const,
    default: renderTier(normal),
    /** For prompts longer than `context_max` of the default tier. */
    long_context: longContext === undefined ? null : renderTier(longContext),
  }
}

function renderTier({ input, output, cacheRead, cacheWrite, cacheWrite1h, contextMax }: TierPrices) {
  return {
    input: input ?? null,
    output: output ?? null,
    cache_read: cacheRead ?? null,
    cache_write: cacheWrite ?? null,
    cache_write_1h: cacheWrite1h ?? null,
    /** The longest prompt of the tier. Tokens. */
    context_max: contextMax ?? null,
  }
}

function renderNotice({ level, code, message }: ModelNotice) {
  return { level, code: code ?? null, message }
}

/** OpenAI's model list. */
export function renderModelList(models: readonly ListedModel[], setting: EndpointAsk['setting']) {
  return { object: 'list' as const, data: models.map((entry) => renderModel(entry, setting)) }
}

/** One model in the Messages API. Source: Anthropic API reference, models, 2026-11. */
export function renderAnthropicModel({ id: ownId, model, aliasOf }: ListedModel, id = ownId) {
  return {
    ...(aliasOf !== undefined && { alias_of: aliasOf }),
    type: 'model' as const,
    id,
    display_name: model.name,
    /** RFC 3339. Clients parse it, so a model without a time gets the epoch. */
    created_at: new Date((model.createdSeconds ?? 0) * 1000).toISOString().replace('.000Z', 'Z'),
    max_input_tokens: model.maxPromptTokens ?? model.contextWindow ?? null,
    max_tokens: model.maxOutputTokens ?? null,
  }
}

/**
 * Claude Code offers a model only if its id matches this. Its own requests name the id as it is here, and the prefix means
 * nothing there (`nameForms`).
 * Source: Claude Code 2.1.329 as it behaves.
 */
export function nameForClaudeCode(id: string): string {
  return /claude|anthropic/i.test(id) ? id : `anthropic/${id}`
}

/** As in the query: a page of `limit` models after or before the named one. */
export interface ModelPage {
  readonly limit: number
  readonly afterId?: string | undefined
  readonly beforeId?: string | undefined
}

/**
 * Chat models in the Messages API. A long context tier is a row of its own: Anthropic's clients budget by
 * `max_input_tokens` and know the mark `[1m]`.
 */
export function renderAnthropicList(
  models: readonly ListedModel[],
  { limit, afterId, beforeId }: ModelPage,
  nameOf: (id: string) => string = (id) => id,
) {
  const chat = withLongContext(models.filter(({ model }) => model.type === 'chat'))
  const ids = chat.map(({ id }) => nameOf(id))
  const after = afterId === undefined ? -1 : ids.indexOf(afterId)
  const before = beforeId === undefined ? -1 : ids.indexOf(beforeId)
  const range = chat.slice(after + 1, before === -1 ? chat.length : before)
  const shown = beforeId === undefined ? range.slice(0, limit) : range.slice(-limit)
  const data = shown.map((entry) => renderAnthropicModel(entry, nameOf(entry.id)))
  return {
    data,
    has_more: shown.length < range.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}
