import { objectsOf } from '../../../json/json.ts'
import { type ItemSnapshot, type PartSnapshot, type TextSnapshot, toPart } from '../snapshot.ts'
import { type PartContainer, type TextKind, kindOfPart, partEvents, textKinds } from '../text-events.ts'
import type { WireEvent, WireObject } from '../wire.ts'
import { type ResponseWriter, insert, isIndex, settle } from './writer.ts'

// Upstream sends some texts without streaming them: summaries that appear in `output_item.done` only, items that appear
// in the final event only (docs/copilot-wire.md, "Responses stream"). Clients that show an answer as it arrives read
// the deltas only, so the remainder of each text is emitted as one more delta.

/** A text and the item that holds it. */
export interface TextTarget {
  readonly item: ItemSnapshot
  readonly kind: TextKind
  /** The part, or the item itself for the text of a call. */
  readonly text: TextSnapshot
}

/** The text of an event. Its part is opened if upstream did not open it. Undefined if the event does not fit. */
export function targetFor(
  writer: ResponseWriter,
  item: ItemSnapshot,
  kind: TextKind,
  event: WireEvent,
): TextTarget | undefined {
  if (kind.container === 'item') return { item, kind, text: item.call }
  const parts = item[kind.container]
  const position = positionIn(parts, event[partEvents[kind.container].index])
  const part = parts[position] ?? openPart(writer, item, kind.container, position, { type: kind.part })
  return part.kind === kind ? { item, kind, text: part } : undefined
}

/** Indexes of parts have no gaps. */
export function positionIn(parts: readonly PartSnapshot[], index: unknown): number {
  return isIndex(index) && index <= parts.length ? index : Math.max(0, parts.length - 1)
}

/** Sets the location of the text in an event. */
export function settleLocation(
  writer: ResponseWriter,
  event: WireEvent,
  { id, index }: ItemSnapshot,
  container: TextKind['container'],
  position: number,
): void {
  settle(writer, event, 'item_id', id)
  settle(writer, event, 'output_index', index)
  if (container !== 'item') settle(writer, event, partEvents[container].index, position)
}

/** @param part its known members */
export function openPart(
  writer: ResponseWriter,
  item: ItemSnapshot,
  container: PartContainer,
  position: number,
  part: WireObject,
): PartSnapshot {
  const opened = { ...part }
  emptyPart(writer, opened)
  insert(writer, partEvents[container].added, { ...locationOf(item, container, position), part: opened })
  const added = item[container][position]
  if (added === undefined) throw new Error('the snapshot lacks a part that was added')
  return added
}

/** Empties a part when it opens, because its text would be streamed twice. */
export function emptyPart(writer: ResponseWriter, part: WireObject): void {
  const kind = kindOfPart(part.type)
  if (kind === undefined) return
  settle(writer, part, kind.key, '')
  const { annotations } = part
  const isEmpty = Array.isArray(annotations) && annotations.length === 0
  if (kind === textKinds.text && !isEmpty) settle(writer, part, 'annotations', [])
}

/** Emits the remainder of an item's parts in one container, and closes them. */
export function closeParts(
  writer: ResponseWriter,
  item: ItemSnapshot,
  container: PartContainer,
  stated: unknown,
): void {
  for (const [position, part] of objectsOf(stated).entries()) {
    const open = item[container][position] ?? openPart(writer, item, container, position, part)
    if (open.kind === kindOfPart(part['type'])) closePart(writer, item, open, part)
  }
  for (const open of item[container]) closePart(writer, item, open)
}

/** @param stated the final part; absent if all of its text was emitted */
export function closePart(writer: ResponseWriter, item: ItemSnapshot, part: PartSnapshot, stated?: WireObject): void {
  emitPartRemainder(writer, item, part, stated)
  if (part.isClosed) return
  const location = locationOf(item, part.container, part.index)
  insert(writer, partEvents[part.container].done, { ...location, part: stated ?? toPart(part) })
}

/** Emits the missing text and annotations of a part. */
export function emitPartRemainder(
  writer: ResponseWriter,
  item: ItemSnapshot,
  part: PartSnapshot,
  stated: WireObject | undefined,
): void {
  const { kind } = part
  if (kind === undefined) return
  const target = { item, kind, text: part }
  const text = stated?.[kind.key]
  const logprobs = stated?.['logprobs']
  if (!part.isDone) emitRemainder(writer, target, text, logprobs)
  for (const annotation of objectsOf(stated?.['annotations']).slice(part.annotations.length)) {
    if (kind === textKinds.text) emitAnnotation(writer, item, part, annotation)
  }
  emitTextDone(writer, target, text, logprobs)
}

export function emitAnnotation(
  writer: ResponseWriter,
  item: ItemSnapshot,
  part: PartSnapshot,
  annotation: unknown,
): void {
  insert(writer, 'response.output_text.annotation.added', {
    ...locationOf(item, 'content', part.index),
    annotation_index: part.annotations.length,
    annotation,
  })
}

/** Emits the remainder of a text, and the event with the complete text. */
export function emitTextDone(
  writer: ResponseWriter,
  target: TextTarget,
  stated: unknown,
  logprobs: unknown = [],
): void {
  const { item, kind, text } = target
  if (text.isDone) return
  emitRemainder(writer, target, stated, logprobs)
  insert(writer, kind.done, {
    ...locationOfText(target),
    ...(kind === textKinds.text && { logprobs }),
    ...(kind === textKinds.arguments && { name: item.item['name'] }),
    [kind.key]: typeof stated === 'string' && stated !== '' ? stated : text.text,
  })
}

/** Emits the end of a text whose beginning the caller already has. */
export function emitRemainder(
  writer: ResponseWriter,
  target: TextTarget,
  stated: unknown,
  logprobs: unknown = [],
): void {
  const emitted = target.text.text
  if (typeof stated !== 'string' || stated.length <= emitted.length || !stated.startsWith(emitted)) return
  insert(writer, target.kind.delta, {
    ...locationOfText(target),
    delta: stated.slice(emitted.length),
    ...(target.kind === textKinds.text && { logprobs: emitted === '' ? logprobs : [] }),
  })
}

function locationOfText({ item, kind, text }: TextTarget): WireEvent {
  if (kind.container !== 'item') return locationOf(item, kind.container, text.index)
  return { item_id: item.id, output_index: item.index }
}

function locationOf({ id, index }: ItemSnapshot, container: PartContainer, position: number): WireEvent {
  return { item_id: id, output_index: index, [partEvents[container].index]: position }
}
