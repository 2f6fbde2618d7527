import type { JsonObject } from '../../json/json.ts'
import type { ToolIdentity } from '../engine/reply-effects.ts'
import type { StoredInput } from '../reply-memory.ts'

/** The facts about a request that its reply to a Responses caller needs. */
export interface ResponsesNotes {
  readonly dialect: 'responses'
  /** The members of the response object that repeat the request. */
  readonly echo?: JsonObject | undefined
  /** The reply is one compaction item with the answer's text as its summary. */
  readonly isCompaction?: boolean
  /** The caller requested no summary of the reasoning. */
  readonly hidesThinking?: boolean
  readonly storedInput?: StoredInput | undefined
  /** As `ReplyEffects.opened`. */
  readonly opened?: ReadonlySet<string> | undefined
}

/** The facts about a request that the reply of a Responses upstream needs. */
export interface ResponsesUpstreamNotes {
  readonly dialect: 'responses'
  /** The members of the response object that repeat the caller's request, if the caller speaks this dialect too. */
  readonly echo?: JsonObject
  readonly storedInput?: StoredInput | undefined
  readonly calls?: CallNotes | undefined
}

/** The facts for restoring the caller's names of calls. */
export interface CallNotes {
  /**
   * Names of tools without a namespace that the request put into `functions`. Their calls lose that namespace again.
   */
  readonly grouped: ReadonlySet<string>
  /** The caller has a tool with the name of the wrapper for several calls, so its calls are not expanded. */
  readonly hasWrapper: boolean
  /** As `ReplyEffects.opened`. */
  readonly opened?: ReadonlySet<string> | undefined
  /** The caller's tools whose name or kind differs upstream, by upstream name. */
  readonly tools?: ReadonlyMap<string, ToolIdentity> | undefined
}
