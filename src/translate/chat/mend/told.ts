import { Fault } from '../../../errors.ts'
import { isFilled } from '../../parts/wire-json.ts'
import type { WireDelta } from '../wire-chunk.ts'

/**
 * How much of an answer was said. A final event of the Responses dialect repeats the answer whole; what is left to say
 * of it begins where this ends. Only the length and the last piece are kept: the text itself would hold every stream in
 * memory twice. Updated in place.
 */
export interface Told {
  readonly content: ToldText
  readonly refusal: ToldText
  reasoning: boolean
}

/** A text so far, as upstream wrote it. `length` in UTF-16 units; `last` is its last piece. */
interface ToldText {
  length: number
  last: string
}

export function startTold(): Told {
  return { content: { length: 0, last: '' }, refusal: { length: 0, last: '' }, reasoning: false }
}

export function noteTold(told: Told, delta: WireDelta): void {
  const { content, refusal, reasoning_text: reasoning } = delta
  if (isFilled(content)) note(told.content, content)
  if (isFilled(refusal)) note(told.refusal, refusal)
  if (!told.reasoning && isFilled(reasoning)) told.reasoning = true
}

function note(text: ToldText, piece: string): void {
  text.length += piece.length
  text.last = piece
}

/**
 * What is left to say of a whole text.
 * @throws Fault `upstream_unusable` when it goes on from something else than what was said
 */
export function restOf({ length, last }: ToldText, whole: string): string {
  if (whole.length <= length) return ''
  if (!whole.startsWith(last, length - last.length)) throw contradiction()
  return whole.slice(length)
}

/** Upstream's final event and what it said before are two different answers, and neither can be trusted. */
export function contradiction(): Fault {
  return new Fault({ kind: 'upstream_unusable', detail: 'its last event is not the answer it had begun' })
}
