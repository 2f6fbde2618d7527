import type { SseEvent } from '../../../sse/decode.ts'
import { learnTemplate, matchTemplate, renderMatch } from '../../parts/event-template.ts'
import { isObject } from '../../parts/wire-json.ts'
import type { WireChunk } from '../wire-chunk.ts'
import type { Frame, MendState } from './mend-state.ts'
import { plainDelta } from './plain.ts'
import { repairWrapping } from './repair.ts'
import { noteTold } from './told.ts'

/**
 * The frame of a chunk that is an earlier one but for its words, without a parse; undefined where it is not, which says
 * nothing about it. Where we are is asked anew: the same chunk may be plain at one time and not at another.
 */
export function repeatedFrame(state: MendState, { event, data }: SseEvent): Frame | undefined {
  if (event !== '' || state.done || state.failure !== undefined) return undefined
  const chunk = matchTemplate(state.templates, data)
  const delta = chunk && plainDelta(state, chunk)
  if (chunk === undefined || delta === undefined) return undefined
  noteTold(state.told, delta)
  return { chunk, text: renderMatch(state.templates, data) }
}

/**
 * Learns a chunk that is plain, or would be in another wrapping: Copilot's Claude names no `object` and no finish in
 * any chunk (docs/copilot-wire.md, quirks 2, 4). What was made of it tells whether that is worth finding out.
 */
export function learnFrame(state: MendState, { event, data }: SseEvent, frames: readonly Frame[]): void {
  const [frame] = frames
  if (event !== '' || frame === undefined || frames.length > 1) return
  const { chunk } = frame
  // Counts were taken out of it, which is more than mending its wrapping.
  if (chunk.usage === undefined && 'usage' in chunk) return
  if (plainDelta(state, chunk) === undefined) return
  learnTemplate(state.templates, data, (learned) => mendWrapping(state, learned))
}

/** Returns whether there was something to mend; undefined where the chunk is not plain for it. */
function mendWrapping(state: MendState, chunk: WireChunk): boolean | undefined {
  const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined
  if (!isObject(choice) || !isObject(choice['delta'])) return undefined
  const isMended = repairWrapping(state, chunk, choice, choice['delta'])
  return plainDelta(state, chunk) === undefined ? undefined : isMended
}
