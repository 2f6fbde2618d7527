import type { EncodeContext } from '../dialect.ts'
import type { ModelTraits } from '../model-traits.ts'
import { clampEffort, isEffort } from '../parts/effort.ts'
import { isReasoningGpt, modelFamily } from '../parts/model-family.ts'
import { learnedEfforts } from './lessons.ts'

// What a model takes of a Responses request. Source: docs/copilot-wire.md, "Responses requests".

/** Reasoning models take the default only, and upstream refuses the very names (microsoft/vscode#282170). */
export function takesSampling({ model, profile }: EncodeContext): boolean {
  return profile !== 'chatgpt' && !isReasoningGpt(modelFamily(model))
}

/** GPT before 5 does not reason and refuses to be asked; of others we do not know. */
export function takesReasoning(model: ModelTraits): boolean {
  const family = modelFamily(model)
  if (model.supports.reasoningEffort !== undefined) return true
  return family.kind !== 'gpt' || isReasoningGpt(family)
}

/** GitHub's own client asks every model but this one for a summary of its reasoning. */
export function takesSummary(model: ModelTraits): boolean {
  return !model.id.startsWith('gpt-5.3-codex-spark')
}

/**
 * The level to send for the one that was asked for: itself, or the nearest the model lists. Undefined where it takes
 * none at all. Words nobody ranks stay: upstream's own message tells more than a guess.
 */
export function fitEffort(asked: string, { model, lessons }: EncodeContext): string | undefined {
  const listed = learnedEfforts(lessons) ?? model.supports.reasoningEffort
  if (listed?.length === 0) return undefined
  if (!isEffort(asked)) return asked
  // Refused wherever it was tried, also where the model list is silent.
  if (asked === 'minimal' && listed === undefined) return 'low'
  return clampEffort(asked, listed)
}
