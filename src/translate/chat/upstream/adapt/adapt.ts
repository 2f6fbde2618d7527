import type { EncodeContext } from '../../../dialect.ts'
import { learnedField, withoutLearnedFields } from '../../../learned-refusals.ts'
import type { ModelTraits } from '../../../model-traits.ts'
import { modelFamily } from '../../../parts/model-family.ts'
import type { Warning } from '../../../warning.ts'
import type { ChatRequest } from '../../wire.ts'
import { kimiRules } from './kimi-rules.ts'
import { messageRules, sealedReasoningRule, turnRules } from './message-rules.ts'
import { nullRule, parameterRules } from './parameter-rules.ts'
import { always, type Note, type Rule, type Target } from './rule.ts'
import { toolPairsRule } from './tool-pairs.ts'
import { legacyFunctionsRule, toolLimitRule, toolRules } from './tool-rules.ts'

/** Runs last: a field that is left out may have got its name from another rule. */
const learnedRefusalRule: Rule = {
  name: 'what upstream refused before left out',
  source: 'parameters, refusals by name: the model has refused the parameter before, and will again',
  applies: always,
  adapt: (request, _target, learnedRefusals) => {
    const kept = withoutLearnedFields(request, learnedRefusals)
    return (
      kept && {
        patch: Object.fromEntries(kept.changes),
        notes: kept.fields.map((field) => ({
          code: 'refused_upstream',
          field,
          action: 'left out, because upstream refused it before',
        })),
      }
    )
  },
}

/** In the order they run: a later rule sees the changes of an earlier one. */
export const rules: readonly Rule[] = [
  nullRule,
  toolLimitRule,
  legacyFunctionsRule,
  // Before the rules that move messages, because its notes name positions.
  sealedReasoningRule,
  toolPairsRule,
  ...kimiRules,
  ...toolRules,
  ...parameterRules,
  ...messageRules,
  ...turnRules,
  learnedRefusalRule,
]

export interface Adapted {
  /** A copy; members that no rule changed are identical values, removed ones are undefined. */
  readonly request: ChatRequest
  readonly warnings: readonly Warning[]
}

/** Adapts a request to the routed model and to what upstream has refused of it before. */
export function adaptRequest(request: ChatRequest, { model, learnedRefusals }: EncodeContext): Adapted {
  const { target, rules: applicable } = planFor(model)
  const warnings: Warning[] = []
  const adapted = { ...request }
  for (const rule of applicable) {
    const outcome = rule.adapt(adapted, target, learnedRefusals)
    if (outcome === undefined) continue
    for (const note of outcome.notes) warnings.push(toWarning(note))
    Object.assign(adapted, outcome.patch)
  }
  // The reply is made from the events: always a stream, always with usage.
  const takesOptions = !learnedRefusals.has(learnedField('stream_options'))
  const options = takesOptions ? withUsage(adapted.stream_options) : undefined
  return { request: { ...adapted, model: model.id, stream: true, stream_options: options }, warnings }
}

function withUsage(options: ChatRequest['stream_options']): ChatRequest['stream_options'] {
  return options?.include_usage === true ? options : { ...options, include_usage: true }
}

/** Reason and action; for a dropped field, the warning's code already states the action. */
function toWarning({ code, field, reason, action }: Note): Warning {
  if (reason === undefined) return { code, field, detail: action }
  return { code, field, detail: code === 'dropped' && action === 'dropped' ? reason : `${reason}, ${action}` }
}

interface Plan {
  readonly target: Target
  /** The rules that apply to the model. */
  readonly rules: readonly Rule[]
}

/** Traits never change, and every request brings one of a few. */
const plans = new WeakMap<ModelTraits, Plan>()

function planFor(traits: ModelTraits): Plan {
  const known = plans.get(traits)
  if (known) return known
  const target = { traits, family: modelFamily(traits) }
  const plan = { target, rules: rules.filter((rule) => rule.applies(target)) }
  plans.set(traits, plan)
  return plan
}
