import type { ReplyReasoning } from '../translate/dialect.ts'

/**
 * Opaque reasoning of replies with tool calls, for callers that do not hand it back themselves. In memory, as much as
 * fits; a tool loop that goes on keeps all of its own, for each of its requests recalls every call so far. Gone with the
 * process, as any cache.
 */
export interface ReasoningCache {
  readonly keep: (reasoning: ReplyReasoning) => void
  /** The opaque value of the reply that made the call. */
  readonly recall: (callId: string) => string | undefined
}

export interface ReasoningCacheLimits {
  /** Since the last use. */
  readonly maxAgeMs: number
  /** Ids of calls. */
  readonly maxEntries: number
  /** Ids and values. A value counts for each of its calls, though it is in memory once. */
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
  // In the order of last use: a Map iterates by insertion.
  const entries = new Map<string, Entry>()
  let chars = 0

  function drop(callId: string): void {
    const entry = entries.get(callId)
    if (entry === undefined) return
    chars -= callId.length + entry.opaque.length
    entries.delete(callId)
  }

  function keepOne(callId: string, opaque: string): void {
    // Whatever was known of the id is of another reply.
    drop(callId)
    const size = callId.length + opaque.length
    if (size > limits.maxChars) return
    entries.set(callId, { opaque, usedAtMs: now() })
    chars += size
    for (const oldest of entries.keys()) {
      if (entries.size <= limits.maxEntries && chars <= limits.maxChars) break
      drop(oldest)
    }
  }

  return {
    keep({ callIds, opaque }) {
      for (const callId of callIds) keepOne(callId, opaque)
    },
    recall(callId) {
      const entry = entries.get(callId)
      if (entry === undefined) return undefined
      if (now() - entry.usedAtMs > limits.maxAgeMs) {
        drop(callId)
        return undefined
      }
      entry.usedAtMs = now()
      entries.delete(callId)
      entries.set(callId, entry)
      return entry.opaque
    },
  }
}
