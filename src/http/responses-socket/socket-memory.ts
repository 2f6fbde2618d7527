import { countChars } from '../../json/count-chars.ts'
import { createResponseStores } from '../../pipeline/reply-memory.ts'
import type { ResponseStoreLimits } from '../../pipeline/reply-memory.ts'
import type { ReplyMemory, StoredResponse } from '../../translate/reply-memory.ts'

type Responses = ReplyMemory['responses']

/** The replies that a connection can continue: its own, also with `store: false`, and the stored ones of its caller. */
export interface SocketMemory {
  /**
   * The memory of one request.
   * @param stored those of the caller
   * @param keeps whether the caller wants the reply stored beyond the connection
   */
  readonly of: (stored: Responses, keeps: () => boolean) => Responses
  /** Forgets the replies of the connection. */
  readonly close: () => void
}

/** Of all connections together. The client of a forgotten reply sends its whole conversation again. */
const defaultLimits: ResponseStoreLimits = { maxAgeMs: 3_600_000, maxEntries: 10_000, maxChars: 64 * 1024 * 1024 }

/**
 * Opens the memory of a connection.
 * @param now ms since epoch
 */
export function createSocketMemories(
  now: () => number,
  limits: ResponseStoreLimits = defaultLimits,
): (connectionId: string) => SocketMemory {
  const stores = createResponseStores(now, limits)
  return (connectionId) => {
    // To the store, a connection is a caller whose replies no other caller sees.
    const own = stores({ key: { name: '', id: connectionId } })
    const ids = new Set<string>()
    return {
      of: (stored, keeps) => {
        const historyOf = (id: string) => own.historyOf(id) ?? stored.historyOf(id)
        return {
          put(id, response) {
            ids.add(id)
            const [oldest] = ids
            if (oldest !== undefined && ids.size > limits.maxEntries) ids.delete(oldest)
            own.put(id, startingIn(own, response, historyOf))
            if (keeps()) stored.put(id, startingIn(stored, response, historyOf))
          },
          historyOf,
          items: (wanted) => new Map([...stored.items(wanted), ...own.items(wanted)]),
        }
      },
      close() {
        for (const id of ids) own.remove(id)
      },
    }
  }
}

/** The response for this store: with the whole conversation before it, if the store does not have that. */
function startingIn(store: Responses, response: StoredResponse, historyOf: Responses['historyOf']): StoredResponse {
  const { previousId, input, inputChars } = response
  if (previousId === undefined || store.historyOf(previousId) !== undefined) return response
  const history = historyOf(previousId) ?? []
  return {
    ...response,
    previousId: undefined,
    input: [...history, ...input],
    inputChars: inputChars + countChars(history),
  }
}
