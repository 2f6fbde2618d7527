import { withoutLearnedFields } from '../../../learned-refusals.ts'
import { mergeEffects, type ReplyEffects } from '../../../engine/reply-effects.ts'
import type { Warning } from '../../../warning.ts'
import { betaRules, contextManagementRules } from './beta-rules.ts'
import { cacheRules } from './cache-rules.ts'
import { conversationRule } from './block-rules.ts'
import { callIdsRule } from './call-rules.ts'
import { settingRules, systemRules } from './system-rules.ts'
import { fieldRules } from './field-rules.ts'
import { orderRules } from './order-rules.ts'
import type { Draft, Outcome, Rule } from './rule.ts'
import type { Target } from './target.ts'
import { thinkingRules } from './thinking-rules.ts'
import { toolRules } from './tool-rules.ts'

/** Only fields are listed here. Other learned refusals are part of `Target`. */
const learnedRefusalRule: Rule = {
  name: 'refused keys left out',
  source: 'messages, unknown fields',
  adapt: ({ body }, { learnedRefusals }) => {
    const kept = withoutLearnedFields(body, learnedRefusals)
    return (
      kept && {
        patch: Object.fromEntries(kept.changes),
        warnings: kept.fields.map((field) => ({
          code: 'refused_upstream',
          field,
          detail: 'the provider has refused this field for this model',
        })),
      }
    )
  },
}

/** In running order: a later rule sees the changes of earlier ones. */
export const rules: readonly Rule[] = [
  ...fieldRules,
  ...settingRules,
  ...betaRules,
  ...toolRules,
  ...systemRules,
  callIdsRule,
  conversationRule,
  ...orderRules,
  ...thinkingRules,
  ...contextManagementRules,
  ...cacheRules,
  learnedRefusalRule,
]

export interface Adapted extends Draft {
  readonly effects: ReplyEffects | undefined
  readonly warnings: readonly Warning[]
}

/** Fits a request to upstream and to the model's profile. Never changes its input. */
export function adaptRequest(draft: Draft, target: Target): Adapted {
  const warnings: Warning[] = []
  const effects: (ReplyEffects | undefined)[] = []
  let { body, betas } = draft
  for (const rule of rules) {
    const outcome = rule.adapt({ ...draft, body, betas }, target)
    if (outcome === undefined) continue
    // Not passed as arguments, because there may be one for each message.
    for (const warning of outcome.warnings) warnings.push(warning)
    effects.push(outcome.effects)
    if (outcome.patch !== undefined) body = withPatch(body, outcome.patch)
    betas = outcome.betas ?? betas
  }
  return { body, betas, warnings, effects: mergeEffects(effects) }
}

/** Removed members stay as undefined, so that a comparison with the caller's body detects them. */
function withPatch(body: Draft['body'], patch: Outcome['patch']): Draft['body'] {
  return { ...body, ...patch }
}
