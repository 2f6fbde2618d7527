import type { ModelList, ModelRow, TierPrices as PriceRow } from '../api/models.ts'
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

/** @param setting `copilot.upstream-dialect` */
export function renderModel(entry: ListedModel, setting: EndpointAsk['setting']): ModelRow {
  const { id, model, isLongContext } = entry
  const { supports } = model
  const long = longContextOf(entry)
  return {
    id,
    object: 'model',
    created: model.createdSeconds ?? 0,
    owned_by: model.vendor ?? ownerOf[model.provider],
    copilot_proxy: {
      alias_of: entry.aliasOf ?? null,
      fallbacks: entry.fallbacks ?? [],
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

function renderPrices({ default: normal, longContext }: ModelPrices) {
  return {
    unit: 'credits per million tokens' as const,
    default: renderTier(normal),
    long_context: longContext === undefined ? null : renderTier(longContext),
  }
}

function renderTier({ input, output, cacheRead, cacheWrite, cacheWrite1h, contextMax }: TierPrices): PriceRow {
  return {
    input: input ?? null,
    output: output ?? null,
    cache_read: cacheRead ?? null,
    cache_write: cacheWrite ?? null,
    cache_write_1h: cacheWrite1h ?? null,
    context_max: contextMax ?? null,
  }
}

function renderNotice({ level, code, message }: ModelNotice) {
  return { level, code: code ?? null, message }
}

/**
 * OpenAI's model list.
 * @param disabled listed separately, because clients assume that every model in `data` answers
 */
export function renderModelList(
  models: readonly ListedModel[],
  setting: EndpointAsk['setting'],
  disabled?: readonly ListedModel[],
): ModelList {
  const render = (entry: ListedModel): ModelRow => renderModel(entry, setting)
  return { object: 'list', data: models.map(render), ...(disabled && { disabled: disabled.map(render) }) }
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
