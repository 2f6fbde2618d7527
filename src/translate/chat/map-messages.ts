import type { Warning } from '../warning.ts'
import type { ChatMessage, ChatRequest } from './wire.ts'

/** A change to a request. */
export interface Outcome {
  /** Top-level members to set; `undefined` removes one. */
  readonly patch: Partial<ChatRequest>
  /**
   * `adapted` if the answer is the one the caller asked for; another code if it may differ. Positions count after the
   * history window.
   */
  readonly warnings: readonly Warning[]
}

/** `dropped`, or `dropped (12 places)` if the warning names the first of several. */
export function counted(action: string, places: number): string {
  return places === 1 ? action : `${action} (${places} places)`
}

/**
 * Maps each message, or drops it if `map` returns undefined. Returns undefined if no message changed, or if none is left:
 * upstream's own refusal is clearer then.
 * @param warn gets the path of the first message that changed, and the number of changes
 */
export function mapMessages(
  messages: readonly ChatMessage[],
  map: (message: ChatMessage, at: number) => ChatMessage | undefined,
  warn: (first: string, changes: number) => readonly Warning[],
): Outcome | undefined {
  const mapped = messages.map(map)
  const first = mapped.findIndex((message, at) => message !== messages[at])
  if (first === -1) return undefined
  const kept = mapped.filter((message) => message !== undefined)
  if (kept.length === 0) return undefined
  const changes = mapped.filter((message, at) => message !== messages[at]).length
  return { patch: { messages: kept }, warnings: warn(`messages.${first}`, changes) }
}
