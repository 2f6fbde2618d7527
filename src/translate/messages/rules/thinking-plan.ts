import { budgetOfEffort, clampEffort, isEffort, wantedEffort } from '../../engine/effort.ts'
import type { Target } from './target.ts'

/** The caller's settings of thinking, in terms of the Messages API. */
export interface AskedThinking {
  /** `adaptive`, `enabled`, `disabled`, `between_tools`, or an unknown value. Undefined: not stated. */
  readonly type: string | undefined
  readonly budgetTokens: number | undefined
  readonly effort: string | undefined
}

/** Other settings of the request that thinking depends on. */
export interface ThinkingSetting {
  readonly maxTokens: number
  /** `tool_choice` names a tool or demands any tool. */
  readonly forcesTool: boolean
  /** The request ends with tool results, and the turn that made the calls begins without thinking. */
  readonly lacksThought: boolean
}

export interface ThinkingPlan {
  readonly type: string | undefined
  readonly budgetTokens?: number | undefined
  readonly effort: string | undefined
  /** Why thinking was switched off, although the caller switched it on. */
  readonly conflict?: string | undefined
  readonly isBudgetClamped?: boolean | undefined
}

/**
 * Fits the caller's setting of thinking to the model. Budgets and levels of effort are equivalent as in
 * `engine/effort.ts`. Source: docs/copilot-wire.md, "messages, thinking" and "messages, effort".
 */
export function planThinking(asked: AskedThinking, target: Target, setting: ThinkingSetting): ThinkingPlan {
  const { type } = asked
  const effort = fitEffort(asked.effort, target)
  switch (type) {
    case 'enabled':
    case 'adaptive':
    case 'between_tools':
      break
    case 'disabled':
      if (target.alwaysThinks) return { type: 'adaptive', effort: lowest(target) }
      return { type, effort: atMostHigh(effort) }
    default:
      return { type, effort }
  }
  if (setting.forcesTool && target.thinksUnforced) return off(effort, FORCED)
  switch (target.thinking) {
    case 'unknown':
      return { type, budgetTokens: asked.budgetTokens, effort }
    case 'budget':
      return planBudget(asked, effort, target, setting)
    case 'both':
      if (type === 'enabled') return planBudget(asked, effort, target, setting)
      return { type: 'adaptive', effort: type === 'adaptive' ? effort : lowest(target) }
    case 'adaptive':
      if (type === 'between_tools' && !target.alwaysAdapts) return { type, effort: atMostHigh(effort) }
      return { type: 'adaptive', effort: type === 'adaptive' ? effort : effortFor(asked, target) }
  }
}

function planBudget(
  { type, budgetTokens, effort: wanted }: AskedThinking,
  effort: string | undefined,
  target: Target,
  { maxTokens, forcesTool, lacksThought }: ThinkingSetting,
): ThinkingPlan {
  // Source: Anthropic API reference, extended thinking, 2026-11.
  if (forcesTool) return off(effort, FORCED)
  if (lacksThought) return off(effort, 'the turn that made the last tool calls has no thinking block')
  const most = Math.min(target.maxBudget, maxTokens - 1)
  if (most < target.minBudget) return off(effort, 'max_tokens is too small for it')
  const asked = type === 'enabled' ? budgetTokens : undefined
  // The chosen budget leaves a quarter of the tokens to the answer, or as many as an answer usually needs.
  const room = Math.min(ANSWER_TOKENS, Math.floor(maxTokens / 4))
  const roomy = Math.max(target.minBudget, Math.min(most, maxTokens - room))
  const budget = asked ?? budgetOfEffort[isEffort(wanted) ? wanted : type === 'between_tools' ? 'low' : 'high']
  const clamped = Math.min(Math.max(budget, target.minBudget), asked === undefined ? roomy : most)
  return { type: 'enabled', budgetTokens: clamped, effort, isBudgetClamped: asked !== undefined && clamped !== asked }
}

/** Tokens of `max_tokens` that the chosen budget leaves to the answer. */
const ANSWER_TOKENS = 4096

const FORCED = 'the model does not think when tool_choice requires a tool'

function off(effort: string | undefined, conflict: string): ThinkingPlan {
  return { type: 'disabled', effort: atMostHigh(effort), conflict }
}

/** The effort equivalent to a budget, or to thinking between tools only. */
function effortFor({ type, budgetTokens, effort }: AskedThinking, target: Target): string | undefined {
  if (effort !== undefined) return fitEffort(effort, target)
  if (type === 'between_tools') return lowest(target)
  return fitEffort(wantedEffort({ mode: 'enabled', budgetTokens }), target)
}

function lowest(target: Target): string | undefined {
  return fitEffort('low', target)
}

/**
 * The nearest level that the model accepts; undefined if it accepts none. An unknown level passes, and upstream refuses
 * it.
 */
function fitEffort(effort: string | undefined, { efforts }: Target): string | undefined {
  if (effort === undefined || efforts?.length === 0) return undefined
  if (!isEffort(effort)) return effort
  // The Messages API has neither of these levels.
  return clampEffort(effort === 'minimal' || effort === 'none' ? 'low' : effort, efforts)
}

/** Without thinking, upstream refuses levels above `high`. Source: @ai-sdk/anthropic 4.0, which lowers them. */
function atMostHigh(effort: string | undefined): string | undefined {
  return effort === 'xhigh' || effort === 'max' ? 'high' : effort
}
