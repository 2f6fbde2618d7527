import { createLruMap } from '../cache/lru-map.ts'
import type { ReplyRecord } from '../translate/dialect.ts'

type JsonObject = Readonly<Record<string, unknown>>

/** A reply of the Responses API that later requests can refer to. */
export interface StoredResponse {
  readonly response: JsonObject
  /** The complete input of the model, with earlier replies. */
  readonly input: readonly JsonObject[]
}

/**
 * Replies that callers asked to keep (`store`), because Copilot keeps none. Kept in memory for an hour, up to the limits.
 */
export interface ResponseStore {
  readonly put: (record: ReplyRecord, input: readonly JsonObject[]) => void
  readonly get: (id: string) => StoredResponse | undefined
  readonly remove: (id: string) => boolean
  /** Finds output and input items by id, for `item_reference`. The newest item of an id wins. */
  readonly items: (ids: readonly string[]) => ReadonlyMap<string, JsonObject>
}

export interface ResponseStoreLimits {
  readonly maxAgeMs: number
  readonly maxEntries: number
  /** The length as JSON text; the values in memory take a small multiple of it. */
  readonly maxChars: number
}

interface Entry extends StoredResponse {
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
  const entries = createLruMap<Entry>({
    maxEntries: limits.maxEntries,
    maxSize: limits.maxChars,
    sizeOf: ({ chars }) => chars,
  })

  function live(id: string): Entry | undefined {
    const entry = entries.peek(id)
    if (entry === undefined || now() - entry.storedAtMs <= limits.maxAgeMs) return entry
    entries.delete(id)
    return undefined
  }

  return {
    put({ id, response }, input) {
      entries.set(id, { response, input, chars: JSON.stringify([response, input]).length, storedAtMs: now() })
    },
    get: (id) => live(id) && entries.get(id),
    remove: (id) => live(id) !== undefined && entries.delete(id),
    items(ids) {
      const wanted = new Set<unknown>(ids)
      const found = new Map<string, JsonObject>()
      for (const key of entries.keys().toReversed()) {
        if (found.size === wanted.size) break
        const entry = live(key)
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
export function outputOf(response: JsonObject): readonly JsonObject[] {
  const { output } = response
  return Array.isArray(output) ? output.filter((item) => typeof item === 'object' && item !== null) : []
}
