import { Fault } from '../../../errors.ts'
import type { SseEvent } from '../../../sse/decode.ts'
import { refuseDamaged, toStreamFault } from '../../engine/reply/stream-fault.ts'
import { isFilled, isObject, parseObject } from '../../../json/json.ts'
import type { ItemSnapshot } from '../snapshot.ts'
import {
  type PartContainer,
  type TextKind,
  deltaKinds,
  doneKinds,
  kindOfPart,
  partEvents,
  textKinds,
} from '../text-events.ts'
import type { WireEvent } from '../wire.ts'
import { addItem, closeItem, indexOf, insertItem, isCall, itemFor } from '../write-stream/write-items.ts'
import {
  emitPartRemainder,
  emitRemainder,
  emptyPart,
  openPart,
  positionIn,
  settleLocation,
  targetFor,
} from '../write-stream/write-texts.ts'
import { type Frame, beginFrames, emit, isIndex, settle } from '../write-stream/writer.ts'
import { normaliseDelta } from './deltas.ts'
import { ensureOpen, normaliseEnd, normaliseProgress } from './lifecycle.ts'
import type { NormaliserState } from './state.ts'
import {
  bufferArguments,
  bufferWrapper,
  closeBuffered,
  expandWrapper,
  remapIndex,
  restoreName,
  restoreOutput,
} from './wrapper-calls.ts'

const nothing: readonly Frame[] = []

/**
 * Returns the events that one upstream event adds to the reply. Every reader of a Responses upstream reads these
 * frames: `forward-stream.ts` for callers of the same dialect, `decode-stream.ts` for all others. Repairs the quirks of
 * docs/copilot-wire.md, "Responses stream", and nothing else: an event that needs no repair keeps its text. Once
 * `state.done` is true, the final event has been returned, and later events add nothing.
 * @throws Fault `upstream_failed`, `upstream_status` for a failure upstream reports, `upstream_unusable` for data that
 * is not JSON and for runaway whitespace in a call
 */
export function normaliseEvent(state: NormaliserState, { event: name, data }: SseEvent): readonly Frame[] {
  if (state.done || data === '') return nothing
  const event = parseObject(data)
  if (event === undefined) return readNonJson(state, name, data)
  const { type } = event
  beginFrames(state, event, data)
  const kind = typeof type === 'string' ? deltaKinds.get(type) : undefined
  if (kind === undefined) readEvent(state, name, event)
  else if (!bufferArguments(state, kind, event)) {
    remapIndex(state, event)
    normaliseDelta(state, kind, event)
  }
  return state.frames
}

/** `[DONE]` is an end mark of other dialects, which some servers send here too. */
function readNonJson(state: NormaliserState, name: string, data: string): readonly Frame[] {
  if (name === 'error') throw toStreamFault(data, state.seed.redact)
  if (data.startsWith('[DONE]')) return nothing
  refuseDamaged(data)
  state.skipped += 1
  return nothing
}

function readEvent(state: NormaliserState, name: string, event: WireEvent): void {
  const { type, object, status } = event
  if (isFilled(type)) return readTyped(state, type, event)
  if (name === 'error' || event.error || isFilled(event.message))
    throw toStreamFault(event.error ?? event, state.seed.redact)
  // A server that does not stream answers with the response object itself.
  if (object === 'response') {
    const end = status === 'failed' || status === 'incomplete' ? `response.${status}` : 'response.completed'
    return readTyped(state, end, { type: end, sequence_number: 0, response: event })
  }
  if (name === '') return skip(state)
  settle(state, event, 'type', name)
  readTyped(state, name, event)
}

function readTyped(state: NormaliserState, type: string, event: WireEvent): void {
  switch (type) {
    case 'error':
      state.error = errorOf(event)
      throw toStreamFault(state.error, state.seed.redact)
    case 'response.failed':
      state.failed = event
      state.failedText = event === state.event && !state.isChanged ? state.rawText : undefined
      throw toStreamFault(isObject(event.response) ? event.response['error'] : undefined, state.seed.redact)
    case 'response.cancelled':
      throw new Fault({ kind: 'upstream_failed', message: 'The provider cancelled the response.', code: 'cancelled' })
    case 'response.created':
    case 'response.queued':
    case 'response.in_progress':
      return normaliseProgress(state, type, event)
    case 'response.completed':
    case 'response.incomplete':
      return readEnd(state, type, event)
    default:
      // Checked, because the type is written as a line of the stream.
      if (/[\r\n]/.test(type)) return skip(state)
      if (isServerNotice(state, type) || isBuffered(state, type, event)) return
      ensureOpen(state)
      normaliseItemEvent(state, type, event)
  }
}

/** The error, flat or nested. The status may be beside it. */
function errorOf(event: WireEvent): unknown {
  const { error, status } = event
  return isObject(error) && error['status'] === undefined ? { ...error, status } : (error ?? event)
}

/**
 * Events about the server, not about the answer (docs/codex-wire.md, "Event stream"). A keepalive does not open a
 * response.
 */
function isServerNotice({ id }: NormaliserState, type: string): boolean {
  return type.startsWith('codex.') || type === 'response.metadata' || (type === 'keepalive' && id === '')
}

/** Events of a wrapper call. The wrapper's calls are emitted when it is done. */
function isBuffered(state: NormaliserState, type: string, event: WireEvent): boolean {
  if (type === 'response.output_item.added') return bufferWrapper(state, event)
  return type === textKinds.arguments.done && bufferArguments(state, textKinds.arguments, event)
}

function readEnd(state: NormaliserState, type: string, event: WireEvent): void {
  const { response } = event
  if (type === 'response.completed') {
    for (const done of closeBuffered(state, isObject(response) ? response['output'] : undefined)) {
      ensureOpen(state)
      normaliseItemDone(state, done)
    }
  }
  if (isObject(response)) restoreOutput(state, response)
  normaliseEnd(state, type, event)
}

function normaliseItemEvent(state: NormaliserState, type: string, event: WireEvent): void {
  if (type === 'response.output_item.done') return normaliseItemDone(state, event)
  remapIndex(state, event)
  switch (type) {
    case 'response.output_item.added':
      return normaliseItemAdded(state, event)
    case partEvents.content.added:
      return normalisePartAdded(state, 'content', event)
    case partEvents.summary.added:
      return normalisePartAdded(state, 'summary', event)
    case partEvents.content.done:
      return normalisePartDone(state, 'content', event)
    case partEvents.summary.done:
      return normalisePartDone(state, 'summary', event)
    case 'response.output_text.annotation.added':
      return normaliseAnnotation(state, event)
    default: {
      const delta = deltaKinds.get(type)
      if (delta !== undefined) return normaliseDelta(state, delta, event)
      const done = doneKinds.get(type)
      if (done !== undefined) return normaliseTextDone(state, done, event)
      return normaliseOther(state, type, event)
    }
  }
}

/** An item that is done: one item, or the calls that a wrapper contains. */
function normaliseItemDone(state: NormaliserState, event: WireEvent): void {
  const expanded = expandWrapper(state, event)
  if (expanded === undefined) {
    remapIndex(state, event)
    restoreName(state, event.item)
  }
  for (const each of expanded ?? [event]) finishItem(state, each)
}

function normaliseTextDone(state: NormaliserState, kind: TextKind, event: WireEvent): void {
  const item = itemFor(state, event, kind.item)
  const target = item && targetFor(state, item, kind, event)
  if (target === undefined || target.text.isDone) return
  const stated = event[kind.key]
  const isBlank = typeof stated !== 'string' || stated.trim() === ''
  // `output_item.done` decides whether a call without arguments is complete.
  if (kind === textKinds.arguments && isBlank && target.text.text.trim() === '') return
  emitRemainder(state, target, stated)
  settleLocation(state, event, target.item, kind.container, target.text.index)
  if (!isFilled(stated)) settle(state, event, kind.key, target.text.text)
  emit(state, kind.done, event)
}

function normaliseItemAdded(state: NormaliserState, event: WireEvent): void {
  const { item } = event
  restoreName(state, item)
  if (!isObject(item) || !isFilled(item['type'])) return skip(state)
  const index = isIndex(event.output_index) ? event.output_index : state.snapshot.items.size
  if (state.snapshot.items.has(index)) return skip(state)
  // A call without a name is emitted when it is done.
  if (isCall(item['type']) && !isFilled(item['name'])) return
  addItem(state, index, event, item)
}

function finishItem(state: NormaliserState, event: WireEvent): void {
  const { item: stated } = event
  if (!isObject(stated) || !isFilled(stated['type'])) return skip(state)
  const index = indexOf(state, event)
  const known = openCall(state, stated['call_id']) ?? state.snapshot.items.get(index)
  if (known !== undefined && (known.isDone || known.type !== stated['type'])) return skip(state)
  if (known === undefined && isCall(stated['type']) && !isFilled(stated['name'])) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it called a tool without a name' })
  }
  const item = known ?? insertItem(state, index, stated)
  closeItem(state, item, event, stated)
  state.scans.delete(item.index)
}

/** The open call with this id, because `output_item.done` can have another index. */
function openCall({ snapshot, callIds }: NormaliserState, callId: unknown): ItemSnapshot | undefined {
  const item = isFilled(callId) ? snapshot.items.get(callIds.get(callId) ?? -1) : undefined
  return item?.isDone === false ? item : undefined
}

function normalisePartAdded(state: NormaliserState, container: PartContainer, event: WireEvent): void {
  const { part } = event
  if (!isObject(part)) return skip(state)
  const item = itemFor(state, event, itemTypeOf(container, part['type']))
  if (item === undefined) return skip(state)
  const names = partEvents[container]
  const position = item[container].length
  if (isIndex(event[names.index]) && Number(event[names.index]) < position) return skip(state)
  settleLocation(state, event, item, container, position)
  emptyPart(state, part)
  emit(state, names.added, event)
}

function normalisePartDone(state: NormaliserState, container: PartContainer, event: WireEvent): void {
  const { part: stated } = event
  if (!isObject(stated)) return skip(state)
  const item = itemFor(state, event, itemTypeOf(container, stated['type']))
  if (item === undefined) return skip(state)
  const names = partEvents[container]
  const position = positionIn(item[container], event[names.index])
  const part = item[container][position] ?? openPart(state, item, container, position, stated)
  if (part.isClosed) return skip(state)
  emitPartRemainder(state, item, part, stated)
  const { kind } = part
  settleLocation(state, event, item, container, position)
  if (kind !== undefined && !isFilled(stated[kind.key])) settle(state, stated, kind.key, part.text)
  emit(state, names.done, event)
}

function normaliseAnnotation(state: NormaliserState, event: WireEvent): void {
  const item = itemFor(state, event, 'message')
  const target = item && targetFor(state, item, textKinds.text, event)
  const part = item?.content[target?.text.index ?? -1]
  if (item === undefined || part === undefined) return skip(state)
  settleLocation(state, event, item, 'content', part.index)
  settle(state, event, 'annotation_index', part.annotations.length)
  emit(state, 'response.output_text.annotation.added', event)
}

/** Events of other items, and unknown events. */
function normaliseOther(state: NormaliserState, type: string, event: WireEvent): void {
  if (event.item_id !== undefined || type.startsWith('response.web_search_call.')) {
    const item = state.snapshot.items.get(indexOf(state, event))
    if (item === undefined) return skip(state)
    settleLocation(state, event, item, 'item', 0)
  }
  emit(state, type, event)
}

function itemTypeOf(container: PartContainer, part: unknown): string {
  return container === 'summary' ? textKinds.summary.item : (kindOfPart(part)?.item ?? 'message')
}

function skip(state: NormaliserState): void {
  state.skipped += 1
}
