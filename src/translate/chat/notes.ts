/** The facts about a request that its reply to a chat caller needs. */
export interface ChatNotes {
  readonly dialect: 'chat'
  /** The caller asked for token counts in the stream; other dialects always send them. */
  readonly wantsUsage: boolean
  /** The caller reads reasoning in `reasoning_content`. */
  readonly reasoningContent: boolean
}
