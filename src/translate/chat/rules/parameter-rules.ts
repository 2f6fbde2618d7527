import type { ModelTraits } from '../../model-traits.ts'
import { budgetOfEffort, clampEffort, isEffort } from '../../engine/effort.ts'
import { isClaudeFrom, isReasoningGpt } from '../../engine/model-family.ts'
import { NO_VALIDATED_CHOICE } from './learned-refusals.ts'
import type { ChatRequest } from '../wire.ts'
import { learnedField } from '../../engine/learned-refusals.ts'
import { RENAMES_CAP } from './learned-refusals.ts'
import type { Outcome } from '../request-changes.ts'
import { type DropRow, dropRule } from '../../engine/drop-rule.ts'
import type { ChatDraft, Rule, RuleModel, Target } from './rule.ts'

/**
 * `null` and absence both mean the default, hence no warning. Runs first, so that no other rule sees `null`.
 */
export const nullRule: Rule = {
  name: 'null left out',
  source:
    'OpenAI API reference, chat completions: null is the default; parameters: upstream validates against its own schema',
  adapt: ({ body }) => {
    const empty = Object.keys(body).filter((key) => body[key] === null)
    if (empty.length === 0) return undefined
    return { patch: Object.fromEntries(empty.map((key) => [key, undefined])), warnings: [] }
  },
}

const notSupported = ({ traits }: Target): string => `not supported by ${traits.id}`
const always = (): boolean => true
const words = { reason: notSupported, code: 'unsupported_parameter', tellsIdle: true }
const isDefaultSampling = (value: unknown): boolean => value === 1
const isReasoning = ({ family }: RuleModel): boolean => isReasoningGpt(family)
const hasNoTools = ({ tools }: ChatRequest): boolean => !tools

const toolRows: readonly DropRow<ChatRequest, Target>[] = [
  {
    member: 'tools',
    name: 'empty tools dropped',
    source: 'parameters, tools: empty tools are 400',
    when: ({ tools }) => tools?.length === 0,
    idle: always,
    reason: 'empty',
  },
  {
    member: 'tool_choice',
    name: 'tool_choice without tools dropped',
    source: 'parameters, tool_choice',
    when: hasNoTools,
    idle: (choice) => choice === 'auto' || choice === 'none' || choice === 'validated',
    reason: 'there are no tools',
  },
  {
    member: 'parallel_tool_calls',
    name: 'parallel_tool_calls without tools dropped',
    source: 'parameters, parallel_tool_calls',
    when: hasNoTools,
    idle: always,
    reason: 'there are no tools',
  },
  {
    member: 'parallel_tool_calls',
    source: 'parameters, parallel_tool_calls: if supports.parallel_tool_calls',
    applies: ({ traits }) => traits.supports.parallelToolCalls === false,
    idle: (parallel) => parallel === false,
  },
]

/** Parameters that a model refuses and that have no substitute. */
const rows: readonly DropRow<ChatRequest, Target>[] = [
  ...['temperature', 'top_p'].map((member) => ({
    member,
    source: 'parameters, temperature: gpt-5* and o-series take the default only',
    applies: isReasoning,
    keeps: isDefaultSampling,
  })),
  ...['temperature', 'top_p', 'top_k'].map((member) => ({
    member,
    source: 'parameters, temperature: sampling is gone from Claude Opus 4.7 on',
    applies: ({ family }: RuleModel) =>
      family.kind === 'claude' && family.tier === 'opus' && isClaudeFrom(family, 4, 7),
    keeps: isDefaultSampling,
  })),
  ...['temperature', 'top_p'].map((member) => ({
    member,
    source: 'parameters, temperature: with thinking on, Claude takes the default only',
    applies: ({ family }: RuleModel) => family.kind === 'claude',
    when: wantsThinking,
    keeps: isDefaultSampling,
    reason: ({ traits }: Target) => `not supported by ${traits.id} together with thinking`,
  })),
  {
    member: 'top_k',
    name: 'top_k dropped for OpenAI',
    source: 'OpenAI API reference, chat completions: it has no top_k',
    applies: ({ family }) => family.kind === 'gpt' || family.kind === 'o-series',
  },
  {
    member: 'verbosity',
    source: 'parameters, verbosity',
    applies: ({ family }) => family.kind !== 'gpt' || (family.major ?? 0) < 5,
    reason: 'only GPT-5 and later models support it',
  },
  {
    member: 'prediction',
    // The parameter only saves time. The official client sends it only if the model list states support; absent means
    // no support.
    source: 'parameters, prediction: only if supports.prediction',
    applies: ({ traits }) => traits.supports.prediction !== true,
  },
  {
    member: 'store',
    source: 'parameters, store',
    idle: (value) => value === false,
    reason: 'not supported by Copilot',
  },
  {
    member: 'service_tier',
    source: 'parameters, service_tier',
    idle: (value) => value === 'auto' || value === 'default',
    reason: 'not supported by Copilot',
  },
  {
    member: 'metadata',
    source: 'parameters, metadata',
    reason: 'not supported by Copilot',
  },
  {
    member: 'max_tokens',
    name: 'one output cap of two',
    source: 'OpenAI API reference: max_tokens is deprecated in favour of max_completion_tokens; parameters, max_tokens',
    when: ({ max_completion_tokens: newer }) => newer !== undefined,
    idle: (older, { max_completion_tokens: newer }) => older === newer,
    reason: 'max_completion_tokens is set too',
  },
]

export const toolParameterRules: readonly Rule[] = [
  ...toolRows.map((row) => dropRule(row, words)),
  {
    name: 'tool_choice validated for Gemini, and for no other',
    source: 'parameters, tool_choice: GitHub’s CLI sends it with all tools of Gemini',
    adapt: ({ body: { tools, tool_choice: choice } }, { traits, family, learnedRefusals }) => {
      const takesIt = family.kind === 'gemini' && !learnedRefusals.has(NO_VALIDATED_CHOICE)
      if (takesIt && tools?.length && (choice ?? 'auto') === 'auto') {
        return { patch: { tool_choice: 'validated' }, warnings: [] }
      }
      if (takesIt || choice !== 'validated') return undefined
      const detail = `${traits.id} does not know 'validated'; sent as 'auto'`
      return { patch: { tool_choice: 'auto' }, warnings: [{ code: 'adapted', field: 'tool_choice', detail }] }
    },
  },
]

/** The proxy ends the answer itself: the sequences are an effect on the reply. */
export const stopRule: Rule = {
  name: 'stop sequences that upstream refuses looked for by the proxy',
  source: 'parameters, stop',
  adapt: ({ body: { stop } }, { family, learnedRefusals }) => {
    if (stop === undefined || stop === null) return undefined
    const takesNone = isReasoningGpt(family) || learnedRefusals.has(learnedField('stop'))
    const isTaken = (text: string): boolean => !takesNone && (family.kind !== 'claude' || text.trim() !== '')
    const given = typeof stop === 'string' ? [stop] : stop
    const taken = given.filter(isTaken)
    if (taken.length === given.length) return undefined
    const sequences = given.filter((text) => text !== '' && !isTaken(text))
    return {
      patch: { stop: taken.length === 0 ? undefined : taken },
      warnings:
        sequences.length === 0 ? [] : [{ code: 'emulated', field: 'stop', detail: 'the answer ends before them' }],
      effects: { stop: sequences },
    }
  },
}

/** The order matters: dropping sampling depends on the adapted effort, and a discarded cap needs no limit. */
export const parameterRules: readonly Rule[] = [
  {
    name: 'effort in the form of the model',
    source: 'parameters, reasoning_effort: Claude also accepts thinking_budget',
    adapt: fitEffort,
  },
  {
    name: 'reasoning_effort among the listed levels',
    source:
      'parameters, reasoning_effort: others are 400 invalid_reasoning_effort; nearest lower, else lowest, is our choice',
    adapt: listEffort,
  },
  ...rows.map((row) => dropRule(row, words)),
  {
    name: 'output cap within the limit',
    source: 'parameters, max_tokens: above max_output_tokens upstream answers 400',
    adapt: clampOutputCap,
  },
  {
    name: 'output cap under the name that the model takes',
    source: 'parameters, max_tokens: gpt-5* and o-series refuse max_tokens, everyone else takes it',
    adapt: ({ body }, target) =>
      isReasoning(target) || target.learnedRefusals.has(RENAMES_CAP)
        ? renameCap(body, 'max_tokens', 'max_completion_tokens')
        : renameCap(body, 'max_completion_tokens', 'max_tokens'),
  },
]

/** The three members that turn Claude's thinking on (docs/copilot-wire.md, "Parameters by model"). */
function wantsThinking(request: ChatRequest): boolean {
  const { thinking, thinking_budget: budget, reasoning_effort: effort } = request
  if (typeof effort === 'string' && effort !== 'none') return true
  if (typeof budget === 'number' && budget > 0) return true
  return typeof thinking === 'object' && thinking !== null && 'type' in thinking && thinking.type !== 'disabled'
}

type CapName = 'max_tokens' | 'max_completion_tokens'

/** If both caps were sent, an earlier rule has dropped one. */
function clampOutputCap({ body: request }: ChatDraft, { traits }: Target): Outcome | undefined {
  const limit = traits.maxOutputTokens ?? Infinity
  const caps: readonly CapName[] = ['max_tokens', 'max_completion_tokens']
  const field = caps.find((name) => (request[name] ?? 0) > limit)
  if (field === undefined) return undefined
  const detail = `above the limit of ${traits.id}; lowered to ${limit}`
  return { patch: { [field]: limit }, warnings: [{ code: 'clamped', field, detail }] }
}

function renameCap(request: ChatRequest, from: CapName, to: CapName): Outcome | undefined {
  if (request[from] === undefined) return undefined
  return {
    patch: { [from]: undefined, [to]: request[from] },
    warnings: [{ code: 'adapted', field: from, detail: `sent as ${to}` }],
  }
}

/** Levels that every reasoning GPT takes, for models that list none. Source: OpenAI guide, reasoning models, 2026-11. */
const COMMON_EFFORTS = ['low', 'medium', 'high']

/**
 * Models that list levels and reasoning GPTs take a level, models that state a budget take tokens. A chat caller's own level
 * goes to a model that lists none as it is, because upstream's message is better than a guess.
 */
function fitEffort({ body, made }: ChatDraft, target: Target): Outcome | undefined {
  const { reasoning_effort: effort, thinking, thinking_budget: stated } = body
  const { supports } = target.traits
  const listed = supports.reasoningEffort ?? (isReasoning(target) ? COMMON_EFFORTS : [])
  if (!isEffort(effort)) return undefined
  if (listed.length === 0 && supports.maxThinkingBudget !== undefined) {
    if (thinking !== undefined) return undefined
    const cap = body.max_completion_tokens ?? body.max_tokens ?? undefined
    const budget = fitBudget(typeof stated === 'number' ? stated : budgetOfEffort[effort], supports, cap)
    const detail = budget === undefined ? 'sent without thinking' : `sent as a budget of ${budget} tokens`
    return {
      patch: { reasoning_effort: undefined, thinking_budget: budget },
      warnings: [{ code: 'adapted', field: 'reasoning_effort', detail }],
    }
  }
  if (made === undefined) return undefined
  const field = 'reasoning_effort'
  const alone = { thinking_budget: undefined }
  if (listed.length === 0) {
    // A model that never reasons satisfies `none`.
    const detail = notSupported(target)
    return {
      patch: { ...alone, reasoning_effort: undefined },
      warnings: effort === 'none' ? [] : [{ code: 'dropped', field, detail }],
    }
  }
  const nearest = clampEffort(effort, listed)
  if (nearest === effort) return stated === undefined ? undefined : { patch: alone, warnings: [] }
  const detail = `${target.traits.id} does not support '${effort}'; sent as '${nearest}'`
  return { patch: { ...alone, reasoning_effort: nearest }, warnings: [{ code: 'clamped', field, detail }] }
}

/** Tokens. Undefined for no reasoning, or if no budget fits below the answer's cap. */
function fitBudget(
  wanted: number,
  { minThinkingBudget: least = 1024, maxThinkingBudget: most = Infinity }: ModelTraits['supports'],
  cap: number | undefined,
): number | undefined {
  const budget = Math.min(Math.max(wanted, least), most, (cap ?? Infinity) - 1)
  return wanted === 0 || budget < least ? undefined : budget
}

function listEffort({ body: request }: ChatDraft, { traits }: Target): Outcome | undefined {
  const asked = request.reasoning_effort
  const listed = traits.supports.reasoningEffort
  if (typeof asked !== 'string' || listed === undefined || listed.includes(asked)) return undefined
  const field = 'reasoning_effort'
  if (listed.length === 0) {
    const detail = `not supported by ${traits.id}`
    return { patch: { reasoning_effort: undefined }, warnings: [{ code: 'dropped', field, detail }] }
  }
  // Unknown levels pass, because upstream's own message is better than a guess.
  const nearest = isEffort(asked) ? clampEffort(asked, listed) : asked
  if (nearest === asked) return undefined
  const detail = `${traits.id} does not support '${asked}'; sent as '${nearest}'`
  return { patch: { reasoning_effort: nearest }, warnings: [{ code: 'clamped', field, detail }] }
}
