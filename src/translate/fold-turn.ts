import { grow, lengthOf, startFoldSize } from './engine/reply/fold-size.ts'
import type { Opaque, TurnEvent, TurnItem, TurnStop, Usage } from './turn.ts'

/** One slot of an answer that is still streaming. */
export type DraftPart =
  | { readonly type: 'text' | 'refusal' | 'thought'; text: string; opaque?: Opaque }
  | {
      readonly type: 'call'
      readonly id: string
      readonly name: string
      readonly namespace: string | undefined
      readonly kind: 'function' | 'custom'
      text: string
    }

/** What an event adds to an answer (`FoldSize`). */
export function lengthOfEvent(event: TurnEvent): number {
  switch (event.type) {
    case 'text.delta':
    case 'refusal.delta':
    case 'think.delta':
    case 'tool.args':
      return event.text.length
    case 'start':
    case 'part.close':
    case 'usage':
    case 'stop':
      return 0
    default:
      return lengthOf(event)
  }
}

/** Adds an event to the parts, in place. Ignores events without text, thinking or a call. */
export function addToDraft(parts: Map<number, DraftPart>, event: TurnEvent): void {
  switch (event.type) {
    case 'text.delta':
      draftAt(parts, event.slot, 'text').text += event.text
      return
    case 'refusal.delta':
      draftAt(parts, event.slot, 'refusal').text += event.text
      return
    case 'think.delta':
      draftAt(parts, event.slot, 'thought').text += event.text
      return
    case 'think.sign':
      draftAt(parts, event.slot, 'thought').opaque = event.opaque
      return
    case 'tool.open': {
      const { id, name, namespace, kind } = event
      parts.set(event.slot, { type: 'call', id, name, namespace, kind, text: '' })
      return
    }
    case 'tool.args': {
      const part = parts.get(event.slot)
      if (part?.type === 'call') part.text += event.text
      return
    }
    case 'start':
    case 'citation':
    case 'search':
    case 'search.open':
    case 'search.result':
    case 'part.close':
    case 'usage':
    case 'stop':
  }
}

type TextDraft = Exclude<DraftPart, { type: 'call' }>

function draftAt(parts: Map<number, DraftPart>, slot: number, type: TextDraft['type']): TextDraft {
  const known = parts.get(slot)
  if (known !== undefined && known.type === type) return known
  const draft: TextDraft = { type, text: '' }
  parts.set(slot, draft)
  return draft
}

/** The items of an answer so far, in the order of their slots. Omits texts of white space only. */
export function draftedItems(parts: ReadonlyMap<number, DraftPart>): readonly TurnItem[] {
  const path = ''
  return [...parts]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([, part]): readonly TurnItem[] => {
      switch (part.type) {
        case 'text':
        case 'refusal':
          if (part.text.trim() === '') return []
          return [{ type: 'message', role: 'assistant', parts: [{ type: part.type, text: part.text }], path }]
        case 'thought':
          return [{ type: 'reasoning', text: part.text, opaque: part.opaque, path }]
        case 'call': {
          const { kind, id, name, namespace, text } = part
          const args = text === '' && kind === 'function' ? '{}' : text
          const named = namespace === undefined ? { name } : { name, namespace }
          return [{ type: 'tool_call', kind, id, ...named, arguments: args, path }]
        }
      }
    })
}

/**
 * Folds the events of an answer (`ModelAnswer.events`). Its items are those that the answer adds to the conversation, for
 * the next `Turn`.
 * @throws what the iteration throws: a Fault if upstream failed or was cut off, the signal's reason on abort; Fault
 * `upstream_unusable` for an answer that is too long
 */
export async function foldTurn(events: AsyncIterable<{ readonly event: TurnEvent }>) {
  const parts = new Map<number, DraftPart>()
  const size = startFoldSize()
  let stop: TurnStop = 'end'
  let usage: Usage | undefined
  for await (const { event } of events) {
    grow(size, lengthOfEvent(event))
    addToDraft(parts, event)
    if (event.type === 'usage') ({ usage } = event)
    else if (event.type === 'stop') stop = event.reason
  }
  return { items: draftedItems(parts), stop, usage }
}
