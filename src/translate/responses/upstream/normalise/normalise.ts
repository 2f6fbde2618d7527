import { Fault } from '../../../../errors.ts'
import type { SseEvent } from '../../../../sse/decode.ts'
import { refuseDamaged, toStreamFault } from '../../../parts/stream-fault.ts'
import { isFilled, isObject, parseObject } from '../../../parts/json.ts'
import type { ItemSnapshot } from '../../snapshot.ts'
import {
  type PartContainer,
  type TextKind,
  deltaKinds,
  doneKinds,
  kindOfPart,
  partEvents,
  textKinds,
} from '../../text-events.ts'
import type { WireEvent } from '../../wire.ts'
import { addItem, closeItem, indexOf, insertItem, isCall, itemFor } from '../../writer/items.ts'
import {
  emitPartRemainder,
  emitRemainder,
  emptyPart,
  openPart,
  positionIn,
  settleLocation,
  targetFor,
} from '../../writer/texts.ts'
import { type Frame, emit, isIndex, settle } from '../../writer/writer.ts'
import { emitRepeated, learnDelta, matchDelta, normaliseDelta } from './deltas.ts'
import { ensureOpen, normaliseEnd, normaliseProgress } from './lifecycle.ts'
import type { NormaliserState } from './state.ts'
import {
  bufferArguments,
  bufferWrapper,
  closeBuffered,
  expandWrapper,
  remapIndex,
  restoreNamespace,
  restoreOutput,
} from './wrapper-calls.ts'

const nothing: readonly Frame[] = []

/**
 * One upstream event to the events that it adds to the reply. Every reader of a Responses upstream reads these frames:
 * `forward-stream.ts` for callers of the same dialect, `decode-stream.ts` for all others. Repairs the quirks of
 * docs/copilot-wire.md, "Responses stream", and nothing else: an event that needs no repair keeps its text.
 * Once `state.done` is true, the final event has been returned, and later events add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for a failure upstream reports, `upstream_unusable` for what is not
 * JSON and for endless whitespace in a call
 */
export function normaliseEvent(state: NormaliserState, { event: name, data }: SseEvent): readonly Frame[] {
  if (state.done || data === '') return nothing
  const repeated = matchDelta(state, data)
  if (repeated !== undefined) return emitRepeated(state, repeated, data)
  const event = parseObject(data)
  if (event === undefined) return readNonJson(state, name, data)
  const { type, item_id: id } = event
  const out: Frame[] = []
  const kind = typeof type === 'string' ? deltaKinds.get(type) : undefined
  if (kind === undefined) {
    readEvent(state, name, event, data, out)
    return out
  }
  readDelta(state, kind, event, data, out)
  learnDelta(state, data, id, out)
  return out
}

/** `[DONE]` is an end mark of other dialects, which some servers send here too. */
function readNonJson(state: NormaliserState, name: string, data: string): readonly Frame[] {
  if (name === 'error') throw toStreamFault(data, state.seed.redact)
  if (data.startsWith('[DONE]')) return nothing
  refuseDamaged(data)
  state.skipped += 1
  return nothing
}

function readEvent(state: NormaliserState, name: string, event: WireEvent, data: string, out: Frame[]): void {
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

function readBody(state: NormaliserState, response: WireEvent, out: Frame[]): void {
  const { status } = response
  const type = status === 'failed' || status === 'incomplete' ? `response.${status}` : 'response.completed'
  readTyped(state, type, { type, sequence_number: 0, response }, undefined, out)
}

function readTyped(
  state: NormaliserState,
  type: string,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  event.type = type
  switch (type) {
    case 'error':
      state.error = errorOf(event)
      throw toStreamFault(state.error, state.seed.redact)
    case 'response.failed':
      state.failed = event
      state.failedText = rawText
      throw toStreamFault(isObject(event.response) ? event.response['error'] : undefined, state.seed.redact)
    case 'response.cancelled':
      throw new Fault({ kind: 'upstream_failed', message: 'Upstream cancelled the response.', code: 'cancelled' })
    case 'response.created':
    case 'response.queued':
    case 'response.in_progress':
      return normaliseProgress(state, type, event, rawText, out)
    case 'response.completed':
    case 'response.incomplete':
      return readEnd(state, type, event, rawText, out)
    default:
      // The type is written as a line of its own.
      if (/[\r\n]/.test(type)) return skip(state)
      if (isServerNotice(state, type) || isBuffered(state, type, event)) return
      ensureOpen(state, out)
      normaliseItemEvent(state, type, event, rawText, out)
  }
}

/** The error, flat or nested; the status can stand beside it. */
function errorOf(event: WireEvent): unknown {
  const { error, status } = event
  return isObject(error) && error['status'] === undefined ? { ...error, status } : (error ?? event)
}

/**
 * Events about the server and not about the answer (docs/codex-wire.md, "Event stream"). A keepalive does not open a
 * response.
 */
function isServerNotice({ id }: NormaliserState, type: string): boolean {
  return type.startsWith('codex.') || type === 'response.metadata' || (type === 'keepalive' && id === '')
}

/** Events of a wrapper call, which is emitted when it is done. */
function isBuffered({ wrappers }: NormaliserState, type: string, event: WireEvent): boolean {
  if (type === 'response.output_item.added') return bufferWrapper(wrappers, event)
  return type === textKinds.arguments.done && bufferArguments(wrappers, textKinds.arguments, event)
}

function readEnd(
  state: NormaliserState,
  type: string,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const { wrappers } = state
  const { response } = event
  const output = isObject(response) ? response['output'] : undefined
  if (type === 'response.completed') {
    for (const done of closeBuffered(wrappers, output)) {
      ensureOpen(state, out)
      normaliseItemDone(state, done, undefined, out)
    }
  }
  const isUnchanged = !isObject(response) || restoreOutput(wrappers, response)
  normaliseEnd(state, type, event, isUnchanged ? rawText : undefined, out)
}

function readDelta(
  state: NormaliserState,
  kind: TextKind,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const { wrappers, snapshot } = state
  if (bufferArguments(wrappers, kind, event)) return
  const isUnchanged = remapIndex(wrappers, event, snapshot.items.keys())
  normaliseDelta(state, kind, event, isUnchanged ? rawText : undefined, out)
}

function normaliseItemEvent(
  state: NormaliserState,
  type: string,
  event: WireEvent,
  upstreamText: string | undefined,
  out: Frame[],
): void {
  if (type === 'response.output_item.done') return normaliseItemDone(state, event, upstreamText, out)
  const rawText = remapIndex(state.wrappers, event, state.snapshot.items.keys()) ? upstreamText : undefined
  switch (type) {
    case 'response.output_item.added':
      return normaliseItemAdded(state, event, restoreNamespace(state.wrappers, event.item) ? rawText : undefined, out)
    case partEvents.content.added:
      return normalisePartAdded(state, 'content', event, rawText, out)
    case partEvents.summary.added:
      return normalisePartAdded(state, 'summary', event, rawText, out)
    case partEvents.content.done:
      return normalisePartDone(state, 'content', event, rawText, out)
    case partEvents.summary.done:
      return normalisePartDone(state, 'summary', event, rawText, out)
    case 'response.output_text.annotation.added':
      return normaliseAnnotation(state, event, rawText, out)
    default: {
      const delta = deltaKinds.get(type)
      if (delta !== undefined) return normaliseDelta(state, delta, event, rawText, out)
      const done = doneKinds.get(type)
      if (done !== undefined) return normaliseTextDone(state, done, event, rawText, out)
      return normaliseOther(state, type, event, rawText, out)
    }
  }
}

/** An item that is done: one, or the calls that a wrapper stands for. */
function normaliseItemDone(state: NormaliserState, event: WireEvent, rawText: string | undefined, out: Frame[]): void {
  const { wrappers, snapshot } = state
  const expanded = expandWrapper(wrappers, event, snapshot.items.keys())
  if (expanded !== undefined) {
    for (const one of expanded) finishItem(state, one, undefined, out)
    return
  }
  const isUnchanged = [
    remapIndex(wrappers, event, snapshot.items.keys()),
    restoreNamespace(wrappers, event.item),
  ].every(Boolean)
  finishItem(state, event, isUnchanged ? rawText : undefined, out)
}

function normaliseTextDone(
  state: NormaliserState,
  kind: TextKind,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const item = itemFor(state, event, kind.item, out)
  const target = item && targetFor(state, item, kind, event, out)
  if (target === undefined || target.text.isDone) return
  const stated = event[kind.key]
  const isBlank = typeof stated !== 'string' || stated.trim() === ''
  // `output_item.done` decides whether a call without arguments is complete.
  if (kind === textKinds.arguments && isBlank && target.text.text.trim() === '') return
  emitRemainder(state, target, stated, out)
  const hasLocation = settleLocation(event, target)
  const text = typeof stated === 'string' && stated !== '' ? stated : target.text.text
  const isUnchanged = settle(event, kind.key, text) && hasLocation
  emit(state, out, kind.done, event, isUnchanged ? rawText : undefined)
}

function normaliseItemAdded(state: NormaliserState, event: WireEvent, rawText: string | undefined, out: Frame[]): void {
  const { item } = event
  if (!isObject(item) || !isFilled(item['type'])) return skip(state)
  const index = isIndex(event.output_index) ? event.output_index : state.snapshot.items.size
  if (state.snapshot.items.has(index)) return skip(state)
  // A call without a name waits until it is done.
  if (isCall(item['type']) && !isFilled(item['name'])) return
  addItem(state, index, event, item, rawText, out)
}

function finishItem(state: NormaliserState, event: WireEvent, rawText: string | undefined, out: Frame[]): void {
  const { item: stated } = event
  if (!isObject(stated) || !isFilled(stated['type'])) return skip(state)
  const index = indexOf(state, event)
  const known = openCall(state, stated['call_id']) ?? state.snapshot.items.get(index)
  if (known !== undefined && (known.isDone || known.type !== stated['type'])) return skip(state)
  if (known === undefined && isCall(stated['type']) && !isFilled(stated['name'])) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it called a tool without naming it' })
  }
  const item = known ?? insertItem(state, index, stated, out)
  closeItem(state, item, event, stated, rawText, out)
  state.scans.delete(item.index)
}

/** The open call with this id: `output_item.done` can come under another index. */
function openCall({ snapshot, callIds }: NormaliserState, callId: unknown): ItemSnapshot | undefined {
  const item = isFilled(callId) ? snapshot.items.get(callIds.get(callId) ?? -1) : undefined
  return item?.isDone === false ? item : undefined
}

function normalisePartAdded(
  state: NormaliserState,
  container: PartContainer,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const { part } = event
  if (!isObject(part)) return skip(state)
  const item = itemFor(state, event, itemTypeOf(container, part['type']), out)
  if (item === undefined) return skip(state)
  const names = partEvents[container]
  const position = item[container].length
  if (isIndex(event[names.index]) && Number(event[names.index]) < position) return skip(state)
  const isUnchanged = [
    settle(event, 'item_id', item.id),
    settle(event, 'output_index', item.index),
    settle(event, names.index, position),
    emptyPart(part),
  ].every(Boolean)
  emit(state, out, names.added, event, isUnchanged ? rawText : undefined)
}

function normalisePartDone(
  state: NormaliserState,
  container: PartContainer,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const { part: stated } = event
  if (!isObject(stated)) return skip(state)
  const item = itemFor(state, event, itemTypeOf(container, stated['type']), out)
  if (item === undefined) return skip(state)
  const names = partEvents[container]
  const position = positionIn(item[container], event[names.index])
  const part = item[container][position] ?? openPart(state, item, container, position, stated, out)
  if (part.isClosed) return skip(state)
  emitPartRemainder(state, item, part, stated, out)
  const { kind } = part
  const isUnchanged = [
    settle(event, 'item_id', item.id),
    settle(event, 'output_index', item.index),
    settle(event, names.index, position),
    kind === undefined || isFilled(stated[kind.key]) || settle(stated, kind.key, part.text),
  ].every(Boolean)
  emit(state, out, names.done, event, isUnchanged ? rawText : undefined)
}

function normaliseAnnotation(
  state: NormaliserState,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const item = itemFor(state, event, 'message', out)
  if (item === undefined) return skip(state)
  const target = targetFor(state, item, textKinds.text, event, out)
  const part = item.content[target?.text.index ?? -1]
  if (target === undefined || part === undefined) return skip(state)
  const hasLocation = settleLocation(event, target)
  const isUnchanged = settle(event, 'annotation_index', part.annotations.length) && hasLocation
  emit(state, out, 'response.output_text.annotation.added', event, isUnchanged ? rawText : undefined)
}

/** Events of other items, and events we do not know. */
function normaliseOther(
  state: NormaliserState,
  type: string,
  event: WireEvent,
  rawText: string | undefined,
  out: Frame[],
): void {
  const isOfItem = event.item_id !== undefined || type.startsWith('response.web_search_call.')
  if (!isOfItem) return emit(state, out, type, event, rawText)
  const item = state.snapshot.items.get(indexOf(state, event))
  if (item === undefined) return skip(state)
  const hasId = settle(event, 'item_id', item.id)
  const isUnchanged = settle(event, 'output_index', item.index) && hasId
  emit(state, out, type, event, isUnchanged ? rawText : undefined)
}

function itemTypeOf(container: PartContainer, part: unknown): string {
  return container === 'summary' ? textKinds.summary.item : (kindOfPart(part)?.item ?? 'message')
}

function skip(state: NormaliserState): void {
  state.skipped += 1
}
