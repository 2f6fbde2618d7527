import { createLruMap } from '../cache/lru-map.ts'
import { Fault } from '../errors.ts'
import type { CallerDialect } from '../translate/caller-dialect.ts'
import type { CallerRequest, ReplyRecord } from '../translate/dialect.ts'
import { type JsonObject, objectsOf } from '../json/json.ts'

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
    isStale: ({ storedAtMs }) => now() - storedAtMs > limits.maxAgeMs,
  })

  return {
    put({ id, response }, input) {
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

/**
 * Resolves `previous_response_id` and `item_reference` from the response store, because upstream keeps no responses.
 * @throws Fault `invalid_request` (`previous_response_not_found`, `item_not_found`)
 */
export function resolveHistory(dialect: CallerDialect, request: CallerRequest, store: ResponseStore): CallerRequest {
  const { storedHistory } = dialect
  if (storedHistory === undefined) return request
  const { previousId, references } = storedHistory.linkOf(request)
  if (previousId === undefined && references.length === 0) return request
  const previous = previousId === undefined ? undefined : store.get(previousId)
  if (previousId !== undefined && previous === undefined) {
    throw new Fault({
      kind: 'invalid_request',
      path: 'previous_response_id',
      detail: 'this response is not stored (copilot-proxy keeps responses for an hour); send the whole input instead',
      code: 'previous_response_not_found',
    })
  }
  const referenced = store.items(references)
  if (references.some((id) => !referenced.has(id))) {
    throw new Fault({
      kind: 'invalid_request',
      path: 'input',
      detail: 'the item of this item_reference is not stored; send the item itself instead',
      code: 'item_not_found',
    })
  }
  const history = previous === undefined ? [] : [...previous.input, ...outputOf(previous.response)]
  return storedHistory.join(request, history, referenced)
}

/** The items that a reply added to the conversation. */
function outputOf({ output }: JsonObject): readonly JsonObject[] {
  return objectsOf(output)
}
