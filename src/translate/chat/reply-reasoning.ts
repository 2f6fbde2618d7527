import type { ReplyReasoning } from '../dialect.ts'
import { isFilled, isObject } from '../parts/wire-json.ts'
import type { WireChunk, WireDelta } from './wire-chunk.ts'

/** What one reply has said of its reasoning. Owned by one reply, updated in place. */
export interface ReasoningNote {
  /** A set: some backends repeat the id of a call with every piece of it. */
  readonly callIds: Set<string>
  /** The last that came, as the fold keeps it; '' until then. */
  opaque: string
}

export function startReasoningNote(): ReasoningNote {
  return { callIds: new Set(), opaque: '' }
}

/** Looks at a chunk the caller gets. A mended chunk has one choice at most. */
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

/** Undefined where there is nothing to hand back, or no call to hand it back with. */
export function reasoningOf({ callIds, opaque }: ReasoningNote): ReplyReasoning | undefined {
  return opaque === '' || callIds.size === 0 ? undefined : { callIds: [...callIds], opaque }
}
