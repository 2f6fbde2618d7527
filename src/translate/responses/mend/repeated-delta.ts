import { learnTemplate, matchTemplate, renderMatch } from '../../parts/event-template.ts'
import { deltaKinds, partEvents, textKinds } from '../text-events.ts'
import type { WireEvent } from '../wire-event.ts'
import { endRunaway, takePiece } from './delta.ts'
import type { DeltaSpot, Frame, MendState, RepeatedDelta } from './mend-state.ts'

/**
 * The delta that repeats an earlier one, without a parse; undefined where it does not, or where mending would change more
 * of it than its holes.
 */
export function matchDelta(state: MendState, text: string): RepeatedDelta | undefined {
  const event = matchTemplate(state.templates, text)
  if (event === undefined) return undefined
  // What says where it belongs is no hole, so one answer holds for all of them while the text is open.
  if (state.repeated?.event !== event) {
    const spot = spotOf(state, event)
    state.repeated = spot && { event, ...spot }
  }
  return state.repeated && isOpen(state, state.repeated) ? state.repeated : undefined
}

/** Tells of a delta that matched a text, which is rendered anew where its own is not right. */
export function tellRepeated(state: MendState, repeated: RepeatedDelta, text: string): readonly Frame[] {
  const { event, kind, item } = repeated
  const hasId = event.item_id === item.id
  event.item_id = item.id
  // What is learned has a text there, and so has what matches it.
  const delta = String(event.delta)
  const kept = takePiece(state, repeated, delta)
  if (kept < delta.length) {
    const out: Frame[] = []
    endRunaway(state, item, event, delta.slice(0, kept), out)
    return out
  }
  const { next } = state
  state.next += 1
  const isRight = event.sequence_number === next && hasId
  event.sequence_number = next
  const json = isRight ? undefined : renderMatch(state.templates, text, [undefined, item.idLiteral, String(next)])
  return [{ type: kind.delta, event, text: isRight ? text : undefined, json, upstreamId: undefined }]
}

/**
 * Learns a delta that is one of many, whatever its id and its number are.
 * @param id upstream's own
 * @param out what was made of it
 */
export function learnDelta(state: MendState, text: string, id: unknown, out: readonly Frame[]): void {
  // An id that is no text is no hole: it would stay what mending made of it.
  if (out.length !== 1 || typeof id !== 'string') return
  learnTemplate(state.templates, text, (event) => {
    const spot = spotOf(state, event)
    if (spot === undefined || !isOpen(state, spot)) return undefined
    event['sequence_number'] = 0
    event['obfuscation'] = undefined
    return true
  })
}

/** The text a delta is of, just where the delta says. */
function spotOf({ draft }: MendState, event: WireEvent): DeltaSpot | undefined {
  const { type, output_index: index } = event
  const kind = deltaKinds.get(String(type))
  const item = typeof index === 'number' ? draft.items.get(index) : undefined
  if (kind === undefined || item?.type !== kind.item) return undefined
  if (kind.place === 'item') return { kind, item, told: item.call }
  const position = event[partEvents[kind.place].index]
  const told = typeof position === 'number' ? item[kind.place][position] : undefined
  return told?.kind === kind ? { kind, item, told } : undefined
}

/** Whether there is nothing to open, to move or to keep back. */
function isOpen({ calls }: MendState, { kind, item, told }: DeltaSpot): boolean {
  // Once a wrapper was taken apart, upstream's indices are not the caller's.
  if (item.isDone || told.isDone || calls.places.size > 0) return false
  return calls.held.size === 0 || kind !== textKinds.arguments
}
