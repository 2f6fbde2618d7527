import type { Turn, TurnItem, TurnPart } from '../../turn.ts'
import type { MediaPart } from './media-parts.ts'

type TurnMedia<Wanted extends TurnPart['type']> = MediaPart<Extract<TurnPart, { readonly type: Wanted }>>

/** The images or files of a Turn. Their paths are those of their items. */
export function mediaOfTurn<Wanted extends 'image' | 'file'>({ items }: Turn, wanted: Wanted): TurnMedia<Wanted>[] {
  const start = startOfNew(items)
  const prompt = items.findLastIndex((item) => item.type === 'message' && item.role === 'user')
  return items.flatMap((item, at) => {
    const isNew = at >= start
    return partsOf(item)
      .filter((part): part is TurnMedia<Wanted>['part'] => part.type === wanted)
      .map((part) => ({ path: item.path, part, isNew, isOfPrompt: isNew && at === prompt }))
  })
}

/** Replaces parts with a text that keeps their cache marks. */
export function replaceInTurn(turn: Turn, removed: ReadonlySet<TurnPart>, text: string): Turn {
  if (removed.size === 0) return turn
  const fit = (part: TurnPart): TurnPart =>
    removed.has(part) ? { type: 'text', text, cache: 'cache' in part ? part.cache : undefined } : part
  const fitItem = (item: TurnItem): TurnItem => {
    if (item.type === 'message') return { ...item, parts: item.parts.map(fit) }
    if (item.type !== 'tool_result' || typeof item.content === 'string') return item
    return { ...item, content: item.content.map(fit) }
  }
  return { ...turn, items: turn.items.map(fitItem) }
}

export function partsOf(item: TurnItem): readonly TurnPart[] {
  if (item.type === 'message') return item.parts
  return item.type === 'tool_result' && typeof item.content !== 'string' ? item.content : []
}

/** Index after the model's last output. A trailing prefill, which the model is to continue, does not count. */
function startOfNew(items: readonly TurnItem[]): number {
  const end = items.findLastIndex((item) => !isFromModel(item))
  return items.findLastIndex((item, at) => at < end && isFromModel(item)) + 1
}

function isFromModel(item: TurnItem): boolean {
  return item.type === 'message' ? item.role === 'assistant' : item.type !== 'tool_result'
}
