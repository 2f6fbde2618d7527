import { learnedFieldsRule } from '../../engine/learned-refusals.ts'
import { outputLeftRule } from '../../engine/output-overflow.ts'
import { betaRules, contextManagementRules } from './beta-rules.ts'
import { cacheRules } from './cache-rules.ts'
import { conversationRule } from './block-rules.ts'
import { settingRules, systemRules } from './system-rules.ts'
import { fieldRules } from './field-rules.ts'
import { orderRules } from './order-rules.ts'
import { nameTools } from './name-tools.ts'
import type { Rule } from './rule.ts'
import { thinkingRules } from './thinking-rules.ts'
import { toolRules } from './tool-rules.ts'

const namesRule: Rule = {
  name: 'names of tools that every host takes',
  source: 'messages, tool names',
  adapt: ({ body }) => {
    const { body: named, effects } = nameTools(body)
    return named === body ? undefined : { patch: named, warnings: [], effects }
  },
}

/** Upstream always answers with a stream. */
const streamRule: Rule = {
  name: 'a stream of the routed model',
  source: 'Anthropic API reference, Messages, 2026-11',
  adapt: (_draft, { traits }) => ({ patch: { model: traits.id, stream: true }, warnings: [] }),
}

/** In running order: a later rule sees the changes of earlier ones. */
export const rules: readonly Rule[] = [
  namesRule,
  ...fieldRules,
  ...settingRules,
  ...betaRules,
  ...toolRules,
  ...systemRules,
  conversationRule,
  ...orderRules,
  ...thinkingRules,
  outputLeftRule(),
  ...contextManagementRules,
  ...cacheRules,
  learnedFieldsRule('messages, unknown fields'),
  streamRule,
]
