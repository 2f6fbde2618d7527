import { isObject, isFilled } from '../../json/json.ts'
import type { ChatBody, WireChunk, WireDelta } from './wire.ts'
import type { ReplyMemory } from '../reply-memory.ts'

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

/** The opaque reasoning of one reply and the calls it belongs to. Updated in place. */
export interface ReasoningNote {
  /** A set: some backends repeat the id with every piece of a call. */
  readonly callIds: Set<string>
  /** The last value; '' until there is one. */
  opaque: string
}

export function startReasoningNote(): ReasoningNote {
  return { callIds: new Set(), opaque: '' }
}

/** Reads a normalised chunk, which has one choice at most. */
export function noteReasoning(note: ReasoningNote, { choices }: Pick<WireChunk, 'choices'>): void {
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  if (isObject(choice) && isObject(choice['delta'])) noteReasoningDelta(note, choice['delta'])
}

export function noteReasoningDelta(note: ReasoningNote, delta: WireDelta | undefined): void {
  if (delta === undefined) return
  const { reasoning_opaque: opaque, tool_calls: calls } = delta
  if (opaque === undefined && calls === undefined) return
  if (isFilled(opaque)) note.opaque = opaque
  if (!Array.isArray(calls)) return
  for (const call of calls) {
    if (isObject(call) && isFilled(call['id'])) note.callIds.add(call['id'])
  }
}

/** Keeps nothing without a value, or without a call to hand it back with. */
export function keepReasoning({ callIds, opaque }: ReasoningNote, { reasoning }: ReplyMemory): void {
  if (opaque !== '' && callIds.size > 0) reasoning.keep({ callIds: [...callIds], opaque })
}
