import { createLruMap } from '../cache/lru-map.ts'
import { type JsonObject, objectsOf } from '../json/json.ts'
import type { ReplyMemory, StoredResponse } from '../translate/reply-memory.ts'

/**
 * Replies that callers asked to keep (`store`), because Copilot keeps none. Kept in memory for an hour, up to the limits.
 */
export type ResponseStore = ReplyMemory['responses'] & { readonly remove: (id: string) => boolean }

export interface ResponseStoreLimits {
  readonly maxAgeMs: number
  readonly maxEntries: number
  /** The length as JSON text; the values in memory take a small multiple of it. */
  readonly maxChars: number
}

interface KeptResponse extends StoredResponse {
  readonly chars: number
  readonly storedAtMs: number
}

const defaultStoreLimits: ResponseStoreLimits = {
  maxAgeMs: 3_600_000,
  maxEntries: 500,
  maxChars: 32 * 1024 * 1024,
}

/** @param now ms since epoch */
export function createResponseStore(
  now: () => number,
  limits: ResponseStoreLimits = defaultStoreLimits,
): ResponseStore {
  const entries = createLruMap<KeptResponse>({
    maxEntries: limits.maxEntries,
    maxSize: limits.maxChars,
    sizeOf: ({ chars }) => chars,
    isStale: ({ storedAtMs }) => now() - storedAtMs > limits.maxAgeMs,
  })

  return {
    put(id, { response, input }) {
      entries.set(id, { response, input, chars: JSON.stringify([response, input]).length, storedAtMs: now() })
    },
    get: entries.get,
    remove: (id) => entries.peek(id) !== undefined && entries.delete(id),
    items(ids) {
      const wanted = new Set<unknown>(ids)
      const found = new Map<string, JsonObject>()
      for (const key of entries.keys().toReversed()) {
        if (found.size === wanted.size) break
        const entry = entries.peek(key)
        if (entry === undefined) continue
        for (const items of [outputOf(entry.response), entry.input]) {
          for (const item of items) {
            const { id } = item
            if (typeof id === 'string' && wanted.has(id) && !found.has(id)) found.set(id, item)
          }
        }
      }
      return found
    },
  }
}

/** The items that a reply added to the conversation. */
function outputOf({ output }: JsonObject): readonly JsonObject[] {
  return objectsOf(output)
}

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

interface KeptReasoning {
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
  const entries = createLruMap<KeptReasoning>({
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
