import { createLruMap } from '../cache/lru-map.ts'
import type { ReplyMemory } from '../translate/reply-memory.ts'

/**
 * Opaque reasoning of replies with tool calls, for callers that do not return it themselves. Kept in memory, up to the
 * limits. A running tool loop loses none of its entries, because each request recalls every earlier call.
 */
export type ReasoningCache = ReplyMemory['reasoning']

export interface ReasoningCacheLimits {
  /** Since the last use. */
  readonly maxAgeMs: number
  /** Call ids. */
  readonly maxEntries: number
  /** Ids and values. A value counts once per call id, although it is in memory once. */
  readonly maxChars: number
}

interface Entry {
  readonly opaque: string
  usedAtMs: number
}

const defaultCacheLimits: ReasoningCacheLimits = {
  maxAgeMs: 3_600_000,
  maxEntries: 10_240,
  maxChars: 32 * 1024 * 1024,
}

/** @param now ms since epoch */
export function createReasoningCache(
  now: () => number,
  limits: ReasoningCacheLimits = defaultCacheLimits,
): ReasoningCache {
  const entries = createLruMap<Entry>({
    maxEntries: limits.maxEntries,
    maxSize: limits.maxChars,
    sizeOf: ({ opaque }, callId) => callId.length + opaque.length,
    isStale: ({ usedAtMs }) => now() - usedAtMs > limits.maxAgeMs,
  })

  return {
    keep({ callIds, opaque }) {
      for (const callId of callIds) entries.set(callId, { opaque, usedAtMs: now() })
    },
    recall(callId) {
      const entry = entries.get(callId)
      if (entry !== undefined) entry.usedAtMs = now()
      return entry?.opaque
    },
  }
}
