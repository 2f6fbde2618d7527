import { Fault } from '../../../errors.ts'

/** The size of an answer that is folded into one body. Characters, and a few for each member of a list or an object. */
export interface FoldSize {
  length: number
}

const MiB = 1024 * 1024

/** Far more than any model writes, and far less than the longest string that V8 can hold. */
const maxLength = 32 * MiB

export function startFoldSize(): FoldSize {
  return { length: 0 }
}

/**
 * Counts what an event adds to an answer.
 * @throws Fault `upstream_unusable` for an answer that is too long for one body
 */
export function grow(size: FoldSize, added: number): void {
  size.length += added
  if (size.length <= maxLength) return
  const detail = `its answer is longer than ${maxLength / MiB} MB, which is the limit without "stream": true`
  throw new Fault({ kind: 'upstream_unusable', detail })
}

/** Its members count too, because a list of empty objects takes memory. */
export function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let length = 8
  for (const inner of Object.values(value)) length += 8 + lengthOf(inner)
  return length
}

/** Of the lists in a value: repeated objects replace each other, and repeated lists are joined. */
export function lengthOfLists(value: unknown): number {
  if (Array.isArray(value)) return lengthOf(value)
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  for (const inner of Object.values(value)) if (Array.isArray(inner)) length += lengthOf(inner)
  return length
}
