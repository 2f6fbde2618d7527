import { scanArguments, startArgumentScan } from '../../engine/reply/argument-scan.ts'
import type { ItemSnapshot } from '../snapshot.ts'
import { type TextKind, textKinds } from '../text-events.ts'
import type { WireEvent } from '../wire.ts'
import { itemFor } from '../write-stream/write-items.ts'
import { type TextTarget, settleLocation, targetFor } from '../write-stream/write-texts.ts'
import { emit, send, settle } from '../write-stream/writer.ts'
import { endEarly, ensureOpen, isCompleteJson } from './lifecycle.ts'
import type { NormaliserState } from './state.ts'
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
