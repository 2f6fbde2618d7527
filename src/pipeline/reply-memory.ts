import { createLruMap } from '../cache/lru-map.ts'
import { maySee } from '../config/caller.ts'
import type { Caller, CallerKey } from '../config/caller.ts'
import { countChars } from '../json/count-chars.ts'
import { type JsonObject, objectsOf } from '../json/json.ts'
import type { ReplyMemory, StoredResponse } from '../translate/reply-memory.ts'

/** The stored responses that one caller may see. Any other id is answered like an id that does not exist. */
export interface ResponseStore extends Readonly<ReplyMemory['responses']> {
  readonly get: (id: string) => JsonObject | undefined
  /** The complete input of the model, with earlier replies. Undefined if a part of it is not kept. */
  readonly inputOf: (id: string) => readonly JsonObject[] | undefined
  readonly remove: (id: string) => boolean
}

/**
 * Replies that callers asked to keep (`store`), because Copilot keeps none. Kept in memory for an hour after the last
 * request that continued them, up to the limits. What a caller puts belongs to its key.
 */
export type ResponseStores = (caller: Pick<Caller, 'key'>) => ResponseStore

export interface ResponseStoreLimits {
  readonly maxAgeMs: number
  readonly maxEntries: number
  /** The length as JSON text; the values in memory take a small multiple of it. */
  readonly maxChars: number
}

interface KeptResponse extends StoredResponse {
  readonly id: string
  readonly ownerId: string | undefined
  readonly chars: number
  usedAtMs: number
}

const defaultStoreLimits: ResponseStoreLimits = {
  maxAgeMs: 3_600_000,
  // A conversation of 200 turns has 200 entries.
  maxEntries: 2000,
  maxChars: 32 * 1024 * 1024,
}

/** The members of a response object besides its output and what it repeats of its request. Characters. */
const responseChars = 1000

/** @param now ms since epoch */
export function createResponseStores(
  now: () => number,
  limits: ResponseStoreLimits = defaultStoreLimits,
): ResponseStores {
  const entries = createLruMap<KeptResponse>({
    maxEntries: limits.maxEntries,
    maxSize: limits.maxChars,
    sizeOf: ({ chars }) => chars,
    isStale: ({ usedAtMs }) => now() - usedAtMs > limits.maxAgeMs,
  })

  return (caller) => {
    const ownId = caller.key?.id

    /** The latest used first. */
    function visible(): readonly KeptResponse[] {
      return entries
        .keys()
        .flatMap((name) => entries.peek(name) ?? [])
        .filter(({ ownerId }) => maySee(caller, ownerId))
        .toReversed()
    }

    /** @param ownerId whose entry to prefer, if several keys have got the same id from upstream */
    function find(id: string, ownerId = ownId): KeptResponse | undefined {
      const found = entries.peek(nameOf(ownerId, id)) ?? visible().find((entry) => entry.id === id)
      return found && entries.get(nameOf(found.ownerId, id))
    }

    /** The response and those that it continues, the oldest first. */
    function chainOf(id: string): readonly KeptResponse[] | undefined {
      const chain: KeptResponse[] = []
      // An upstream that repeats an id can make a circle.
      for (let entry = find(id); entry !== undefined && chain.length < limits.maxEntries;) {
        chain.push(entry)
        if (entry.previousId === undefined) return chain.toReversed()
        entry = find(entry.previousId, entry.ownerId)
      }
      return undefined
    }

    return {
      put(id, stored) {
        const chars = responseChars + stored.inputChars + countChars(stored.response['output'])
        entries.set(nameOf(ownId, id), { ...stored, id, ownerId: ownId, chars, usedAtMs: now() })
      },
      get: (id) => find(id)?.response,
      inputOf(id) {
        const chain = chainOf(id)
        const last = chain?.at(-1)
        return last && chain?.slice(0, -1).flatMap(itemsOf).concat(last.input)
      },
      historyOf(id) {
        const chain = chainOf(id)
        for (const entry of chain ?? []) entry.usedAtMs = now()
        return chain?.flatMap(itemsOf)
      },
      remove(id) {
        const entry = find(id)
        return entry !== undefined && entries.delete(nameOf(entry.ownerId, id))
      },
      items(ids) {
        const wanted = new Set<unknown>(ids)
        const found = new Map<string, JsonObject>()
        if (wanted.size === 0) return found
        for (const entry of visible()) {
          if (found.size === wanted.size) break
          for (const item of [...outputOf(entry), ...entry.input]) {
            const { id } = item
            if (typeof id === 'string' && wanted.has(id) && !found.has(id)) found.set(id, item)
          }
        }
        return found
      },
    }
  }
}

/** The name of an entry: keys share no entry, even if upstream or a caller repeats an id. */
function nameOf(ownerId: string | undefined, id: string): string {
  return `${ownerId ?? ''} ${id}`
}

/** The items that a request and its reply added to the conversation. */
function itemsOf(entry: StoredResponse): readonly JsonObject[] {
  return entry.input.concat(outputOf(entry))
}

/** The items that a reply added to the conversation. */
function outputOf({ response }: StoredResponse): readonly JsonObject[] {
  return objectsOf(response['output'])
}

/**
 * Opaque reasoning of replies with tool calls, for callers that do not return it themselves. Kept in memory, up to the
 * limits. A running tool loop loses none of its entries, because each request recalls every earlier call. Each key, and
 * all callers without a key together, recall only what they kept: a caller chooses the call ids that it sends.
 */
export type ReasoningCaches = (key: CallerKey | undefined) => ReplyMemory['reasoning']

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
export function createReasoningCaches(
  now: () => number,
  limits: ReasoningCacheLimits = defaultCacheLimits,
): ReasoningCaches {
  const entries = createLruMap<KeptReasoning>({
    maxEntries: limits.maxEntries,
    maxSize: limits.maxChars,
    sizeOf: ({ opaque }, name) => name.length + opaque.length,
    isStale: ({ usedAtMs }) => now() - usedAtMs > limits.maxAgeMs,
  })

  return (key) => ({
    keep({ callIds, opaque }) {
      for (const callId of callIds) entries.set(nameOf(key?.id, callId), { opaque, usedAtMs: now() })
    },
    recall(callId) {
      const entry = entries.get(nameOf(key?.id, callId))
      if (entry !== undefined) entry.usedAtMs = now()
      return entry?.opaque
    },
  })
}
