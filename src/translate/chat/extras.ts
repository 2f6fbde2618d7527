import { isObject } from '../parts/wire-json.ts'
import type { WireChunk } from './wire-chunk.ts'

/** Keys we do not know, kept for the caller. */
export type Extras = Readonly<Record<string, unknown>>

/** How a key is treated; all that are not named here are state, of which the last value counts. */
export type KeyKind = 'envelope' | 'repeated' | 'padding' | 'text' | 'state'

/** The one table of keys that are not looked at where they are read. Source: docs/copilot-wire.md, quirks 10, 11. */
export function kindOf(key: string): KeyKind {
  switch (key) {
    // What every chunk says of the reply.
    case 'id':
    case 'object':
    case 'created':
    case 'model':
    case 'choices':
    case 'usage':
      return 'envelope'
    // Come with every chunk and say the same.
    case 'system_fingerprint':
    case 'service_tier':
      return 'repeated'
    // Random filling that hides the length of a chunk; elsewhere it says nothing.
    case 'obfuscation':
    case 'padding':
      return 'padding'
    // Pieces of one readable text.
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

/** null, '' and absent all mean that upstream had nothing to say. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** What a chunk without a choice has to say that no other chunk says; undefined where there is nothing. */
export function extrasOf(chunk: WireChunk): Extras | undefined {
  const extras = Object.entries(chunk).filter(([key, value]) => {
    const kind = kindOf(key)
    return (kind === 'state' || kind === 'text') && !isBlank(value)
  })
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
