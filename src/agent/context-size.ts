import { estimateTokenCount } from 'tokenx'
import type { TurnItem, TurnPart } from '../translate/turn.ts'

/** The most that an image costs. Source: Anthropic documentation, vision, 2026-11: (width × height) / 750, up to 1.15 MP. */
const tokensPerImage = 1600

/** Roles and separators, in every format. */
const tokensPerItem = 4

/** Assumed of a model that states no limit. Tokens. */
const unknownContext = 32_000

/** The share of a model's context that a request may take: the answer and the error of the estimate need the rest. */
const promptShare = 0.75

/** The share of a prompt that stays word for word when the older part is shortened. */
const keptShare = 0.3

/** The items do not change, and a run estimates them before each request. */
const known = new WeakMap<TurnItem, number>()

/** An estimate, as `count_tokens` makes it for models that cannot count. */
export function estimateItems(items: readonly TurnItem[]): number {
  return items.reduce((sum, item) => {
    const tokens = known.get(item) ?? estimateItem(item)
    known.set(item, tokens)
    return sum + tokens
  }, 0)
}

/** Tokens that the items of a request may have. */
export function promptBudget(contextTokens: number | undefined): number {
  return Math.floor((contextTokens ?? unknownContext) * promptShare)
}

function estimateItem(item: TurnItem): number {
  switch (item.type) {
    case 'message':
      return tokensPerItem + estimateParts(item.parts)
    case 'tool_result':
      return (
        tokensPerItem +
        (typeof item.content === 'string' ? estimateTokenCount(item.content) : estimateParts(item.content))
      )
    case 'tool_call':
      return tokensPerItem + estimateTokenCount(item.name) + estimateTokenCount(item.arguments)
    case 'reasoning':
    case 'compaction':
      return tokensPerItem + estimateTokenCount(item.text)
    case 'web_search':
      return tokensPerItem
  }
}

function estimateParts(parts: readonly TurnPart[]): number {
  return parts.reduce((sum, part) => {
    if (part.type === 'text' || part.type === 'refusal') return sum + estimateTokenCount(part.text)
    return sum + tokensPerImage
  }, 0)
}

/**
 * Where a conversation that is too long is cut: items from this index on stay as they are. Never between a call and its
 * result, nor within an answer.
 */
export function cutAt(items: readonly TurnItem[], budget: number): number {
  const keep = budget * keptShare
  let at = items.length
  let kept = 0
  while (at > 0) {
    const item = items[at - 1]
    if (item === undefined) break
    kept += estimateItems([item])
    if (kept > keep) break
    at -= 1
  }
  while (at < items.length && !isStart(items, at)) at += 1
  return at
}

/** Whether a message of the user or an answer of the model begins here. */
function isStart(items: readonly TurnItem[], at: number): boolean {
  const item = items[at]
  if (item === undefined || item.type === 'tool_result') return false
  if (!isOfModel(item)) return true
  const before = items[at - 1]
  return before === undefined || !isOfModel(before)
}

function isOfModel(item: TurnItem): boolean {
  return (
    item.type === 'tool_call' || item.type === 'reasoning' || (item.type === 'message' && item.role === 'assistant')
  )
}
