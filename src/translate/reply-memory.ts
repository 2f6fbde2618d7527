import type { JsonObject } from '../json/json.ts'

/** A reply of the Responses API that later requests can refer to. */
export interface StoredResponse {
  /** The whole response object. */
  readonly response: JsonObject
  /** The complete input of the model, with earlier replies. */
  readonly input: readonly JsonObject[]
}

/** The opaque reasoning of a reply with tool calls, for callers that do not send it back with the calls. */
export interface ReplyReasoning {
  /** The ids that the caller got; at least one. */
  readonly callIds: readonly string[]
  /** The value that the caller got. */
  readonly opaque: string
}

/**
 * The parts of replies that this process keeps for later requests. `Reply.remember` writes them, `CallerDialect.recall`
 * reads them.
 */
export interface ReplyMemory {
  readonly responses: {
    readonly put: (id: string, stored: StoredResponse) => void
    readonly get: (id: string) => StoredResponse | undefined
    /** Finds output and input items by id, for `item_reference`. The newest item of an id wins. */
    readonly items: (ids: readonly string[]) => ReadonlyMap<string, JsonObject>
  }
  readonly reasoning: {
    readonly keep: (reasoning: ReplyReasoning) => void
    /** Returns the opaque value of the reply that made the call. */
    readonly recall: (callId: string) => string | undefined
  }
}
