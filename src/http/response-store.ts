import type { ReplyRecord } from '../translate/dialect.ts'

type JsonObject = Readonly<Record<string, unknown>>

/** A reply of the Responses API that later requests may refer to. */
export interface StoredResponse {
  readonly response: JsonObject
  /** Everything the model was given, earlier replies included. */
  readonly input: readonly JsonObject[]
}

/**
 * Replies that callers asked to keep (`store`). Copilot keeps none itself, so they live here: in memory, for an hour, as
 * many as fit. Gone with the process, as any cache.
 */
export interface ResponseStore {
  readonly put: (record: ReplyRecord, input: readonly JsonObject[]) => void
  readonly get: (id: string) => StoredResponse | undefined
  readonly remove: (id: string) => boolean
  /** Output and input items by their ids, for `item_reference`; of several the newest. All in one walk. */
  readonly items: (ids: readonly string[]) => ReadonlyMap<string, JsonObject>
}

export interface ResponseStoreLimits {
  readonly maxAgeMs: number
  readonly maxEntries: number
  /** As JSON text, which the values in memory exceed by a small factor. */
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
  // In the order of last use: a Map iterates by insertion.
  const entries = new Map<string, Entry>()
  let chars = 0

  function drop(id: string): boolean {
    const entry = entries.get(id)
    if (entry === undefined) return false
    chars -= entry.chars
    return entries.delete(id)
  }

  function live(id: string): Entry | undefined {
    const entry = entries.get(id)
    if (entry === undefined) return undefined
    if (now() - entry.storedAtMs > limits.maxAgeMs) {
      drop(id)
      return undefined
    }
    return entry
  }

  return {
    put({ id, response }, input) {
      drop(id)
      const entry = { response, input, chars: JSON.stringify([response, input]).length, storedAtMs: now() }
      if (entry.chars > limits.maxChars) return
      entries.set(id, entry)
      chars += entry.chars
      for (const oldest of entries.keys()) {
        if (entries.size <= limits.maxEntries && chars <= limits.maxChars) break
        drop(oldest)
      }
    },
    get(id) {
      const entry = live(id)
      if (entry === undefined) return undefined
      entries.delete(id)
      entries.set(id, entry)
      return entry
    },
    remove: (id) => live(id) !== undefined && drop(id),
    items(ids) {
      const wanted = new Set<unknown>(ids)
      const found = new Map<string, JsonObject>()
      for (const key of [...entries.keys()].toReversed()) {
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

/** The items a reply added to the conversation. */
export function outputOf(response: JsonObject): readonly JsonObject[] {
  const { output } = response
  return Array.isArray(output) ? output.filter((item) => typeof item === 'object' && item !== null) : []
}
