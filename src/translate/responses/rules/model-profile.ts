import type { EncodeContext } from '../../dialect.ts'
import type { ModelTraits } from '../../model-traits.ts'
import { clampEffort, isEffort, type Effort } from '../../engine/effort.ts'
import { isReasoningGpt, modelFamily } from '../../engine/model-family.ts'
import { learnedEfforts } from './learned-refusals.ts'

// Which members and values of a Responses request a model accepts. Source: docs/copilot-wire.md, "Responses requests";
// docs/codex-wire.md, "Request body".

export function isChatgpt({ profile }: EncodeContext): boolean {
  return profile === 'chatgpt'
}

/** Copilot accepts fewer members and values of OpenAI's API than OpenAI does. */
export function isCopilot({ model, profile }: EncodeContext): boolean {
  return profile === undefined && model.provider !== 'codex'
}

/** Upstream refuses even the default values for reasoning models (microsoft/vscode#282170). */
export function takesSampling({ model, profile }: EncodeContext): boolean {
  return profile !== 'chatgpt' && !isReasoningGpt(modelFamily(model))
}

/** GPT before version 5 refuses the member. Unknown models are assumed to accept it. */
export function takesReasoning(model: ModelTraits): boolean {
  const family = modelFamily(model)
  if (model.supports.reasoningEffort !== undefined) return true
  return family.kind !== 'gpt' || isReasoningGpt(family)
}

/** GitHub's own client asks all models except these for compaction. */
const withoutContextManagement: ReadonlySet<string> = new Set(['gpt-5', 'gpt-5.1', 'gpt-5.2'])

export function takesContextManagement({ model: { id, family } }: EncodeContext): boolean {
  return !withoutContextManagement.has(id) && !withoutContextManagement.has(family)
}

/**
 * The ChatGPT backend accepts the parameter for models whose catalogue entry states it. GitHub's own client asks every
 * model but this one for a summary of its reasoning.
 */
export function takesSummary({ model, profile }: EncodeContext): boolean {
  if (profile === 'chatgpt') return model.supports.reasoningSummary === true
  return model.supports.reasoningSummary ?? !model.id.startsWith('gpt-5.3-codex-spark')
}

/** Codex CLI's level `ultra` means `max` and delegation of work; upstream knows `max` only. */
export function knownEffort(asked: string, context: EncodeContext): string {
  return asked === 'ultra' && !isCopilot(context) ? 'max' : asked
}

/**
 * Returns the requested level, or the nearest that the model lists. Undefined if the model accepts none. Unknown levels
 * pass, because upstream's error is clearer than a guess.
 */
export function fitEffort(asked: string, context: EncodeContext): string | undefined {
  const { model, learnedRefusals } = context
  const listed = learnedEfforts(learnedRefusals) ?? model.supports.reasoningEffort
  if (listed?.length === 0) return undefined
  const known = knownEffort(asked, context)
  if (!isEffort(known)) return known
  if (listed === undefined && isBelowLow(known, context)) return 'low'
  return clampEffort(known, listed)
}

/** Copilot refused `minimal` for every model that was tried; no list of the ChatGPT backend has `minimal` or `none`. */
function isBelowLow(effort: Effort, context: EncodeContext): boolean {
  return (effort === 'minimal' && isCopilot(context)) || (belowLow.has(effort) && isChatgpt(context))
}

const belowLow: ReadonlySet<Effort> = new Set<Effort>(['none', 'minimal'])
