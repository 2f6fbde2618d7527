import { isObject, isFilled } from '../../json/json.ts'
import type { ChatBody, WireChunk, WireDelta } from './wire.ts'
import type { ReplyMemory } from '../reply-memory.ts'
import type { CallerNotes, UpstreamNotes } from '../reply-notes.ts'
import type { ChatNotes } from './notes.ts'

export function chatNotes({ value, options }: ChatBody): ChatNotes {
  return {
    dialect: 'chat',
    wantsUsage: value.stream_options?.include_usage === true,
    reasoningContent: options.reasoningContent,
  }
}

const noNotes: ChatNotes = { dialect: 'chat', wantsUsage: false, reasoningContent: false }

/** @param notes of `ReplySeed.notes`; absent for a request of another dialect */
export function chatNotesIn(notes: CallerNotes | UpstreamNotes | undefined): ChatNotes {
  return notes?.dialect === 'chat' ? notes : noNotes
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
