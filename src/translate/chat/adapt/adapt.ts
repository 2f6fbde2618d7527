import { Fault } from '../../../errors.ts'
import { modelFamily } from '../../parts/model-family.ts'
import type { Warning } from '../../dialect.ts'
import type { ModelTraits } from '../../model-traits.ts'
import type { ChatRequest } from '../wire-request.ts'
import { legacyFunctionsRule } from './legacy-functions.ts'
import { messageRules } from './message-rules.ts'
import { nullRule } from './null-rule.ts'
import { parameterRules } from './parameter-rules.ts'
import type { Note, Rule, Target } from './rule.ts'
import { toolRules } from './tool-rules.ts'
import { turnRules } from './turn-rules.ts'

/** In the order they run: a later rule sees what an earlier one has made of the request. */
export const rules: readonly Rule[] = [
  nullRule,
  legacyFunctionsRule,
  ...toolRules,
  ...parameterRules,
  ...messageRules,
  ...turnRules,
]

export interface Adapted {
  /** A copy; members that no rule touched are the very values, removed ones are undefined. */
  readonly request: ChatRequest
  readonly warnings: readonly Warning[]
}

/**
 * Fits a request to the habits of a model. Never changes its input.
 *
 * @throws Fault `invalid_request` when `strict`, for what would otherwise change the meaning of the request
 */
export function adaptRequest(request: ChatRequest, traits: ModelTraits, strict: boolean): Adapted {
  const { target, rules: applicable } = planFor(traits)
  const warnings: Warning[] = []
  const adapted = { ...request }
  for (const rule of applicable) {
    const outcome = rule.adapt(adapted, target)
    if (outcome === undefined) continue
    for (const note of outcome.notes) {
      if (strict && note.changesMeaning) throw refusal(note)
      warnings.push(`${note.path}: ${note.reason === undefined ? '' : `${note.reason}, `}${note.action}`)
    }
    Object.assign(adapted, outcome.patch)
  }
  return { request: adapted, warnings }
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

function refusal({ path, reason, action }: Note): Fault {
  return new Fault({
    kind: 'invalid_request',
    path,
    detail: `${reason ?? action} (refused because chat.strict is on)`,
    code: 'unsupported_value',
  })
}
