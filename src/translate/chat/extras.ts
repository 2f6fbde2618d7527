import { isObject } from './wire-chunk.ts'
import type { WireChunk } from './wire-chunk.ts'

/** Keys we do not know, kept for the caller. */
export type Extras = Readonly<Record<string, unknown>>

/** Keys every chunk has; what they say is not an extra. */
export function isEnvelopeKey(key: string): boolean {
  switch (key) {
    case 'id':
    case 'object':
    case 'created':
    case 'model':
    case 'choices':
    case 'usage':
      return true
    default:
      return false
  }
}

/** Keys that come with every chunk, or mean nothing but to the chunk they come with. */
const repeatedKeys: ReadonlySet<string> = new Set(['system_fingerprint', 'service_tier', 'obfuscation'])

/** null, '' and absent all mean that upstream had nothing to say. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** What a chunk without a choice has to say that no other chunk says; undefined where there is nothing. */
export function extrasOf(chunk: WireChunk): Extras | undefined {
  const extras = Object.entries(chunk).filter(
    ([key, value]) => !isEnvelopeKey(key) && !repeatedKeys.has(key) && !isBlank(value),
  )
  // Not assignment by key: `__proto__` is a key like any other in JSON.
  return extras.length === 0 ? undefined : Object.fromEntries(extras)
}

export function mergeExtras(before: Extras | undefined, after: Extras): Extras
export function mergeExtras(before: Extras | undefined, after: Extras | undefined): Extras | undefined
export function mergeExtras(before: Extras | undefined, after: Extras | undefined): Extras | undefined {
  if (before === undefined || after === undefined) return before ?? after
  const merged = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(after)) merged.set(key, mergeValue(merged.get(key), value))
  return Object.fromEntries(merged)
}

/**
 * What two chunks say under one key: arrays append, objects merge (their arrays append too), otherwise the later one
 * holds. A blank never erases.
 */
export function mergeValue(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return mergeLeaf(before, after)
  const merged = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(after)) merged.set(key, mergeLeaf(merged.get(key), value))
  return Object.fromEntries(merged)
}

function mergeLeaf(before: unknown, after: unknown): unknown {
  if (before !== undefined && isBlank(after)) return before
  return Array.isArray(before) && Array.isArray(after) ? [...before, ...after] : after
}
