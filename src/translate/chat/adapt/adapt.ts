import { modelFamily } from '../../parts/model-family.ts'
import type { ModelTraits } from '../../model-traits.ts'
import type { Warning } from '../../warning.ts'
import type { ChatRequest } from '../wire-request.ts'
import { legacyFunctionsRule } from './legacy-functions.ts'
import { kimiRules } from './kimi-rules.ts'
import { lessonRule } from './lesson-rule.ts'
import { messageRules } from './message-rules.ts'
import { nullRule } from './null-rule.ts'
import { parameterRules } from './parameter-rules.ts'
import type { Note, Rule, Target } from './rule.ts'
import { sealedReasoningRule } from './sealed-reasoning.ts'
import { toolPairsRule } from './tool-pairs.ts'
import { toolLimitRule, toolRules } from './tool-rules.ts'
import { turnRules } from './turn-rules.ts'

/** In the order they run: a later rule sees what an earlier one has made of the request. */
export const rules: readonly Rule[] = [
  nullRule,
  toolLimitRule,
  legacyFunctionsRule,
  // Before any rule that moves messages: its notes name positions.
  sealedReasoningRule,
  toolPairsRule,
  ...kimiRules,
  ...toolRules,
  ...parameterRules,
  ...messageRules,
  ...turnRules,
  lessonRule,
]

export interface Adapted {
  /** A copy; members that no rule touched are the very values, removed ones are undefined. */
  readonly request: ChatRequest
  readonly warnings: readonly Warning[]
}

/**
 * Fits a request to the habits of a model. Never changes its input.
 * @param lessons what upstream has refused of the model before, as `lessons.ts` words it
 */
export function adaptRequest(request: ChatRequest, traits: ModelTraits, lessons: ReadonlySet<string>): Adapted {
  const { target, rules: applicable } = planFor(traits)
  const warnings: Warning[] = []
  const adapted = { ...request }
  for (const rule of applicable) {
    const outcome = rule.adapt(adapted, target, lessons)
    if (outcome === undefined) continue
    for (const note of outcome.notes) warnings.push(toWarning(note))
    Object.assign(adapted, outcome.patch)
  }
  return { request: adapted, warnings }
}

/** Why, and what was done about it; of a field that was dropped the code says that already. */
function toWarning({ code, field, reason, action }: Note): Warning {
  if (reason === undefined) return { code, field, detail: action }
  return { code, field, detail: code === 'dropped' && action === 'dropped' ? reason : `${reason}, ${action}` }
}

interface Plan {
  readonly target: Target
  /** Those that apply to the model. */
  readonly rules: readonly Rule[]
}

/** Traits never change, and the same few come with every request: each is looked at once. */
const plans = new WeakMap<ModelTraits, Plan>()

function planFor(traits: ModelTraits): Plan {
  const known = plans.get(traits)
  if (known) return known
  const target = { traits, family: modelFamily(traits) }
  const plan = { target, rules: rules.filter((rule) => rule.applies(target)) }
  plans.set(traits, plan)
  return plan
}
