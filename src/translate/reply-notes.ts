import type { ChatNotes } from './chat/notes.ts'
import type { MessagesNotes, MessagesUpstreamNotes } from './messages/notes.ts'
import type { ResponsesNotes, ResponsesUpstreamNotes } from './responses/notes.ts'

/** Facts about a caller's request that its reply needs. Only the dialect of the caller reads them. */
export type CallerNotes = ChatNotes | MessagesNotes | ResponsesNotes

/** Facts about a request that its reply needs. Only the dialect of upstream reads them. */
export type UpstreamNotes = ChatNotes | MessagesUpstreamNotes | ResponsesUpstreamNotes
