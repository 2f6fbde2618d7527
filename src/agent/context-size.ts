import { estimateTokenCount } from 'tokenx'
import type { TurnItem, TurnPart } from '../translate/turn.ts'

/** Upper limit of an image's tokens. Source: Anthropic documentation, vision, 2026-11: (width × height) / 750, up to 1.15 MP. */
const tokensPerImage = 1600

/** Estimate for the role and separators of an item. */
const tokensPerItem = 4

/** Assumed context of a model that states none. Tokens. */
const unknownContext = 32_000

/** The share of a model's context that a request may take: the answer and the error of the estimate need the rest. */
const promptShare = 0.75

/** The share of the budget that the newest items keep when the older items are shortened. */
const keptShare = 0.3

/** For longer texts, only samples are estimated: the estimate processes about 10 characters per µs. Characters. */
const wholeText = 32 * 1024
const pieces = 4
const pieceLength = wholeText / pieces

/** Estimated tokens after which the event loop gets a turn. */
const estimatedAtOnce = 8000

/** Caches estimates: items are immutable, and a run estimates them before each request. */
const known = new WeakMap<TurnItem, number>()

/** Estimates tokens like `count_tokens` does for models that cannot count. */
export function estimateItems(items: readonly TurnItem[]): number {
  return items.reduce((sum, item) => {
    const tokens = known.get(item) ?? estimateItem(item)
    known.set(item, tokens)
    return sum + tokens
  }, 0)
}

/**
 * Returns the newest items with at most about `mostTokens` tokens. Estimating blocks the event loop, so it pauses regularly;
 * later calls of `estimateItems` find these estimates in the cache.
 */
export async function newestItems(items: readonly TurnItem[], mostTokens: number): Promise<readonly TurnItem[]> {
  let tokens = 0
  let tokensAtOnce = 0
  for (let at = items.length; at > 0; at -= 1) {
    const added = estimateItems(items.slice(at - 1, at))
    tokens += added
    if (tokens > mostTokens) return items.slice(startFrom(items, at))
    tokensAtOnce += added
    if (tokensAtOnce < estimatedAtOnce) continue
    tokensAtOnce = 0
    await new Promise(setImmediate)
  }
  return items
}

/** Tokens that the items of a request may have. */
export function promptBudget(contextTokens: number | undefined): number {
  return Math.floor((contextTokens ?? unknownContext) * promptShare)
}

/** Counts what a request no longer has. */
export function measure(items: readonly TurnItem[]): { messages: number; calls: number; tokens: number } {
  return {
    messages: items.filter(({ type }) => type === 'message').length,
    calls: items.filter(({ type }) => type === 'tool_call').length,
    tokens: estimateItems(items),
  }
}

function estimateItem(item: TurnItem): number {
  switch (item.type) {
    case 'message':
      return tokensPerItem + estimateParts(item.parts)
    case 'tool_result':
      return (
        tokensPerItem + (typeof item.content === 'string' ? estimateText(item.content) : estimateParts(item.content))
      )
    case 'tool_call':
      return tokensPerItem + estimateText(item.name) + estimateText(item.arguments)
    case 'reasoning':
    case 'compaction':
      return tokensPerItem + estimateText(item.text)
    case 'web_search':
      return tokensPerItem
  }
}

function estimateText(text: string): number {
  if (text.length <= wholeText) return estimateTokenCount(text)
  const apart = (text.length - pieceLength) / (pieces - 1)
  let tokens = 0
  for (let piece = 0; piece < pieces; piece += 1) {
    const from = Math.floor(piece * apart)
    tokens += estimateTokenCount(text.slice(from, from + pieceLength))
  }
  return Math.ceil((tokens * text.length) / wholeText)
}

function estimateParts(parts: readonly TurnPart[]): number {
  return parts.reduce((sum, part) => {
    if (part.type === 'text' || part.type === 'refusal') return sum + estimateText(part.text)
    return sum + tokensPerImage
  }, 0)
}

/**
 * Returns the index where a conversation that is too long is cut: items from there on stay unchanged. Never cuts between a
 * call and its result, nor within an answer.
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
  return startFrom(items, at)
}

function startFrom(items: readonly TurnItem[], from: number): number {
  let at = from
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
