import { isObject } from '../../json/json.ts'
import {
  type PartContainer,
  type TextKind,
  deltaKinds,
  doneKinds,
  kindOfItem,
  kindOfPart,
  partEvents,
} from './text-events.ts'
import type { WireEvent, WireObject } from './wire.ts'

/**
 * The response and its items, by `output_index`, folded from the emitted events. Owned by one reply and updated in
 * place, because a copy per event would be quadratic. The events have been normalised.
 */
export interface ResponseSnapshot {
  /** From the latest lifecycle event. */
  response: WireObject
  readonly items: Map<number, ItemSnapshot>
}

export interface ItemSnapshot {
  readonly index: number
  readonly type: string
  readonly id: string
  /**
   * From `output_item.added`, then from `output_item.done`. The event holds the same object, so it is never changed.
   */
  item: WireObject
  isDone: boolean
  readonly content: PartSnapshot[]
  readonly summary: PartSnapshot[]
  /** Arguments or input of a call. */
  readonly call: TextSnapshot
}

/** A text so far. `isDone`: its `.done` event was emitted. */
export interface TextSnapshot {
  /** The part's position; 0 for the text of a call. */
  readonly index: number
  text: string
  isDone: boolean
}

export interface PartSnapshot extends TextSnapshot {
  readonly container: PartContainer
  readonly kind: TextKind | undefined
  /** From `part.added`, then from `part.done`. */
  part: WireObject
  readonly annotations: unknown[]
  isClosed: boolean
}

export function startSnapshot(): ResponseSnapshot {
  return { response: {}, items: new Map() }
}

/** Adds one event. Unknown events change nothing. */
export function foldEvent(snapshot: ResponseSnapshot, type: string, event: WireEvent): void {
  const delta = deltaKinds.get(type)
  if (delta !== undefined) {
    const text = textAt(snapshot, delta, event)
    if (text !== undefined && typeof event.delta === 'string') text.text += event.delta
    return
  }
  const done = doneKinds.get(type)
  if (done === undefined) return foldOther(snapshot, type, event)
  const text = textAt(snapshot, done, event)
  const whole = event[done.key]
  if (text === undefined || typeof whole !== 'string') return
  text.text = whole
  text.isDone = true
}

/** The items in the order of their index. An item that is not done has its content so far. */
export function outputOf(snapshot: ResponseSnapshot): WireObject[] {
  return itemsOf(snapshot).map((item) => (item.isDone ? item.item : toItem(item, 'incomplete')))
}

export function itemsOf({ items }: ResponseSnapshot): ItemSnapshot[] {
  return [...items.values()].toSorted((a, b) => a.index - b.index)
}

/** An item with its content so far. */
export function toItem({ type, item, content, summary, call }: ItemSnapshot, status: string): WireObject {
  const inner = kindOfItem(type)
  return {
    ...item,
    ...((type === 'message' || content.length > 0) && { content: content.map(toPart) }),
    ...(type === 'reasoning' && { summary: summary.map(toPart) }),
    ...(inner && { [inner.key]: call.text }),
    status,
  }
}

/** The body of a reply that is not streamed. */
export function toBody(snapshot: ResponseSnapshot): Readonly<Record<string, unknown>> {
  return { ...snapshot.response, output: outputOf(snapshot) }
}

const lifecycle = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
])

function foldOther(snapshot: ResponseSnapshot, type: string, event: WireEvent): void {
  switch (type) {
    case 'response.output_item.added':
      return addItem(snapshot, event)
    case 'response.output_item.done': {
      const item = itemAt(snapshot, event)
      if (item !== undefined && isObject(event.item)) finishItem(item, event.item)
      return
    }
    case 'response.content_part.added':
      return addPart(snapshot, 'content', event)
    case 'response.reasoning_summary_part.added':
      return addPart(snapshot, 'summary', event)
    case 'response.content_part.done':
      return finishPart(snapshot, 'content', event)
    case 'response.reasoning_summary_part.done':
      return finishPart(snapshot, 'summary', event)
    case 'response.output_text.annotation.added':
      partAt(snapshot, 'content', event)?.annotations.push(event.annotation)
      return
    default:
      if (lifecycle.has(type) && isObject(event.response)) snapshot.response = event.response
  }
}

function addItem({ items }: ResponseSnapshot, { output_index: index, item }: WireEvent): void {
  if (typeof index !== 'number' || !isObject(item)) return
  const id = String(item['id'])
  items.set(index, {
    index,
    type: String(item['type']),
    id,
    item,
    isDone: false,
    content: [],
    summary: [],
    call: { index: 0, text: '', isDone: false },
  })
}

/** Drops the pieces, because the final item repeats them and a long answer should be in memory only once. */
function finishItem(snapshot: ItemSnapshot, item: WireObject): void {
  snapshot.item = item
  snapshot.isDone = true
  snapshot.content.length = 0
  snapshot.summary.length = 0
  snapshot.call.text = ''
}

function addPart(snapshot: ResponseSnapshot, container: PartContainer, event: WireEvent): void {
  const list = itemAt(snapshot, event)?.[container]
  const { part } = event
  if (list === undefined || !isObject(part)) return
  const kind = kindOfPart(part['type'])
  list.push({ container, index: list.length, kind, part, text: '', isDone: false, annotations: [], isClosed: false })
}

function finishPart(snapshot: ResponseSnapshot, container: PartContainer, event: WireEvent): void {
  const open = partAt(snapshot, container, event)
  if (open === undefined || !isObject(event.part)) return
  open.part = event.part
  open.isClosed = true
}

/** The part with its text so far and upstream's unknown members. */
export function toPart({ kind, part, text, annotations, isClosed }: PartSnapshot): WireObject {
  if (isClosed) return part
  return {
    ...part,
    ...(kind && { [kind.key]: text }),
    ...(annotations.length > 0 && { annotations: [...annotations] }),
  }
}

function itemAt({ items }: ResponseSnapshot, { output_index: index }: WireEvent): ItemSnapshot | undefined {
  return typeof index === 'number' ? items.get(index) : undefined
}

function partAt(snapshot: ResponseSnapshot, container: PartContainer, event: WireEvent): PartSnapshot | undefined {
  const position = event[partEvents[container].index]
  return typeof position === 'number' ? itemAt(snapshot, event)?.[container][position] : undefined
}

/** The text at an event's indices; undefined if there is none. */
function textAt(snapshot: ResponseSnapshot, { container }: TextKind, event: WireEvent): TextSnapshot | undefined {
  return container === 'item' ? itemAt(snapshot, event)?.call : partAt(snapshot, container, event)
}
