import type { EncodeContext } from '../dialect.ts'
import type { ModelTraits } from '../model-traits.ts'
import { clampEffort, isEffort, type Effort } from '../parts/effort.ts'
import { isReasoningGpt, modelFamily } from '../parts/model-family.ts'
import { learnedEfforts } from './lessons.ts'

// What a model takes of a Responses request. Source: docs/copilot-wire.md, "Responses requests"; docs/codex-wire.md,
// "Request body".

export function isChatgpt({ profile }: EncodeContext): boolean {
  return profile === 'chatgpt'
}

/** Copilot takes less of OpenAI's API than OpenAI itself does. */
export function isCopilot({ model, profile }: EncodeContext): boolean {
  return profile === undefined && model.provider !== 'codex'
}

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

/** GitHub's own client asks every model but these for compaction. */
const withoutContextManagement: ReadonlySet<string> = new Set(['gpt-5', 'gpt-5.1', 'gpt-5.2'])

export function takesContextManagement({ model: { id, family } }: EncodeContext): boolean {
  return !withoutContextManagement.has(id) && !withoutContextManagement.has(family)
}

/**
 * The ChatGPT backend takes the parameter for models whose catalogue entry says so. GitHub's own client asks every model
 * but this one for a summary of its reasoning.
 */
export function takesSummary({ model, profile }: EncodeContext): boolean {
  if (profile === 'chatgpt') return model.supports.reasoningSummary === true
  return model.supports.reasoningSummary ?? !model.id.startsWith('gpt-5.3-codex-spark')
}

/** Codex CLI has a level that means `max` and a way of delegating work; the request knows `max` only. */
export function knownEffort(asked: string, context: EncodeContext): string {
  return asked === 'ultra' && !isCopilot(context) ? 'max' : asked
}

/**
 * The level to send for the one that was asked for: itself, or the nearest the model lists. Undefined where it takes
 * none at all. Words nobody ranks stay: upstream's own message tells more than a guess.
 */
export function fitEffort(asked: string, context: EncodeContext): string | undefined {
  const { model, lessons } = context
  const listed = learnedEfforts(lessons) ?? model.supports.reasoningEffort
  if (listed?.length === 0) return undefined
  const known = knownEffort(asked, context)
  if (!isEffort(known)) return known
  if (listed === undefined && isBelowLow(known, context)) return 'low'
  return clampEffort(known, listed)
}

/** Copilot refused `minimal` wherever it was tried; no list of the ChatGPT backend has it, or `none`. */
function isBelowLow(effort: Effort, context: EncodeContext): boolean {
  return (effort === 'minimal' && isCopilot(context)) || (belowLow.has(effort) && isChatgpt(context))
}

const belowLow: ReadonlySet<Effort> = new Set<Effort>(['none', 'minimal'])
