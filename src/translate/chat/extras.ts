import { isObject, objectOf } from '../../json/json.ts'
import type { WireChunk } from './wire.ts'

/** Unknown keys, kept for the caller. */
export type Extras = Readonly<Record<string, unknown>>

/** How the values of a key merge. For `state`, the last value counts. */
export type KeyKind = 'envelope' | 'repeated' | 'padding' | 'text' | 'state'

/** Source: docs/copilot-wire.md, quirks 10, 11. */
export function kindOf(key: string): KeyKind {
  switch (key) {
    // Identity and structure.
    case 'id':
    case 'object':
    case 'created':
    case 'model':
    case 'choices':
    case 'usage':
      return 'envelope'
    // Identical in every chunk.
    case 'system_fingerprint':
    case 'service_tier':
      return 'repeated'
    // Random text that hides the length of a chunk.
    case 'obfuscation':
    case 'padding':
      return 'padding'
    // Pieces of one text.
    case 'reasoning_text':
    case 'reasoning_content':
    case 'reasoning':
    case 'thinking':
    case 'cot_summary':
      return 'text'
    default:
      return 'state'
  }
}

/** null, '' and absence all mean that there is no value. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** The keys of a chunk without a choice that other chunks do not repeat; undefined if there are none. */
export function extrasOf(chunk: WireChunk): Extras | undefined {
  const extras = Object.entries(chunk).filter(([key, value]) => {
    const kind = kindOf(key)
    return (kind === 'state' || kind === 'text') && !isBlank(value)
  })
  // Not assignment by key, because JSON may have the key `__proto__`.
  return extras.length === 0 ? undefined : Object.fromEntries(extras)
}

export function mergeExtras(before: Extras | undefined, after: Extras): Extras
export function mergeExtras(before: Extras | undefined, after: Extras | undefined): Extras | undefined
export function mergeExtras(before: Extras | undefined, after: Extras | undefined): Extras | undefined {
  if (before === undefined || after === undefined) return before ?? after
  return mergeMembers(before, after, mergeValue)
}

/**
 * Merges two values of one key: arrays append, objects merge (their arrays append too), otherwise the later value
 * counts. A blank value never erases another. The arrays of `before` grow in place, because every chunk may add to one;
 * those of `after` are copied.
 */
export function mergeValue(before: unknown, after: unknown): unknown {
  return isObject(after) ? mergeMembers(objectOf(before), after, mergeLeaf) : mergeLeaf(before, after)
}

function mergeMembers(before: Extras, after: Extras, merge: typeof mergeValue): Extras {
  const merged = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(after)) merged.set(key, merge(merged.get(key), value))
  return Object.fromEntries(merged)
}

function mergeLeaf(before: unknown, after: unknown): unknown {
  if (Array.isArray(after)) return appendAll(Array.isArray(before) ? before : [], after)
  return before !== undefined && isBlank(after) ? before : after
}

export function appendAll(list: unknown[], items: readonly unknown[]): unknown[] {
  // Not `push(...items)`: too many arguments would overflow the stack.
  for (const item of items) list.push(item)
  return list
}
