import type { ModelTraits } from '../../../model-traits.ts'
import type { ModelFamily } from '../../../parts/model-family.ts'
import type { Warning } from '../../../warning.ts'
import type { Outcome } from '../../request-changes.ts'
import type { ChatRequest } from '../../wire.ts'

export interface RuleModel {
  readonly traits: ModelTraits
  readonly family: ModelFamily
}

/** The model a request is adapted to. */
export interface Target extends RuleModel {
  /** Keys of learned refusals of the model. */
  readonly learnedRefusals: ReadonlySet<string>
}

/** One fact about upstream or a kind of model, and the change it needs. */
export interface Rule {
  readonly name: string
  /** Source of the fact. `parameters, x` is item x of docs/copilot-wire.md, "Parameters by model". */
  readonly source: string
  /** Absent: to every model. */
  readonly applies?: ((model: RuleModel) => boolean) | undefined
  /** Never changes its input. Returns undefined if the request needs no change. */
  readonly adapt: (request: ChatRequest, target: Target) => Outcome | undefined
}

/** The number of warnings that a log line can hold. */
const MOST_WARNINGS = 20

/** The first warnings of a long list, and one for all the others. */
export function firstWarnings(warnings: readonly Warning[]): readonly Warning[] {
  const next = warnings[MOST_WARNINGS]
  if (next === undefined) return warnings
  const others = { ...next, field: 'messages', detail: `${next.detail} (and others, ${warnings.length} in total)` }
  return [...warnings.slice(0, MOST_WARNINGS), others]
}
