import { isFilled, isObject } from '../../parts/wire-json.ts'
import type { WireChunk } from '../wire-chunk.ts'

/**
 * The items of a response as its events tell them, by `output_index`: their ids change from event to event
 * (docs/copilot-wire.md, "Chat stream"). The final event normally repeats them; where its `output` is empty, this is
 * the answer.
 */
export type ResponseDraft = Map<number, DraftItem>

interface DraftItem {
  type: string
  /** As in `output_item.added`, then as in `output_item.done`. */
  item: Readonly<Record<string, unknown>>
  isDone: boolean
  /** Texts by the key they have in an item. A part after the first follows the one before it. */
  readonly texts: Map<string, Map<unknown, string>>
}

interface TextEvent {
  readonly type: string
  readonly key: string
  /** Where the event that ends the text has it whole. */
  readonly whole: string
}

/** Events that end in `.delta` and `.done`. Source: OpenAI API reference, Responses streaming events, 2026-11. */
const textEvents: ReadonlyMap<string, TextEvent> = new Map([
  ['response.output_text', { type: 'message', key: 'output_text', whole: 'text' }],
  ['response.refusal', { type: 'message', key: 'refusal', whole: 'refusal' }],
  ['response.function_call_arguments', { type: 'function_call', key: 'arguments', whole: 'arguments' }],
  ['response.custom_tool_call_input', { type: 'custom_tool_call', key: 'input', whole: 'input' }],
  ['response.reasoning_summary_text', { type: 'reasoning', key: 'summary_text', whole: 'text' }],
  ['response.reasoning_text', { type: 'reasoning', key: 'reasoning_text', whole: 'text' }],
])

/** Adds one event to the draft; events that tell nothing of an item change nothing. */
export function draftEvent(draft: ResponseDraft, type: string, event: WireChunk): void {
  const index = typeof event['output_index'] === 'number' ? event['output_index'] : 0
  const isDone = type === 'response.output_item.done'
  if (isDone || type === 'response.output_item.added') {
    const item = event['item']
    if (!isObject(item) || !isFilled(item['type'])) return
    const drafted = itemAt(draft, index, item['type'])
    drafted.type = item['type']
    drafted.item = item
    drafted.isDone = isDone
    return
  }
  const end = type.lastIndexOf('.')
  const text = textEvents.get(type.slice(0, end))
  if (text === undefined) return
  const { texts } = itemAt(draft, index, text.type)
  const parts = texts.get(text.key) ?? new Map<unknown, string>()
  texts.set(text.key, parts)
  const part = event['content_index'] ?? event['summary_index'] ?? 0
  if (type.endsWith('.done')) {
    const whole = event[text.whole]
    if (isFilled(whole)) parts.set(part, whole)
  } else if (isFilled(event['delta'])) {
    parts.set(part, (parts.get(part) ?? '') + event['delta'])
  }
}

/** The items in order, shaped as in `response.output`. */
export function draftedItems(draft: ResponseDraft): Readonly<Record<string, unknown>>[] {
  return [...draft].toSorted(([a], [b]) => a - b).map(([, item]) => toItem(item))
}

/** An item of the final event. Of reasoning, only the `done` event has the state that upstream takes back. */
export function asDrafted(draft: ResponseDraft, item: Record<string, unknown>, index: number) {
  const drafted = draft.get(index)
  const isBetter = item['type'] === 'reasoning' && drafted?.type === 'reasoning' && drafted.isDone
  return isBetter ? drafted.item : item
}

function itemAt(draft: ResponseDraft, index: number, type: string): DraftItem {
  const known = draft.get(index)
  if (known !== undefined) return known
  const item: DraftItem = { type, item: {}, isDone: false, texts: new Map() }
  draft.set(index, item)
  return item
}

function toItem({ type, item, isDone, texts }: DraftItem): Readonly<Record<string, unknown>> {
  if (isDone || texts.size === 0) return item
  const whole = (key: string) => [...(texts.get(key)?.values() ?? [])]
  switch (type) {
    case 'message':
      return {
        ...item,
        type,
        content: [
          ...whole('output_text').map((text) => ({ type: 'output_text', text })),
          ...whole('refusal').map((refusal) => ({ type: 'refusal', refusal })),
        ],
      }
    case 'reasoning':
      return {
        ...item,
        type,
        summary: whole('summary_text').map((text) => ({ type: 'summary_text', text })),
        content: whole('reasoning_text').map((text) => ({ type: 'reasoning_text', text })),
      }
    case 'custom_tool_call':
      return { ...item, type, input: whole('input').join('') }
    default:
      return { ...item, type, arguments: whole('arguments').join('') }
  }
}
