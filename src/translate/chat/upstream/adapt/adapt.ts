import type { EncodeContext } from '../../../dialect.ts'
import { learnedField, withoutLearnedFields } from '../../../learned-refusals.ts'
import { mergeEffects, type ReplyEffects } from '../../../engine/reply-effects.ts'
import type { ModelTraits } from '../../../model-traits.ts'
import { modelFamily, type ModelFamily } from '../../../parts/model-family.ts'
import type { Warning } from '../../../warning.ts'
import type { ChatRequest } from '../../wire.ts'
import { callRules } from './call-rules.ts'
import { kimiRule } from './kimi-rules.ts'
import { messageRules, sealedReasoningRule, turnRules } from './message-rules.ts'
import { nullRule, parameterRules, stopRule, toolParameterRules } from './parameter-rules.ts'
import type { Rule } from './rule.ts'
import { toolPairsRule } from './tool-pairs.ts'
import { legacyFunctionsRule, toolLimitRule, toolNamesRule, toolSchemaRule } from './tool-rules.ts'

/** Runs last, because an earlier rule may have given a field the name that is left out. */
const learnedRefusalRule: Rule = {
  name: 'what upstream refused before left out',
  source: 'parameters, refusals by name: the model has refused the parameter before, and will again',
  adapt: (request, { learnedRefusals }) => {
    const kept = withoutLearnedFields(request, learnedRefusals)
    const detail = 'the provider has refused this field for this model'
    return (
      kept && {
        patch: Object.fromEntries(kept.changes),
        warnings: kept.fields.map((field) => ({ code: 'refused_upstream', field, detail })),
      }
    )
  },
}

/** In the order they run: a later rule sees the changes of an earlier one. */
export const rules: readonly Rule[] = [
  nullRule,
  toolLimitRule,
  toolNamesRule,
  legacyFunctionsRule,
  // Before the rules that move messages, because its warnings name positions.
  sealedReasoningRule,
  toolPairsRule,
  ...callRules,
  kimiRule,
  ...toolParameterRules,
  toolSchemaRule,
  ...parameterRules,
  stopRule,
  ...messageRules,
  ...turnRules,
  learnedRefusalRule,
]

const rulesByModel = new WeakMap<ModelTraits, { readonly family: ModelFamily; readonly rules: readonly Rule[] }>()

/** Chosen once for each model: most rules concern other models. */
function rulesOf(model: ModelTraits) {
  let chosen = rulesByModel.get(model)
  if (chosen === undefined) {
    const family = modelFamily(model)
    chosen = { family, rules: rules.filter(({ applies }) => applies?.({ traits: model, family }) !== false) }
    rulesByModel.set(model, chosen)
  }
  return chosen
}

/**
 * Adapts a request to the routed model and to earlier refusals by upstream. Returns a copy: members that no rule changed
 * are identical values, removed ones are undefined.
 */
export function adaptRequest(request: ChatRequest, { model, learnedRefusals }: EncodeContext) {
  const { family, rules: applicable } = rulesOf(model)
  const target = { traits: model, family, learnedRefusals }
  const warnings: Warning[] = []
  const effects: (ReplyEffects | undefined)[] = []
  const adapted = { ...request }
  for (const rule of applicable) {
    const outcome = rule.adapt(adapted, target)
    if (outcome === undefined) continue
    warnings.push(...outcome.warnings)
    effects.push(outcome.effects)
    Object.assign(adapted, outcome.patch)
  }
  // The reply is made from events, so the request always asks for a stream with usage.
  const takesOptions = !learnedRefusals.has(learnedField('stream_options'))
  const options = takesOptions ? withUsage(adapted.stream_options) : undefined
  return {
    request: { ...adapted, model: model.id, stream: true, stream_options: options },
    warnings,
    effects: mergeEffects(effects),
  }
}

function withUsage(options: ChatRequest['stream_options']): ChatRequest['stream_options'] {
  return options?.include_usage === true ? options : { ...options, include_usage: true }
}
