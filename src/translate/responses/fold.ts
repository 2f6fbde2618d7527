import { isObject, stringify } from '../parts/wire-json.ts'
import { deltaKinds, doneKinds, kindOfItem, kindOfPart, partEvents } from './text-events.ts'
import type { PartPlace, TextKind } from './text-events.ts'
import type { WireEvent, WireObject } from './wire-event.ts'

/**
 * What the events said so far: the response and its items, by `output_index`. Owned by one reply, updated in place:
 * copying it per event would be quadratic. Events are taken as the grammar has them; what upstream gets wrong is mended
 * before it comes here.
 */
export interface Draft {
  /** As in the last lifecycle event. */
  response: WireObject
  readonly items: Map<number, DraftItem>
}

export interface DraftItem {
  readonly index: number
  readonly type: string
  readonly id: string
  /** The id as JSON has it. */
  readonly idLiteral: string
  /** As in `output_item.added`, then as in `output_item.done`. Never changed: it is the event's own. */
  item: WireObject
  isDone: boolean
  readonly content: DraftPart[]
  readonly summary: DraftPart[]
  /** Arguments or input of a call. */
  readonly call: DraftText
}

/** A text so far. `isDone` once its whole was stated. */
export interface DraftText {
  /** The part's position; 0 for the text of a call. */
  readonly index: number
  text: string
  isDone: boolean
}

export interface DraftPart extends DraftText {
  readonly kind: TextKind | undefined
  /** As in `part.added`, then as in `part.done`. */
  part: WireObject
  readonly annotations: unknown[]
  isClosed: boolean
}

export function startDraft(): Draft {
  return { response: {}, items: new Map() }
}

/** Adds one event; events that say nothing of the answer change nothing. */
export function foldEvent(draft: Draft, type: string, event: WireEvent): void {
  const delta = deltaKinds.get(type)
  if (delta !== undefined) {
    const text = textAt(draft, delta, event)
    if (text !== undefined && typeof event.delta === 'string') text.text += event.delta
    return
  }
  const done = doneKinds.get(type)
  if (done === undefined) return foldOther(draft, type, event)
  const text = textAt(draft, done, event)
  const whole = event[done.key]
  if (text === undefined || typeof whole !== 'string') return
  text.text = whole
  text.isDone = true
}

/** The items in the order of their index; what is not done yet as far as it has come. */
export function outputOf(draft: Draft): WireObject[] {
  return itemsOf(draft).map((item) => (item.isDone ? item.item : toItem(item, 'incomplete')))
}

export function itemsOf({ items }: Draft): DraftItem[] {
  return [...items.values()].toSorted((a, b) => a.index - b.index)
}

/** An item with what was told of it. */
export function toItem({ type, item, content, summary, call }: DraftItem, status: string): WireObject {
  const inner = kindOfItem(type)
  return {
    ...item,
    ...((type === 'message' || content.length > 0) && { content: content.map(toPart) }),
    ...(type === 'reasoning' && { summary: summary.map(toPart) }),
    ...(inner && { [inner.key]: call.text }),
    status,
  }
}

/** The response object: what a caller that does not stream gets. */
export function toBody(draft: Draft): Readonly<Record<string, unknown>> {
  return { ...draft.response, output: outputOf(draft) }
}

const lifecycle = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
])

function foldOther(draft: Draft, type: string, event: WireEvent): void {
  switch (type) {
    case 'response.output_item.added':
      return addItem(draft, event)
    case 'response.output_item.done': {
      const item = itemAt(draft, event)
      if (item !== undefined && isObject(event.item)) finishItem(item, event.item)
      return
    }
    case 'response.content_part.added':
      return addPart(draft, 'content', event)
    case 'response.reasoning_summary_part.added':
      return addPart(draft, 'summary', event)
    case 'response.content_part.done':
      return finishPart(draft, 'content', event)
    case 'response.reasoning_summary_part.done':
      return finishPart(draft, 'summary', event)
    case 'response.output_text.annotation.added':
      partAt(draft, 'content', event)?.annotations.push(event.annotation)
      return
    default:
      if (lifecycle.has(type) && isObject(event.response)) draft.response = event.response
  }
}

function addItem({ items }: Draft, { output_index: index, item }: WireEvent): void {
  if (typeof index !== 'number' || !isObject(item)) return
  const id = String(item['id'])
  items.set(index, {
    index,
    type: String(item['type']),
    id,
    idLiteral: stringify(id),
    item,
    isDone: false,
    content: [],
    summary: [],
    call: { index: 0, text: '', isDone: false },
  })
}

/** The pieces go: from here on the item says it all, and a long answer is not held twice. */
function finishItem(draft: DraftItem, item: WireObject): void {
  draft.item = item
  draft.isDone = true
  draft.content.length = 0
  draft.summary.length = 0
  draft.call.text = ''
}

function addPart(draft: Draft, place: PartPlace, event: WireEvent): void {
  const list = itemAt(draft, event)?.[place]
  const { part } = event
  if (list === undefined || !isObject(part)) return
  const kind = kindOfPart(part['type'])
  list.push({ index: list.length, kind, part, text: '', isDone: false, annotations: [], isClosed: false })
}

function finishPart(draft: Draft, place: PartPlace, event: WireEvent): void {
  const told = partAt(draft, place, event)
  if (told === undefined || !isObject(event.part)) return
  told.part = event.part
  told.isClosed = true
}

/** A part as told. Its own members first: there may be more than we know. */
export function toPart({ kind, part, text, annotations, isClosed }: DraftPart): WireObject {
  if (isClosed) return part
  return {
    ...part,
    ...(kind && { [kind.key]: text }),
    ...(annotations.length > 0 && { annotations: [...annotations] }),
  }
}

function itemAt({ items }: Draft, { output_index: index }: WireEvent): DraftItem | undefined {
  return typeof index === 'number' ? items.get(index) : undefined
}

function partAt(draft: Draft, place: PartPlace, event: WireEvent): DraftPart | undefined {
  const position = event[partEvents[place].index]
  return typeof position === 'number' ? itemAt(draft, event)?.[place][position] : undefined
}

/** The text a delta adds to, by its indices alone; undefined where there is none. */
function textAt(draft: Draft, { place }: TextKind, event: WireEvent): DraftText | undefined {
  return place === 'item' ? itemAt(draft, event)?.call : partAt(draft, place, event)
}
