import { budgetOfEffort, clampEffort, wantedEffort } from '../parts/effort.ts'
import { isReasoningGpt, type ModelFamily } from '../parts/model-family.ts'
import type { ModelTraits } from '../model-traits.ts'
import type { Turn } from '../turn.ts'
import type { Warning } from '../warning.ts'

/** What every reasoning GPT takes, for those that list nothing. Source: OpenAI guide, reasoning models, 2026-11. */
const COMMON_EFFORTS = ['low', 'medium', 'high']

/** As chat has it: a level or a number of tokens, depending on the model. */
interface WireEffort {
  readonly reasoning_effort?: string
  readonly thinking_budget?: number
}

/**
 * The effort for the model, nothing to leave it out: models that list levels take one, and reasoning GPTs; models that
 * state a budget take that (docs/copilot-wire.md, "Parameters by model").
 */
export function encodeEffort(
  { reasoning, fieldNames, maxOutputTokens }: Turn,
  { id, supports }: ModelTraits,
  family: ModelFamily,
  warnings: Warning[],
): WireEffort {
  const wanted = wantedEffort(reasoning)
  if (wanted === undefined) return {}
  const listed = supports.reasoningEffort ?? (isReasoningGpt(family) ? COMMON_EFFORTS : [])
  const field =
    reasoning?.mode === 'disabled'
      ? `${fieldNames.reasoning}.disabled`
      : reasoning?.effort === undefined
        ? fieldNames.reasoning
        : fieldNames.effort
  if (listed.length === 0 && supports.maxThinkingBudget !== undefined) {
    const asked = reasoning?.mode === 'enabled' ? reasoning.budgetTokens : undefined
    const budget = fitBudget(asked ?? budgetOfEffort(wanted), supports, maxOutputTokens)
    return budget === undefined ? {} : { thinking_budget: budget }
  }
  if (listed.length === 0) {
    // A model that never reasons does what was asked.
    if (wanted !== 'none') warnings.push({ code: 'dropped', field, detail: `not supported by ${id}` })
    return {}
  }
  const effort = clampEffort(wanted, listed)
  if (effort !== wanted) {
    warnings.push({ code: 'clamped', field, detail: `'${wanted}' is not offered by ${id}, sent as '${effort}'` })
  }
  return { reasoning_effort: effort }
}

/** Tokens; undefined where nothing is asked for, or nothing fits below the cap on the answer. */
function fitBudget(
  wanted: number,
  { minThinkingBudget: least = 1024, maxThinkingBudget: most = Infinity }: ModelTraits['supports'],
  maxOutputTokens: number | undefined,
): number | undefined {
  const budget = Math.min(Math.max(wanted, least), most, (maxOutputTokens ?? Infinity) - 1)
  return wanted === 0 || budget < least ? undefined : budget
}
