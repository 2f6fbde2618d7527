import type { ModelTraits } from '../../../model-traits.ts'
import type { ModelFamily } from '../../../parts/model-family.ts'
import type { WarningCode } from '../../../warning.ts'
import type { ChatMessage, ChatRequest } from '../../wire.ts'

/** The model a request is adapted to. */
export interface Target {
  readonly traits: ModelTraits
  readonly family: ModelFamily
}

/** One change of a request. */
export interface Note {
  /** `adapted` if the answer is the one the caller asked for; another code if it may differ. */
  readonly code: WarningCode
  /** For example `messages.3.content`, or the id of a call; positions count after the history window. */
  readonly field: string
  /** Absent if only the spelling changes. */
  readonly reason?: string
  readonly action: string
}

export interface Outcome {
  /** Top-level members to set; `undefined` removes one. */
  readonly patch: Partial<ChatRequest>
  readonly notes: readonly Note[]
}

/** One fact about upstream or a kind of model, and the change it needs. */
export interface Rule {
  readonly name: string
  /** Source of the fact. `parameters, x` is item x of docs/copilot-wire.md, "Parameters by model". */
  readonly source: string
  readonly applies: (target: Target) => boolean
  /**
   * Never changes its input. Returns undefined if the request needs no change.
   * @param learnedRefusals keys of what upstream has refused of the model before
   */
  readonly adapt: (request: ChatRequest, target: Target, learnedRefusals: ReadonlySet<string>) => Outcome | undefined
}

export function always(): boolean {
  return true
}

/** `dropped`, or `dropped (12 places)` if the note names the first of several. */
export function counted(action: string, places: number): string {
  return places === 1 ? action : `${action} (${places} places)`
}

interface MappedMessages {
  readonly messages: readonly ChatMessage[]
  /** Position of the first message that changed. */
  readonly first: number
  readonly changes: number
}

/**
 * Maps each message, or drops it if `map` returns undefined. Returns undefined if no message changed, or if none is left:
 * upstream's own refusal is clearer then.
 */
export function mapMessages(
  messages: readonly ChatMessage[],
  map: (message: ChatMessage, at: number) => ChatMessage | undefined,
): MappedMessages | undefined {
  const mapped: ChatMessage[] = []
  let first = -1
  let changes = 0
  messages.forEach((message, at) => {
    const result = map(message, at)
    if (result !== undefined) mapped.push(result)
    if (result === message) return
    if (first === -1) first = at
    changes += 1
  })
  return changes === 0 || mapped.length === 0 ? undefined : { messages: mapped, first, changes }
}

/** Few enough to log. */
const MOST_NOTES = 20

/** The first notes of a long list, and one for all the others. */
export function firstNotes(notes: readonly Note[]): readonly Note[] {
  const next = notes[MOST_NOTES]
  if (next === undefined) return notes
  const others = { ...next, field: 'messages', action: `${next.action}, with others (${notes.length} in all)` }
  return [...notes.slice(0, MOST_NOTES), others]
}
