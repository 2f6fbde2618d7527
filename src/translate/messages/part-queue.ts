import type { Opaque } from '../turn.ts'
import type { PartEvent } from './block-writer.ts'

/** One part of a reply that is not written yet, or not to its end. */
export interface Part {
  readonly slot: number
  /** What came before its turn. */
  waiting: PartEvent[]
  signature: Opaque | undefined
  closed: boolean
  next: Part | undefined
}

/**
 * The parts of a reply in the order they were first seen. Parts may interleave in a turn but not in a Messages stream,
 * where one block is open at a time: only the first part here is written, the others wait. Updated in place.
 */
export interface PartQueue {
  readonly bySlot: Map<number, Part>
  first: Part | undefined
  last: Part | undefined
}

export function startPartQueue(): PartQueue {
  return { bySlot: new Map(), first: undefined, last: undefined }
}

/** The part of a slot, queued if it is new. */
export function partOf(queue: PartQueue, slot: number): Part {
  // The common case: one part after the other.
  if (queue.first?.slot === slot) return queue.first
  const known = queue.bySlot.get(slot)
  if (known !== undefined) return known
  const part: Part = { slot, waiting: [], signature: undefined, closed: false, next: undefined }
  if (queue.last === undefined) queue.first = part
  else queue.last.next = part
  queue.last = part
  queue.bySlot.set(slot, part)
  return part
}

/** Takes the first part off and returns the one whose turn it is now. */
export function nextPart(queue: PartQueue): Part | undefined {
  const { first } = queue
  if (first === undefined) return undefined
  queue.bySlot.delete(first.slot)
  queue.first = first.next
  if (queue.first === undefined) queue.last = undefined
  return queue.first
}
