import type { UpstreamRequest } from '../upstream-request.ts'

/** The facts about a request that its reply to a Messages caller needs. */
export interface MessagesNotes {
  readonly dialect: 'messages'
  /** The request asks for JSON that fits a schema. */
  readonly hasFormat: boolean
  /** The caller does not want the readable text of reasoning (`display: "omitted"`). */
  readonly hidesThinking: boolean
  /** `thinking` is on, so the answer may hold thinking blocks. */
  readonly asksForThinking: boolean
}

/** Absent if the caller continues a paused answer itself. */
export interface MessagesUpstreamNotes {
  readonly dialect: 'messages'
  /** The request that the proxy continues if upstream pauses its answer. */
  readonly request: UpstreamRequest
}
