import type { ModelFamily } from '../../parts/model-family.ts'
import type { ModelTraits } from '../../model-traits.ts'
import type { ChatRequest } from '../wire-request.ts'

/** The model a request is adapted to. */
export interface Target {
  readonly traits: ModelTraits
  readonly family: ModelFamily
}

/** One thing that was changed, for the warning `<path>: <reason>, <action>`. */
export interface Note {
  /** As in `messages[3].content`; positions count after the history window. */
  readonly path: string
  /** Absent where only the spelling changes. */
  readonly reason?: string
  readonly action: string
  /** The answer may differ from what the caller asked for. Under `chat.strict` this is a 400 instead. */
  readonly changesMeaning: boolean
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
  /** Never changes its input. `undefined`: nothing to do. */
  readonly adapt: (request: ChatRequest, target: Target) => Outcome | undefined
}

export function always(): boolean {
  return true
}

/** `dropped` or, where it was done in several places of which the note names the first, `dropped (12 places)`. */
export function counted(action: string, places: number): string {
  return places === 1 ? action : `${action} (${places} places)`
}
