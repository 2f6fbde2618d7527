import { budgetOfEffort, clampEffort, isEffort, wantedEffort } from '../parts/effort.ts'
import type { Target } from './adapt/target.ts'

/** What the caller wants of thinking, in the words of the Messages API. */
export interface ThinkingWish {
  /** `adaptive`, `enabled`, `disabled`, `between_tools`, or a word nobody knows. Undefined: nothing was said. */
  readonly type: string | undefined
  /** Tokens. */
  readonly budgetTokens: number | undefined
  readonly effort: string | undefined
}

/** What of the rest of the request thinking must agree with. */
export interface ThinkingSetting {
  /** Tokens. */
  readonly maxTokens: number
  /** `tool_choice` names a tool or demands one. */
  readonly forcesTool: boolean
  /** The answers to the last calls are at the end, and the turn that made the calls begins without a thought. */
  readonly lacksThought: boolean
}

export interface ThinkingPlan {
  readonly type: string | undefined
  readonly budgetTokens?: number | undefined
  readonly effort: string | undefined
  /** Why thinking was switched off although it was wanted. */
  readonly conflict?: string | undefined
  readonly isBudgetClamped?: boolean | undefined
}

/**
 * How a model is asked for the thinking the caller wants. Budgets and levels of effort stand for each other as in
 * `parts/effort.ts`. Source: docs/copilot-wire.md, "messages, thinking" and "messages, effort".
 */
export function planThinking(wish: ThinkingWish, target: Target, setting: ThinkingSetting): ThinkingPlan {
  const { type } = wish
  const effort = fitEffort(wish.effort, target)
  switch (type) {
    case 'enabled':
    case 'adaptive':
    case 'between_tools':
      break
    case 'disabled':
      if (target.lessons.alwaysThinks) return { type: 'adaptive', effort: lowest(target) }
      return { type, effort: atMostHigh(effort) }
    default:
      return { type, effort }
  }
  if (setting.forcesTool && target.lessons.thinksUnforced) return off(effort, FORCED)
  switch (target.thinking) {
    case 'unknown':
      return { type, budgetTokens: wish.budgetTokens, effort }
    case 'budget':
      return planBudget(wish, effort, target, setting)
    case 'both':
      if (type === 'enabled') return planBudget(wish, effort, target, setting)
      return { type: 'adaptive', effort: type === 'adaptive' ? effort : lowest(target) }
    case 'adaptive':
      if (type === 'between_tools' && target.lessons.thinking !== 'adaptive')
        return { type, effort: atMostHigh(effort) }
      return { type: 'adaptive', effort: type === 'adaptive' ? effort : effortFor(wish, target) }
  }
}

function planBudget(
  { type, budgetTokens, effort: wanted }: ThinkingWish,
  effort: string | undefined,
  target: Target,
  { maxTokens, forcesTool, lacksThought }: ThinkingSetting,
): ThinkingPlan {
  // Source: Anthropic API reference, extended thinking, 2026-11.
  if (forcesTool) return off(effort, FORCED)
  if (lacksThought) return off(effort, 'the turn that made the last tool calls has no thinking block')
  const most = Math.min(target.maxBudget, maxTokens - 1)
  if (most < target.minBudget) return off(effort, 'max_tokens leaves no room for it')
  const asked = type === 'enabled' ? budgetTokens : undefined
  // A budget of our own choosing leaves a quarter of the tokens to the answer, or as many as an answer usually takes.
  const room = Math.min(ANSWER_TOKENS, Math.floor(maxTokens / 4))
  const roomy = Math.max(target.minBudget, Math.min(most, maxTokens - room))
  const budget = asked ?? budgetOfEffort(isEffort(wanted) ? wanted : type === 'between_tools' ? 'low' : 'high')
  const clamped = Math.min(Math.max(budget, target.minBudget), asked === undefined ? roomy : most)
  return { type: 'enabled', budgetTokens: clamped, effort, isBudgetClamped: asked !== undefined && clamped !== asked }
}

/** What thinking leaves of `max_tokens` where it may take the rest. */
const ANSWER_TOKENS = 4096

const FORCED = 'the model does not think where tool_choice demands a tool'

function off(effort: string | undefined, conflict: string): ThinkingPlan {
  return { type: 'disabled', effort: atMostHigh(effort), conflict }
}

/** The level that stands for a budget, or for thinking between tools only. */
function effortFor({ type, budgetTokens, effort }: ThinkingWish, target: Target): string | undefined {
  if (effort !== undefined) return fitEffort(effort, target)
  if (type === 'between_tools') return lowest(target)
  return fitEffort(wantedEffort({ mode: 'enabled', budgetTokens }), target)
}

function lowest(target: Target): string | undefined {
  return fitEffort('low', target)
}

/** The nearest level the model takes, undefined where it takes none. A word nobody ranks stays: upstream says more. */
function fitEffort(effort: string | undefined, { efforts }: Target): string | undefined {
  if (effort === undefined || efforts?.length === 0) return undefined
  if (!isEffort(effort)) return effort
  // The Messages API has neither of them.
  return clampEffort(effort === 'minimal' || effort === 'none' ? 'low' : effort, efforts)
}

/** Without thinking the levels above `high` are refused. Source: @ai-sdk/anthropic 4.0, which lowers them. */
function atMostHigh(effort: string | undefined): string | undefined {
  return effort === 'xhigh' || effort === 'max' ? 'high' : effort
}
