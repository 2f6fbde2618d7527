import type { Draft, Rule as EngineRule } from '../../engine/apply-rules.ts'
import type { ModelTraits } from '../../model-traits.ts'
import type { ModelFamily } from '../../engine/model-family.ts'
import type { Warning } from '../../warning.ts'
import type { ChatRequest } from '../wire.ts'

export interface RuleModel {
  readonly traits: ModelTraits
  readonly family: ModelFamily
}

/** The model a request is adapted to. */
export interface Target extends RuleModel {
  /** Keys of learned refusals of the model. */
  readonly learnedRefusals: ReadonlySet<string>
  /** The setting `chat.history-window`: how many turns of the history go upstream. 0: all. */
  readonly historyWindow: number
}

export type ChatDraft = Draft<ChatRequest>

/** `parameters, x` in a source is item x of docs/copilot-wire.md, "Parameters by model". */
export type Rule = EngineRule<ChatRequest, Target>

/** The number of warnings that a log line can hold. */
const MOST_WARNINGS = 20

/** The first warnings of a long list, and one for all the others. */
export function firstWarnings(warnings: readonly Warning[]): readonly Warning[] {
  const next = warnings[MOST_WARNINGS]
  if (next === undefined) return warnings
  const others = { ...next, field: 'messages', detail: `${next.detail} (and others, ${warnings.length} in total)` }
  return [...warnings.slice(0, MOST_WARNINGS), others]
}
