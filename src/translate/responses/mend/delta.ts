import { Fault } from '../../../errors.ts'
import { scanArguments, startArgumentScan } from '../../parts/argument-scan.ts'
import type { DraftItem, DraftText } from '../fold.ts'
import { partEvents, textKinds } from '../text-events.ts'
import type { TextKind } from '../text-events.ts'
import type { WireEvent } from '../wire-event.ts'
import { endEarly, ensureOpen, isWhole } from './lifecycle.ts'
import { emit, send, settle } from './mend-state.ts'
import type { DeltaSpot, Frame, MendState } from './mend-state.ts'
import { itemFor } from './open-item.ts'
import { textFor } from './tell.ts'

/** A delta; what it is a piece of is opened where upstream did not. */
export function mendDelta(
  state: MendState,
  kind: TextKind,
  event: WireEvent,
  text: string | undefined,
  out: Frame[],
): void {
  if (typeof event.delta !== 'string') {
    state.skipped += 1
    return
  }
  ensureOpen(state, out)
  const item = itemFor(state, event, kind.item, out)
  const told = item && textFor(state, item, kind, event, out)
  // A call that is not open yet is told whole once it is done; what comes after that is a slip.
  if (item === undefined || told === undefined || told.isDone) return
  const right = settleSpot(event, kind, item, told)
  const { delta } = event
  const kept = takePiece(state, { kind, item, told }, delta)
  if (kept < delta.length) endRunaway(state, item, event, delta.slice(0, kept), out)
  else send(state, out, kind.delta, event, right ? text : undefined)
}

/** Notes a piece of a text. Returns how much of it is worth keeping; where that is not all, nothing was noted. */
export function takePiece(state: MendState, { kind, item, told }: DeltaSpot, piece: string): number {
  const kept = kind === textKinds.arguments ? scanPiece(state, item, piece) : piece.length
  if (kept === piece.length) told.text += piece
  return kept
}

/** Gives an event the position and the id of what it tells of. */
export function settleSpot(event: WireEvent, { place }: TextKind, item: DraftItem, told: DraftText): boolean {
  const hasItem = settle(event, 'item_id', item.id)
  const right = settle(event, 'output_index', item.index) && hasItem
  return place === 'item' ? right : settle(event, partEvents[place].index, told.index) && right
}

/** How much of a piece of arguments is worth keeping. */
function scanPiece(state: MendState, { index }: DraftItem, delta: string): number {
  let scan = state.scans.get(index)
  if (scan === undefined) {
    scan = startArgumentScan()
    state.scans.set(index, scan)
  }
  return scanArguments(scan, delta)
}

/**
 * Ends the answer: endless whitespace after the arguments are whole is its end; before that there is no answer.
 * @param event of the last piece, at its right place
 */
export function endRunaway(state: MendState, { call }: DraftItem, event: WireEvent, kept: string, out: Frame[]): void {
  const piece = kept.trimEnd()
  if (!isWhole(call.text + piece)) {
    throw new Fault({
      kind: 'upstream_unusable',
      detail: 'it filled the arguments of a tool call with endless whitespace',
    })
  }
  if (piece !== '') {
    event.delta = piece
    emit(state, out, textKinds.arguments.delta, event, undefined)
  }
  endEarly(state, out)
}
