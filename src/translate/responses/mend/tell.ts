import { objectsOf } from '../../parts/wire-json.ts'
import { toPart } from '../fold.ts'
import type { DraftItem, DraftPart, DraftText } from '../fold.ts'
import { kindOfPart, partEvents, textKinds } from '../text-events.ts'
import type { PartPlace, TextKind } from '../text-events.ts'
import type { WireEvent, WireObject } from '../wire-event.ts'
import { insert } from './mend-state.ts'
import type { Frame, MendState } from './mend-state.ts'
import { isIndex } from './open-item.ts'

// What upstream states whole without having told it in pieces: summaries that appear in `output_item.done` alone, items
// that appear in the final event alone (docs/copilot-wire.md, "Responses stream"). Clients that show an answer as it
// comes read the pieces only.

/** Where a text is: its item, and its part there. */
interface TextSpot {
  readonly item: DraftItem
  readonly kind: TextKind
  /** Undefined for texts of the item itself. */
  readonly part: DraftPart | undefined
}

/** The text an event tells of, its part opened where upstream did not; undefined where the event cannot be of it. */
export function textFor(
  state: MendState,
  item: DraftItem,
  kind: TextKind,
  event: WireEvent,
  out: Frame[],
): DraftText | undefined {
  if (kind.place === 'item') return item.call
  const position = positionIn(item[kind.place], event[partEvents[kind.place].index])
  const part = item[kind.place][position] ?? openPart(state, item, kind.place, position, { type: kind.part }, out)
  return part?.kind === kind ? part : undefined
}

/** Parts follow each other without gaps. */
export function positionIn(parts: readonly DraftPart[], index: unknown): number {
  return isIndex(index) && index <= parts.length ? index : Math.max(0, parts.length - 1)
}

/** Tells what was not told yet of the parts at one place, and closes them. */
export function tellParts(state: MendState, item: DraftItem, place: PartPlace, wholes: unknown, out: Frame[]): void {
  for (const [position, whole] of objectsOf(wholes).entries()) {
    const part = item[place][position] ?? openPart(state, item, place, position, whole, out)
    if (part !== undefined && part.kind === kindOfPart(whole['type'])) closePart(state, item, place, part, whole, out)
  }
  for (const part of item[place]) closePart(state, item, place, part, undefined, out)
}

/** @param whole the part as upstream states it; undefined where what was told is all there is */
function closePart(
  state: MendState,
  item: DraftItem,
  place: PartPlace,
  part: DraftPart,
  whole: WireObject | undefined,
  out: Frame[],
): void {
  tellPart(state, item, part, whole, out)
  if (part.isClosed) return
  insert(state, out, partEvents[place].done, { ...partSpot(item, place, part.index), part: whole ?? toPart(part) })
}

/** Tells what was not told yet of a part's text and annotations. */
export function tellPart(
  state: MendState,
  item: DraftItem,
  part: DraftPart,
  whole: WireObject | undefined,
  out: Frame[],
): void {
  const { kind } = part
  if (kind === undefined) return
  const spot = { item, kind, part }
  const text = whole?.[kind.key]
  const logprobs = whole?.['logprobs']
  if (!part.isDone) tellRest(state, spot, text, out, logprobs)
  if (kind === textKinds.text) tellAnnotations(state, item, part, objectsOf(whole?.['annotations']), out)
  tellText(state, spot, text, out, logprobs)
}

function tellAnnotations(
  state: MendState,
  item: DraftItem,
  part: DraftPart,
  annotations: readonly WireObject[],
  out: Frame[],
): void {
  for (const annotation of annotations.slice(part.annotations.length)) {
    insert(state, out, 'response.output_text.annotation.added', {
      ...partSpot(item, 'content', part.index),
      annotation_index: part.annotations.length,
      annotation,
    })
  }
}

/** Tells what was not told yet of a text, and states it whole. */
export function tellText(state: MendState, spot: TextSpot, whole: unknown, out: Frame[], logprobs: unknown = []): void {
  const { kind, part, item } = spot
  const told = part ?? item.call
  if (told.isDone) return
  tellRest(state, spot, whole, out, logprobs)
  const text = typeof whole === 'string' && whole !== '' ? whole : told.text
  insert(state, out, kind.done, {
    ...spotOf(spot),
    ...(kind === textKinds.text && { logprobs }),
    ...(kind === textKinds.arguments && { name: item.item['name'] }),
    [kind.key]: text,
  })
}

/** Tells the end of a text that was told in part. */
export function tellRest(state: MendState, spot: TextSpot, whole: unknown, out: Frame[], logprobs: unknown = []): void {
  const { kind, part, item } = spot
  const { text } = part ?? item.call
  if (typeof whole !== 'string' || whole.length <= text.length || !whole.startsWith(text)) return
  insert(state, out, kind.delta, {
    ...spotOf(spot),
    delta: whole.slice(text.length),
    ...(kind === textKinds.text && { logprobs: text === '' ? logprobs : [] }),
  })
}

/** @param part what is known of it */
export function openPart(
  state: MendState,
  item: DraftItem,
  place: PartPlace,
  position: number,
  part: WireObject,
  out: Frame[],
): DraftPart | undefined {
  const opened = { ...part }
  emptyPart(opened)
  insert(state, out, partEvents[place].added, { ...partSpot(item, place, position), part: opened })
  return item[place][position]
}

/** Parts open empty: what is there already would be told twice. Returns whether it was. */
export function emptyPart(part: WireObject): boolean {
  const kind = kindOfPart(part.type)
  if (kind === undefined) return true
  const isText = kind === textKinds.text
  const { annotations } = part
  const right = part[kind.key] === '' && (!isText || (Array.isArray(annotations) && annotations.length === 0))
  if (right) return true
  part[kind.key] = ''
  if (isText) part['annotations'] = []
  return false
}

function partSpot({ id, index }: DraftItem, place: PartPlace, position: number): WireEvent {
  return { item_id: id, output_index: index, [partEvents[place].index]: position }
}

function spotOf({ kind: { place }, part, item }: TextSpot): WireEvent {
  if (place !== 'item' && part !== undefined) return partSpot(item, place, part.index)
  return { item_id: item.id, output_index: item.index }
}
