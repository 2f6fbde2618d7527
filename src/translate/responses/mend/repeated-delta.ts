import { learnTemplate, matchTemplate, renderMatch } from '../../parts/event-template.ts'
import { deltaKinds, partEvents, textKinds } from '../text-events.ts'
import type { WireEvent } from '../wire-event.ts'
import { tellDelta } from './delta.ts'
import type { DeltaSpot } from './delta.ts'
import type { Frame, MendState } from './mend-state.ts'

/** A delta that is an earlier one but for its holes. */
interface RepeatedDelta {
  readonly event: WireEvent
  readonly spot: DeltaSpot
  readonly delta: string
}

/**
 * The delta that repeats an earlier one, without a parse; undefined where it does not, or where mending would change more
 * of it than its holes.
 */
export function matchDelta(state: MendState, text: string): RepeatedDelta | undefined {
  const event = matchTemplate(state.templates, text)
  const spot = event && spotOf(state, event)
  if (event === undefined || spot === undefined || typeof event['delta'] !== 'string') return undefined
  return { event, spot, delta: event['delta'] }
}

/** Tells of a delta that matched a text, which is rendered anew where its own is not right. */
export function tellRepeated(state: MendState, repeated: RepeatedDelta, text: string): readonly Frame[] {
  const { event, spot, delta } = repeated
  const out: Frame[] = []
  tellDelta(state, spot, event, delta, text, out)
  const [frame] = out
  // With others behind it, it was cut short, and the match says all of it.
  if (frame === undefined || frame.text !== undefined || out.length > 1) return out
  const literals = [undefined, spot.item.idLiteral, String(event.sequence_number)]
  return [{ type: frame.type, event, text: renderMatch(state.templates, text, literals) }]
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
    if (spotOf(state, event) === undefined) return undefined
    event['sequence_number'] = 0
    event['obfuscation'] = undefined
    return true
  })
}

/** Where there is nothing to open, to move or to keep back: the text a delta is of, just where the delta says. */
function spotOf({ calls, draft }: MendState, event: WireEvent): DeltaSpot | undefined {
  const { type, output_index: index } = event
  const kind = deltaKinds.get(String(type))
  // Once a wrapper was taken apart, upstream's indices are not the caller's.
  if (kind === undefined || calls.places.size > 0 || (calls.held.size > 0 && kind === textKinds.arguments))
    return undefined
  const item = typeof index === 'number' ? draft.items.get(index) : undefined
  if (item === undefined || item.isDone || item.type !== kind.item) return undefined
  if (kind.place === 'item') return item.call.isDone ? undefined : { kind, item, told: item.call }
  const position = event[partEvents[kind.place].index]
  const told = typeof position === 'number' ? item[kind.place][position] : undefined
  return told === undefined || told.isDone || told.kind !== kind ? undefined : { kind, item, told }
}
