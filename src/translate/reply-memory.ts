import type { JsonObject } from '../json/json.ts'

/** The part of a conversation that one request of the Responses API adds, without the parts before it. */
export interface StoredInput {
  /** The request's own input items. */
  readonly input: readonly JsonObject[]
  /** At least the length of the items as JSON text. */
  readonly inputChars: number
  /** The id of the response that the request continued. */
  readonly previousId: string | undefined
}

/** A reply of the Responses API that later requests can refer to. */
export interface StoredResponse extends StoredInput {
  /** The whole response object. */
  readonly response: JsonObject
}

/** The opaque reasoning of a reply with tool calls, for callers that do not send it back with the calls. */
export interface ReplyReasoning {
  /** The ids that the caller got; at least one. */
  readonly callIds: readonly string[]
  /** The value that the caller got. */
  readonly opaque: string
}

/**
 * The parts of replies that this process keeps for later requests of the same caller. `Reply.remember` writes them,
 * `Dialect.recall` reads them.
 */
export interface ReplyMemory {
  readonly responses: {
    readonly put: (id: string, stored: StoredResponse) => void
    /**
     * The conversation up to and with a response: input and output items, the oldest first. Undefined if the response, or
     * one that it continues, is not kept.
     */
    readonly historyOf: (id: string) => readonly JsonObject[] | undefined
    /** Finds output and input items by id, for `item_reference`. The newest item of an id wins. */
    readonly items: (ids: readonly string[]) => ReadonlyMap<string, JsonObject>
  }
  readonly reasoning: {
    readonly keep: (reasoning: ReplyReasoning) => void
    /** Returns the opaque value of the reply that made the call. */
    readonly recall: (callId: string) => string | undefined
  }
}
