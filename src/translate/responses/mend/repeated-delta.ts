import { learnTemplate, matchTemplate, renderMatch } from '../../parts/event-template.ts'
import { textAt } from '../fold.ts'
import { deltaKinds } from '../text-events.ts'
import type { WireEvent } from '../wire-event.ts'
import type { Frame, MendState } from './mend-state.ts'

/**
 * The delta that is an earlier one but for its holes, without a parse; undefined where it is not, or where mending would
 * change more of it than them.
 */
export function matchDelta(state: MendState, text: string): WireEvent | undefined {
  const event = matchTemplate(state.templates, text)
  return event !== undefined && isInPlace(state, event) ? event : undefined
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
    if (!isInPlace(state, event)) return undefined
    event['sequence_number'] = 0
    event['obfuscation'] = undefined
    return true
  })
}

/** Gives a delta that matched a text, where mending made upstream's own wrong. */
export function renderDelta(state: MendState, text: string, out: Frame[]): void {
  const [frame] = out
  // With others behind it, it was cut short, and the match says all of it.
  if (frame === undefined || frame.text !== undefined || out.length > 1) return
  const { type, event } = frame
  const item = state.draft.items.get(Number(event.output_index))
  const literals = [undefined, item?.idLiteral, String(event.sequence_number)]
  out[0] = { type, event, text: renderMatch(state.templates, text, literals) }
}

/** Whether the text a delta is of is there already, just where the delta says. */
function isInPlace({ calls, draft }: MendState, event: WireEvent): boolean {
  const kind = deltaKinds.get(String(event.type))
  // Once a wrapper was taken apart, upstream's indices are not the caller's.
  return kind !== undefined && calls.places.size === 0 && textAt(draft, kind, event) !== undefined
}
