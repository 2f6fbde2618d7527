import { Fault } from '../../../errors.ts'
import type { SseEvent } from '../../../sse/decode.ts'
import { refuseDamaged } from '../../parts/refuse-damaged.ts'
import { toStreamFault } from '../../parts/stream-fault.ts'
import { isFilled, isObject, parseObject } from '../../parts/wire-json.ts'
import type { DraftItem } from '../fold.ts'
import { deltaKinds, doneKinds, kindOfPart, partEvents, textKinds } from '../text-events.ts'
import type { PartPlace, TextKind } from '../text-events.ts'
import type { WireEvent } from '../wire-event.ts'
import { closeHeld, fitNamespace, fitOutput, holdWrapper, isHeldBack, moveEvent, takeApart } from './calls.ts'
import { closeItem } from './close-item.ts'
import { mendDelta, settleSpot } from './delta.ts'
import { ensureOpen, mendEnd, mendProgress } from './lifecycle.ts'
import { emit, settle } from './mend-state.ts'
import type { Frame, MendState } from './mend-state.ts'
import { addItem, indexOf, insertItem, isCall, isIndex, itemFor } from './open-item.ts'
import { learnDelta, matchDelta, tellRepeated } from './repeated-delta.ts'
import { emptyPart, openPart, positionIn, tellPart, tellRest, textFor } from './tell.ts'

const nothing: readonly Frame[] = []

/**
 * One upstream event to the events it adds to the reply. Mends the quirks of docs/copilot-wire.md, "Responses stream",
 * and nothing else: an event that is right keeps its text. What leaves here has the grammar of OpenAI's API: items are
 * added, told and done once, under one id, and events are numbered without gaps.
 * Once `state.done` is true the final event has been returned, and later events add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for a failure upstream reports, `upstream_unusable` for what is not
 * JSON and for endless whitespace in a call
 */
export function stepMend(state: MendState, { event: name, data }: SseEvent): readonly Frame[] {
  if (state.done || data === '') return nothing
  const repeated = matchDelta(state, data)
  if (repeated !== undefined) return tellRepeated(state, repeated, data)
  const event = parseObject(data)
  if (event === undefined) return unread(state, name, data)
  const { type, item_id: id } = event
  const out: Frame[] = []
  const delta = typeof type === 'string' ? deltaKinds.get(type) : undefined
  if (delta === undefined) {
    readEvent(state, name, event, data, out)
    return out
  }
  readDelta(state, delta, event, data, out)
  learnDelta(state, data, id, out)
  return out
}

/** `[DONE]` is an end mark of other dialects, which some servers send here too. */
function unread(state: MendState, name: string, data: string): readonly Frame[] {
  if (name === 'error') throw toStreamFault(data, state.seed.redact)
  if (data.startsWith('[DONE]')) return nothing
  refuseDamaged(data)
  state.skipped += 1
  return nothing
}

function readEvent(state: MendState, name: string, event: WireEvent, data: string, out: Frame[]): void {
  const { type, object } = event
  if (isFilled(type)) return readTyped(state, type, event, data, out)
  if (name === 'error' || event.error || isFilled(event.message))
    throw toStreamFault(event.error ?? event, state.seed.redact)
  // A server that does not stream answers with the response itself.
  if (object === 'response') return readBody(state, event, out)
  if (name === '') return skip(state)
  event.type = name
  readTyped(state, name, event, undefined, out)
}

function readBody(state: MendState, response: WireEvent, out: Frame[]): void {
  const { status } = response
  const type = status === 'failed' || status === 'incomplete' ? `response.${status}` : 'response.completed'
  readTyped(state, type, { type, sequence_number: 0, response }, undefined, out)
}

function readTyped(state: MendState, type: string, event: WireEvent, text: string | undefined, out: Frame[]): void {
  event.type = type
  switch (type) {
    case 'error':
      state.error = errorOf(event)
      throw toStreamFault(state.error, state.seed.redact)
    case 'response.failed':
      state.failed = event
      state.failedText = text
      throw toStreamFault(isObject(event.response) ? event.response['error'] : undefined, state.seed.redact)
    case 'response.cancelled':
      throw new Fault({ kind: 'upstream_failed', message: 'Upstream cancelled the response.', code: 'cancelled' })
    case 'response.created':
    case 'response.queued':
    case 'response.in_progress':
      return mendProgress(state, type, event, text, out)
    case 'response.completed':
    case 'response.incomplete':
      return readEnd(state, type, event, text, out)
    default:
      // It becomes a line of its own in the stream.
      if (/[\r\n]/.test(type)) return skip(state)
      if (isAside(state, type) || isHeld(state, type, event)) return
      ensureOpen(state, out)
      mendInner(state, type, event, text, out)
  }
}

/** The error, flat or nested; the status can stand beside it. */
function errorOf(event: WireEvent): unknown {
  const { error, status } = event
  return isObject(error) && error['status'] === undefined ? { ...error, status } : (error ?? event)
}

/**
 * What a server says of itself, not of the answer (docs/codex-wire.md, "Event stream"). A sign of life is none of an
 * answer that has not begun.
 */
function isAside({ id }: MendState, type: string): boolean {
  return type.startsWith('codex.') || type === 'response.metadata' || (type === 'keepalive' && id === '')
}

/** Of a wrapper for several calls, which is told of when it is done. */
function isHeld({ calls }: MendState, type: string, event: WireEvent): boolean {
  if (type === 'response.output_item.added') return holdWrapper(calls, event)
  return type === textKinds.arguments.done && isHeldBack(calls, textKinds.arguments, event)
}

function readEnd(state: MendState, type: string, event: WireEvent, text: string | undefined, out: Frame[]): void {
  const { calls } = state
  const { response } = event
  const output = isObject(response) ? response['output'] : undefined
  if (type === 'response.completed') {
    for (const done of closeHeld(calls, output)) {
      ensureOpen(state, out)
      mendItemDone(state, done, undefined, out)
    }
  }
  const right = !isObject(response) || fitOutput(calls, response)
  mendEnd(state, type, event, right ? text : undefined, out)
}

function readDelta(state: MendState, kind: TextKind, event: WireEvent, text: string | undefined, out: Frame[]): void {
  const { calls, draft } = state
  if (isHeldBack(calls, kind, event)) return
  const right = moveEvent(calls, event, draft.items.keys())
  mendDelta(state, kind, event, right ? text : undefined, out)
}

function mendInner(state: MendState, type: string, event: WireEvent, told: string | undefined, out: Frame[]): void {
  if (type === 'response.output_item.done') return mendItemDone(state, event, told, out)
  const text = moveEvent(state.calls, event, state.draft.items.keys()) ? told : undefined
  switch (type) {
    case 'response.output_item.added':
      return mendAdded(state, event, fitNamespace(state.calls, event.item) ? text : undefined, out)
    case partEvents.content.added:
      return mendPartAdded(state, 'content', event, text, out)
    case partEvents.summary.added:
      return mendPartAdded(state, 'summary', event, text, out)
    case partEvents.content.done:
      return mendPartDone(state, 'content', event, text, out)
    case partEvents.summary.done:
      return mendPartDone(state, 'summary', event, text, out)
    case 'response.output_text.annotation.added':
      return mendAnnotation(state, event, text, out)
    default: {
      const delta = deltaKinds.get(type)
      if (delta !== undefined) return mendDelta(state, delta, event, text, out)
      const done = doneKinds.get(type)
      return done === undefined ? pass(state, type, event, text, out) : mendTextDone(state, done, event, text, out)
    }
  }
}

/** An item that is done: one, or the calls that a wrapper stands for. */
function mendItemDone(state: MendState, event: WireEvent, text: string | undefined, out: Frame[]): void {
  const { calls, draft } = state
  const apart = takeApart(calls, event, draft.items.keys())
  if (apart !== undefined) {
    for (const one of apart) mendDone(state, one, undefined, out)
    return
  }
  const right = [moveEvent(calls, event, draft.items.keys()), fitNamespace(calls, event.item)].every(Boolean)
  mendDone(state, event, right ? text : undefined, out)
}

function mendTextDone(
  state: MendState,
  kind: TextKind,
  event: WireEvent,
  text: string | undefined,
  out: Frame[],
): void {
  const item = itemFor(state, event, kind.item, out)
  const told = item && textFor(state, item, kind, event, out)
  if (item === undefined || told === undefined || told.isDone) return
  const whole = event[kind.key]
  const isBlank = typeof whole !== 'string' || whole.trim() === ''
  // Whether a call without arguments is a whole one is known when it is done.
  if (kind === textKinds.arguments && isBlank && told.text.trim() === '') return
  const part = kind.place === 'item' ? undefined : item[kind.place][told.index]
  tellRest(state, { item, kind, part }, whole, out)
  const hasSpot = settleSpot(event, kind, item, told)
  const right = settle(event, kind.key, typeof whole === 'string' && whole !== '' ? whole : told.text) && hasSpot
  emit(state, out, kind.done, event, right ? text : undefined)
}

function mendAdded(state: MendState, event: WireEvent, text: string | undefined, out: Frame[]): void {
  const { item } = event
  if (!isObject(item) || !isFilled(item['type'])) return skip(state)
  const index = isIndex(event.output_index) ? event.output_index : state.draft.items.size
  if (state.draft.items.has(index)) return skip(state)
  // A call without a name waits until it is done.
  if (isCall(item['type']) && !isFilled(item['name'])) return
  addItem(state, index, event, item, text, out)
}

function mendDone(state: MendState, event: WireEvent, text: string | undefined, out: Frame[]): void {
  const { item: whole } = event
  if (!isObject(whole) || !isFilled(whole['type'])) return skip(state)
  const index = indexOf(state, event)
  const known = openCall(state, whole['call_id']) ?? state.draft.items.get(index)
  if (known !== undefined && (known.isDone || known.type !== whole['type'])) return skip(state)
  if (known === undefined && isCall(whole['type']) && !isFilled(whole['name'])) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it called a tool without naming it' })
  }
  const item = known ?? insertItem(state, index, whole, out)
  if (item !== undefined) closeItem(state, item, event, whole, text, out)
}

/** The call with this id that is not done yet: it is that one, whatever index it comes under. */
function openCall({ draft, callIds }: MendState, callId: unknown): DraftItem | undefined {
  const item = isFilled(callId) ? draft.items.get(callIds.get(callId) ?? -1) : undefined
  return item?.isDone === false ? item : undefined
}

function mendPartAdded(
  state: MendState,
  place: PartPlace,
  event: WireEvent,
  text: string | undefined,
  out: Frame[],
): void {
  const { part } = event
  if (!isObject(part)) return skip(state)
  const item = itemFor(state, event, itemTypeOf(place, part['type']), out)
  if (item === undefined) return skip(state)
  const names = partEvents[place]
  const position = item[place].length
  if (isIndex(event[names.index]) && Number(event[names.index]) < position) return skip(state)
  const right = [
    settle(event, 'item_id', item.id),
    settle(event, 'output_index', item.index),
    settle(event, names.index, position),
    emptyPart(part),
  ].every(Boolean)
  emit(state, out, names.added, event, right ? text : undefined)
}

function mendPartDone(
  state: MendState,
  place: PartPlace,
  event: WireEvent,
  text: string | undefined,
  out: Frame[],
): void {
  const { part: whole } = event
  if (!isObject(whole)) return skip(state)
  const item = itemFor(state, event, itemTypeOf(place, whole['type']), out)
  if (item === undefined) return skip(state)
  const names = partEvents[place]
  const position = positionIn(item[place], event[names.index])
  const part = item[place][position] ?? openPart(state, item, place, position, whole, out)
  if (part === undefined || part.isClosed) return skip(state)
  tellPart(state, item, part, whole, out)
  const { kind } = part
  const right = [
    settle(event, 'item_id', item.id),
    settle(event, 'output_index', item.index),
    settle(event, names.index, position),
    kind === undefined || isFilled(whole[kind.key]) || settle(whole, kind.key, part.text),
  ].every(Boolean)
  emit(state, out, names.done, event, right ? text : undefined)
}

function mendAnnotation(state: MendState, event: WireEvent, text: string | undefined, out: Frame[]): void {
  const item = itemFor(state, event, 'message', out)
  if (item === undefined) return skip(state)
  const told = textFor(state, item, textKinds.text, event, out)
  const part = told && item.content[told.index]
  if (part === undefined) return skip(state)
  const hasSpot = settleSpot(event, textKinds.text, item, part)
  const right = settle(event, 'annotation_index', part.annotations.length) && hasSpot
  emit(state, out, 'response.output_text.annotation.added', event, right ? text : undefined)
}

/** Events of other items, and events we do not know. */
function pass(state: MendState, type: string, event: WireEvent, text: string | undefined, out: Frame[]): void {
  const isOfItem = event.item_id !== undefined || type.startsWith('response.web_search_call.')
  if (!isOfItem) return emit(state, out, type, event, text)
  const item = state.draft.items.get(indexOf(state, event))
  // Of an item nothing is known of, nothing can be told.
  if (item === undefined) return skip(state)
  const hasItem = settle(event, 'item_id', item.id)
  const right = settle(event, 'output_index', item.index) && hasItem
  emit(state, out, type, event, right ? text : undefined)
}

function itemTypeOf(place: PartPlace, part: unknown): string {
  return place === 'summary' ? textKinds.summary.item : (kindOfPart(part)?.item ?? 'message')
}

function skip(state: MendState): void {
  state.skipped += 1
}
