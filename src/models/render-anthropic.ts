import { withLongContext, type ListedModel } from './catalogue.ts'

/**
 * One model as the Messages API lists it. Limits are null where upstream states none.
 * Source: Anthropic API reference, models, 2026-11.
 */
export interface AnthropicModel {
  readonly type: 'model'
  readonly id: string
  readonly display_name: string
  /** RFC 3339; the epoch where upstream states none, because clients parse it. */
  readonly created_at: string
  readonly max_input_tokens: number | null
  readonly max_tokens: number | null
}

export interface AnthropicModelList {
  readonly data: readonly AnthropicModel[]
  readonly has_more: boolean
  readonly first_id: string | null
  readonly last_id: string | null
}

/** As in the query: a page of `limit` models after or before the one named. */
export interface ModelPage {
  readonly limit: number
  readonly afterId?: string | undefined
  readonly beforeId?: string | undefined
}

export function renderAnthropicModel({ id, model }: ListedModel): AnthropicModel {
  return {
    type: 'model',
    id,
    display_name: model.name,
    created_at: new Date((model.createdSeconds ?? 0) * 1000).toISOString().replace('.000Z', 'Z'),
    max_input_tokens: model.maxPromptTokens ?? model.contextWindow ?? null,
    max_tokens: model.maxOutputTokens ?? null,
  }
}

/**
 * Models that chat: nothing else can be named to the Messages API. A long context tier is a row of its own, because
 * clients of Anthropic's budget by `max_input_tokens` and know the mark `[1m]`.
 */
export function renderAnthropicList(models: readonly ListedModel[], page: ModelPage): AnthropicModelList {
  const chat = withLongContext(models.filter(({ model }) => model.type === 'chat'))
  const { limit, afterId, beforeId } = page
  const after = afterId === undefined ? -1 : chat.findIndex(({ id }) => id === afterId)
  const before = beforeId === undefined ? chat.length : chat.findIndex(({ id }) => id === beforeId)
  const range = chat.slice(after + 1, before === -1 ? chat.length : before)
  const shown = beforeId === undefined ? range.slice(0, limit) : range.slice(-limit)
  const data = shown.map(renderAnthropicModel)
  return {
    data,
    has_more: shown.length < range.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}
