import { isObject } from '../../json/json.ts'
import type { ChatBody } from './wire.ts'

/** The facts about a request that its reply to a chat caller needs. */
interface ChatReplyNotes {
  /** The caller asked for token counts in the stream; other dialects always send them. */
  readonly wantsUsage: boolean
  /** The caller reads reasoning in `reasoning_content`. */
  readonly reasoningContent: boolean
}

export function chatReplyNotes({ value, options }: ChatBody): ChatReplyNotes {
  return {
    wantsUsage: value.stream_options?.include_usage === true,
    reasoningContent: options.reasoningContent,
  }
}

/** @param notes of `ReplySeed.notes`; absent for a request of another dialect */
export function readChatReplyNotes(notes: unknown): ChatReplyNotes {
  return {
    wantsUsage: isObject(notes) && notes['wantsUsage'] === true,
    reasoningContent: isObject(notes) && notes['reasoningContent'] === true,
  }
}
