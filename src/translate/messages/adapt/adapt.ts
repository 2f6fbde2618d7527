import type { Warning } from '../../warning.ts'
import type { MessagesRequest } from '../wire-request.ts'
import { betaRules, contextManagementRules } from './beta-rules.ts'
import { cacheRules } from './cache-rules.ts'
import { callIdsRule } from './call-ids-rule.ts'
import { conversationRule } from './conversation-rule.ts'
import { fieldRules } from './field-rules.ts'
import { lessonRules } from './lesson-rules.ts'
import { orderRules } from './order-rules.ts'
import type { Draft, Rule } from './rule.ts'
import { settingRules } from './setting-rules.ts'
import { systemRules } from './system-rules.ts'
import type { Target } from './target.ts'
import { thinkingRules } from './thinking-rules.ts'
import { toolRules } from './tool-rules.ts'

const lastRules: readonly Rule[] = [...cacheRules, ...lessonRules]

/** In the order they run: a later rule sees what an earlier one has made of the request. */
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
  ...lastRules,
]

export interface Adapted extends Draft {
  readonly warnings: readonly Warning[]
}

/** Fits a request to the habits of upstream and of a model. Never changes its input. */
export function adaptRequest(draft: Draft, target: Target): Adapted {
  return applyRules(rules, draft, target)
}

/** The rules that a request made here needs too: marks of the caller's own, and what upstream has refused before. */
export function finishRequest(draft: Draft, target: Target): Adapted {
  return applyRules(lastRules, draft, target)
}

function applyRules(list: readonly Rule[], draft: Draft, target: Target): Adapted {
  const warnings: Warning[] = []
  let { body, betas } = draft
  for (const rule of list) {
    const outcome = rule.adapt({ body, betas }, target)
    if (outcome === undefined) continue
    // Not spread into the call: there can be one for each message.
    for (const warning of outcome.warnings) warnings.push(warning)
    if (outcome.patch !== undefined) body = withPatch(body, outcome.patch)
    betas = outcome.betas ?? betas
  }
  return { body, betas, warnings }
}

/** Members that are removed stay as undefined, so that the difference to the caller's body shows them. */
function withPatch(body: MessagesRequest, patch: Readonly<Partial<MessagesRequest>>): MessagesRequest {
  return { ...body, ...patch }
}
