import type { EncodeContext } from '../../dialect.ts'
import { learnedField, learnedFieldsRule } from '../../engine/learned-refusals.ts'
import { outputLeftRule } from '../../engine/output-overflow.ts'
import { type Applied, applyRules, type Made } from '../../engine/apply-rules.ts'
import { modelFamily } from '../../engine/model-family.ts'
import { cutHistory } from '../request-changes.ts'
import type { ChatRequest } from '../wire.ts'
import { cacheMarksRule } from './cache-rules.ts'
import { callRules, kimiRule } from './call-rules.ts'
import { messageRules, sealedReasoningRule, turnRules } from './message-rules.ts'
import { nullRule, parameterRules, stopRule, toolParameterRules } from './parameter-rules.ts'
import { refusalRules } from './refusal-rules.ts'
import type { Rule } from './rule.ts'
import { toolPairsRule } from './tool-pairs.ts'
import { legacyFunctionsRule, toolLimitRule, toolNamesRule, toolSchemaRule } from './tool-rules.ts'

const historyRule: Rule = {
  name: 'older turns left out',
  source: 'chat.history-window of the configuration',
  applies: ({ historyWindow }) => historyWindow > 0,
  adapt: ({ body }, { historyWindow }) => {
    const { messages, warnings } = cutHistory(body.messages, historyWindow)
    return messages === body.messages ? undefined : { patch: { messages }, warnings }
  },
}

/** Upstream always answers with a stream. */
const streamRule: Rule = {
  name: 'a stream with usage of the routed model',
  source: 'parameters, stream_options: usage comes with include_usage only',
  adapt: ({ body: { stream_options: options } }, { traits, learnedRefusals }) => {
    const takesOptions = !learnedRefusals.has(learnedField('stream_options'))
    const patch = { model: traits.id, stream: true, stream_options: takesOptions ? withUsage(options) : undefined }
    return { patch, warnings: [] }
  },
}

function withUsage(options: ChatRequest['stream_options']): ChatRequest['stream_options'] {
  return options?.include_usage === true ? options : { ...options, include_usage: true }
}

/** In running order: a later rule sees the changes of earlier ones. */
export const rules: readonly Rule[] = [
  historyRule,
  nullRule,
  toolLimitRule,
  legacyFunctionsRule,
  toolNamesRule,
  // Before the rules that move messages, so that it sees what the caller sent.
  sealedReasoningRule,
  cacheMarksRule,
  toolPairsRule,
  ...callRules,
  kimiRule,
  ...toolParameterRules,
  toolSchemaRule,
  ...parameterRules,
  stopRule,
  ...messageRules,
  ...turnRules,
  outputLeftRule(),
  ...refusalRules,
  learnedFieldsRule('parameters, refusals by name'),
  streamRule,
]

/** Fits a request to the routed model and to earlier refusals by upstream. */
export function adaptRequest(
  body: ChatRequest,
  { model, learnedRefusals }: EncodeContext,
  { historyWindow = 0, made }: { readonly historyWindow?: number; readonly made?: Made } = {},
): Applied<ChatRequest> {
  const target = { traits: model, family: modelFamily(model), learnedRefusals, historyWindow }
  return applyRules({ body, headers: {}, made }, rules, target)
}
