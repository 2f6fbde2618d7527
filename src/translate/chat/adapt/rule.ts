import type { ModelFamily } from '../../parts/model-family.ts'
import type { ModelTraits } from '../../model-traits.ts'
import type { WarningCode } from '../../warning.ts'
import type { ChatRequest } from '../wire-request.ts'

/** The model a request is adapted to. */
export interface Target {
  readonly traits: ModelTraits
  readonly family: ModelFamily
}

/** One thing that was changed. */
export interface Note {
  /** `adapted` where the answer is what the caller asked for; the other codes where it may differ. */
  readonly code: WarningCode
  /** As in `messages.3.content`, or the id of a call; positions count after the history window. */
  readonly field: string
  /** Absent where only the spelling changes. */
  readonly reason?: string
  readonly action: string
}

export interface Outcome {
  /** Top-level members to set; `undefined` removes one. */
  readonly patch: Partial<ChatRequest>
  readonly notes: readonly Note[]
}

/** One habit of one kind of model: when it applies and what is done about it. */
export interface Rule {
  readonly name: string
  /** Where the fact comes from. `parameters, x` is item x of docs/copilot-wire.md, "Parameters by model". */
  readonly source: string
  readonly applies: (target: Target) => boolean
  /**
   * Never changes its input. `undefined`: nothing to do.
   * @param lessons what upstream has refused of the model before, as `lessons.ts` words it
   */
  readonly adapt: (request: ChatRequest, target: Target, lessons: ReadonlySet<string>) => Outcome | undefined
}

export function always(): boolean {
  return true
}

/** `dropped` or, where it was done in several places of which the note names the first, `dropped (12 places)`. */
export function counted(action: string, places: number): string {
  return places === 1 ? action : `${action} (${places} places)`
}

/** More than a session that is merely unlucky has, and little enough to log. */
const MOST_NOTES = 20

/** Notes of which each names its own place: of a long list the first, and one for all the others. */
export function firstNotes(notes: readonly Note[]): readonly Note[] {
  const next = notes[MOST_NOTES]
  if (next === undefined) return notes
  const others = { ...next, field: 'messages', action: `${next.action}, with others (${notes.length} in all)` }
  return [...notes.slice(0, MOST_NOTES), others]
}
