import { scanArguments, startArgumentScan } from '../../../parts/argument-scan.ts'
import { learnTemplate, matchTemplate, renderMatch } from '../../../parts/event-template.ts'
import type { ItemSnapshot } from '../../snapshot.ts'
import { type TextKind, deltaKinds, partEvents, textKinds } from '../../text-events.ts'
import type { WireEvent } from '../../wire.ts'
import { itemFor } from '../../writer/items.ts'
import { type TextTarget, settleLocation, targetFor } from '../../writer/texts.ts'
import { type Frame, beginFrames, emit, send, settle } from '../../writer/writer.ts'
import { endEarly, ensureOpen, isCompleteJson } from './lifecycle.ts'
import type { NormaliserState, RepeatedDelta } from './state.ts'
import { refuseWhitespace } from './wrapper-calls.ts'

/** Emits a delta. Opens its item and its part if upstream did not. */
export function normaliseDelta(state: NormaliserState, kind: TextKind, event: WireEvent): void {
  const { delta } = event
  if (typeof delta !== 'string') {
    state.skipped += 1
    return
  }
  ensureOpen(state)
  const item = itemFor(state, event, kind.item)
  const target = item && targetFor(state, item, kind, event)
  // A call without a name so far is emitted when it is done. A delta after the end of its text is upstream's mistake.
  if (target === undefined || target.text.isDone) return
  settleLocation(state, event, target.item, kind.container, target.text.index)
  const kept = takePiece(state, target, delta)
  if (kept < delta.length) endWhitespace(state, target.item, event, delta.slice(0, kept))
  else send(state, kind.delta, event)
}

/** Appends a piece to its text. Returns how many of its characters to keep; appends nothing if it keeps only some. */
function takePiece(state: NormaliserState, { kind, item, text }: TextTarget, piece: string): number {
  const kept = kind === textKinds.arguments ? scanPiece(state, item, piece) : piece.length
  if (kept === piece.length) text.text += piece
  return kept
}

function scanPiece(state: NormaliserState, { index }: ItemSnapshot, piece: string): number {
  let scan = state.scans.get(index)
  if (scan === undefined) {
    scan = startArgumentScan()
    state.scans.set(index, scan)
  }
  return scanArguments(scan, piece)
}

/**
 * Ends the answer at runaway whitespace.
 * @param event of the last piece, with its location settled
 * @throws Fault `upstream_unusable` if the arguments are incomplete
 */
function endWhitespace(state: NormaliserState, { call }: ItemSnapshot, event: WireEvent, kept: string): void {
  const piece = kept.trimEnd()
  if (!isCompleteJson(call.text + piece)) refuseWhitespace()
  if (piece !== '') {
    settle(state, event, 'delta', piece)
    emit(state, textKinds.arguments.delta, event)
  }
  endEarly(state)
}

/**
 * Reads a delta that repeats an earlier one, without a parse. Undefined if it repeats none, or if normalising it would
 * change more than its template fields.
 */
export function matchDelta(state: NormaliserState, data: string): RepeatedDelta | undefined {
  const event = matchTemplate(state.templates, data)
  if (event === undefined) return undefined
  // The location is not a template field, so one look-up serves all deltas of a template while their text is open.
  if (state.repeated?.event !== event) {
    const target = targetOf(state, event)
    state.repeated = target && { event, ...target }
  }
  return state.repeated && isOpen(state, state.repeated) ? state.repeated : undefined
}

/** Emits a delta that matched a template. Renders it again if its id or its number changes. */
export function emitRepeated(state: NormaliserState, repeated: RepeatedDelta, data: string): readonly Frame[] {
  const { event, kind, item } = repeated
  const hasId = event.item_id === item.id
  event.item_id = item.id
  // Templates are learned only from deltas whose text is a string.
  const delta = String(event.delta)
  const kept = takePiece(state, repeated, delta)
  if (kept < delta.length) {
    beginFrames(state)
    endWhitespace(state, item, event, delta.slice(0, kept))
    return state.frames
  }
  const { next } = state
  state.next += 1
  const isUnchanged = event.sequence_number === next && hasId
  event.sequence_number = next
  const json = isUnchanged ? undefined : renderMatch(state.templates, data, [undefined, item.idLiteral, String(next)])
  return [{ type: kind.delta, event, rawText: isUnchanged ? data : undefined, json, upstreamId: undefined }]
}

/**
 * Stores the template of a delta.
 * @param id as upstream sent it
 */
export function learnDelta(state: NormaliserState, data: string, id: unknown): void {
  // An id that is not a string cannot be a template field, because it would stay as normalised.
  if (state.frames.length !== 1 || typeof id !== 'string') return
  learnTemplate(state.templates, data, (event) => {
    const target = targetOf(state, event)
    if (target === undefined || !isOpen(state, target)) return undefined
    event['sequence_number'] = 0
    event['obfuscation'] = undefined
    return true
  })
}

/** The text of a delta whose location needs no repair. */
function targetOf({ snapshot }: NormaliserState, event: WireEvent): TextTarget | undefined {
  const { type, output_index: index } = event
  const kind = deltaKinds.get(String(type))
  const item = typeof index === 'number' ? snapshot.items.get(index) : undefined
  if (kind === undefined || item?.type !== kind.item) return undefined
  if (kind.container === 'item') return { kind, item, text: item.call }
  const position = event[partEvents[kind.container].index]
  const part = typeof position === 'number' ? item[kind.container][position] : undefined
  return part?.kind === kind ? { kind, item, text: part } : undefined
}

/** Whether deltas of the text need no change: nothing must be opened, remapped or buffered. */
function isOpen({ indices, buffered }: NormaliserState, { kind, item, text }: TextTarget): boolean {
  // After a wrapper was expanded, upstream's indices differ from the caller's.
  if (item.isDone || text.isDone || indices.size > 0) return false
  return buffered.size === 0 || kind !== textKinds.arguments
}
