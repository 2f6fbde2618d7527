import type { Opaque } from '../turn.ts'
import type { ChatMessage } from './wire.ts'

/** Reasoning of the run of items that became one message. */
export interface DraftReasoning {
  readonly text: string
  readonly opaque: Opaque | undefined
  /** Of the item in the caller's request. */
  readonly path: string
  /** A call of the message came after it. */
  readonly isBeforeCall: boolean
}

/**
 * All reasoning of an encoded message. A message can have one pair of text and opaque value, and a rule chooses it for the
 * model. A symbol, so that spreading a message keeps it and serialising drops it.
 */
const REASONINGS = Symbol('reasonings')

export function withReasonings(reasonings: readonly DraftReasoning[]): object {
  return reasonings.length === 0 ? {} : { [REASONINGS]: reasonings }
}

type Encoded = ChatMessage & { readonly [REASONINGS]?: readonly DraftReasoning[] }

export function reasoningsIn(message: Encoded): readonly DraftReasoning[] {
  return message[REASONINGS] ?? []
}

export function withoutReasonings({ [REASONINGS]: _reasonings, ...message }: Encoded): ChatMessage {
  return message
}
