import type { ModelTraits } from '../../../model-traits.ts'
import type { ModelFamily } from '../../../parts/model-family.ts'
import type { Warning } from '../../../warning.ts'
import type { ChatMessage, ChatRequest } from '../../wire.ts'

/** The model a request is adapted to. */
export interface Target {
  readonly traits: ModelTraits
  readonly family: ModelFamily
  /** Keys of learned refusals of the model. */
  readonly learnedRefusals: ReadonlySet<string>
}

export interface Outcome {
  /** Top-level members to set; `undefined` removes one. */
  readonly patch: Partial<ChatRequest>
  /**
   * `adapted` if the caller still gets the requested answer; another code if the answer may differ. Positions count
   * after the history window.
   */
  readonly warnings: readonly Warning[]
}

/** One fact about upstream or a kind of model, and the change it needs. */
export interface Rule {
  readonly name: string
  /** Source of the fact. `parameters, x` is item x of docs/copilot-wire.md, "Parameters by model". */
  readonly source: string
  /** Absent: to every model. */
  readonly applies?: ((target: Target) => boolean) | undefined
  /** Never changes its input. Returns undefined if the request needs no change. */
  readonly adapt: (request: ChatRequest, target: Target) => Outcome | undefined
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

/** The number of warnings that a log line can hold. */
const MOST_WARNINGS = 20

/** The first warnings of a long list, and one for all the others. */
export function firstWarnings(warnings: readonly Warning[]): readonly Warning[] {
  const next = warnings[MOST_WARNINGS]
  if (next === undefined) return warnings
  const others = { ...next, field: 'messages', detail: `${next.detail}, with others (${warnings.length} in all)` }
  return [...warnings.slice(0, MOST_WARNINGS), others]
}
