import type { TurnStop } from '../../turn.ts'
import { toResponseObject } from '../response-object.ts'
import { toResponseUsage } from '../usage.ts'
import type { ResponseEvent, ResponseState, ResponseUsage } from '../wire-event.ts'
import { takeNumber } from './encode-state.ts'
import type { EncodeState } from './encode-state.ts'

/** What cut an answer off; undefined where it is whole. */
type Cut = NonNullable<ResponseState['incomplete_details']>['reason'] | undefined

/** Source: OpenAI API reference, `incomplete_details`, 2026-11. */
const cuts: Readonly<Record<TurnStop, Cut>> = {
  end: undefined,
  stop_sequence: undefined,
  tool_calls: undefined,
  // Nobody goes on with it.
  pause: 'max_output_tokens',
  compaction: undefined,
  max_tokens: 'max_output_tokens',
  context_full: 'max_output_tokens',
  content_filter: 'content_filter',
}

export function isCutBy(reason: TurnStop): boolean {
  return cuts[reason] !== undefined
}

/** Sends the final event, with all items and counts. */
export function sendFinal(state: EncodeState, reason: TurnStop, out: ResponseEvent[]): void {
  const { seed, id, model, output } = state
  const cut = cuts[reason]
  const status = cut === undefined ? 'completed' : 'incomplete'
  const incomplete_details = cut === undefined ? null : { reason: cut }
  const response = toResponseObject(seed, { id, model, status, incomplete_details, output, usage: countsOf(state) })
  state.final = response
  out.push({ type: `response.${status}`, sequence_number: takeNumber(state), response })
}

/** Null where upstream stated none: counts are never made up. */
export function countsOf({ usage }: EncodeState): ResponseUsage | null {
  return usage === undefined ? null : toResponseUsage(usage)
}
