import { clampEffort, isEffort } from '../../../parts/effort.ts'
import { isClaudeFrom, isReasoningGpt } from '../../../parts/model-family.ts'
import type { ChatRequest } from '../../wire.ts'
import { RENAMES_CAP } from '../learned-refusals.ts'
import { always, type Note, type Outcome, type Rule, type Target } from './rule.ts'

interface DropRow {
  readonly parameter: string
  readonly source: string
  readonly applies: (target: Target) => boolean
  /** Absent if the other members do not matter. */
  readonly when?: (request: ChatRequest) => boolean
  /** Values the model takes. */
  readonly keeps?: (value: unknown) => boolean
  /** Values that ask for the default behaviour: dropping them changes nothing. */
  readonly idle?: (value: unknown) => boolean
  readonly reason: (target: Target) => string
}

const notSupported = ({ traits }: Target): string => `not supported by ${traits.id}`
const isDefaultSampling = (value: unknown): boolean => value === 1
const isReasoning = ({ family }: Target): boolean => isReasoningGpt(family)
const isOpusFrom47 = ({ family }: Target): boolean =>
  family.kind === 'claude' && family.tier === 'opus' && isClaudeFrom(family, 4, 7)

/** Parameters that a model refuses and that have no substitute. */
const dropRows: readonly DropRow[] = [
  ...['temperature', 'top_p'].map((parameter) => ({
    parameter,
    source: 'parameters, temperature: gpt-5* and o-series take the default only',
    applies: isReasoning,
    keeps: isDefaultSampling,
    reason: notSupported,
  })),
  ...['temperature', 'top_p', 'top_k'].map((parameter) => ({
    parameter,
    source: 'parameters, temperature: sampling is gone from Claude Opus 4.7 on',
    applies: isOpusFrom47,
    keeps: isDefaultSampling,
    reason: notSupported,
  })),
  ...['temperature', 'top_p'].map((parameter) => ({
    parameter,
    source: 'parameters, temperature: with thinking on, Claude takes the default only',
    applies: ({ family }: Target) => family.kind === 'claude',
    when: wantsThinking,
    keeps: isDefaultSampling,
    reason: ({ traits }: Target) => `not supported by ${traits.id} together with thinking`,
  })),
  {
    parameter: 'prediction',
    // It only saves time. The official client sends it only if the model list says so; absent counts as no.
    source: 'parameters, prediction: only if supports.prediction',
    applies: ({ traits }) => traits.supports.prediction !== true,
    reason: notSupported,
  },
  {
    parameter: 'store',
    source: 'parameters, store',
    applies: always,
    idle: (value) => value === false,
    reason: () => 'not supported by Copilot',
  },
  {
    parameter: 'service_tier',
    source: 'parameters, service_tier',
    applies: always,
    idle: (value) => value === 'auto' || value === 'default',
    reason: () => 'not supported by Copilot',
  },
  {
    parameter: 'metadata',
    source: 'parameters, metadata',
    applies: always,
    reason: () => 'not supported by Copilot',
  },
]

/** In order: dropping sampling depends on the adapted effort, and a discarded cap needs no limit. */
export const parameterRules: readonly Rule[] = [
  {
    name: 'reasoning_effort among the listed levels',
    source:
      'parameters, reasoning_effort: others are 400 invalid_reasoning_effort; nearest lower, else lowest, is our choice',
    applies: ({ traits }) => traits.supports.reasoningEffort !== undefined,
    adapt: listEffort,
  },
  ...dropRows.map(toRule),
  {
    name: 'one output cap of two',
    source: 'OpenAI API reference: max_tokens is deprecated in favour of max_completion_tokens; parameters, max_tokens',
    applies: always,
    adapt: dropSecondCap,
  },
  {
    name: 'output cap within the limit',
    source: 'parameters, max_tokens: above max_output_tokens upstream answers 400',
    applies: ({ traits }) => traits.maxOutputTokens !== undefined,
    adapt: clampOutputCap,
  },
  {
    name: 'max_tokens as max_completion_tokens',
    source: 'parameters, max_tokens: gpt-5* and o-series refuse max_tokens',
    applies: always,
    adapt: (request, target, learnedRefusals) =>
      isReasoning(target) || learnedRefusals.has(RENAMES_CAP)
        ? renameCap(request, 'max_tokens', 'max_completion_tokens')
        : undefined,
  },
  {
    name: 'max_completion_tokens as max_tokens',
    source: 'parameters, max_tokens: everyone else takes max_tokens',
    applies: ({ family }) => !isReasoningGpt(family),
    adapt: (request, _target, learnedRefusals) =>
      learnedRefusals.has(RENAMES_CAP) ? undefined : renameCap(request, 'max_completion_tokens', 'max_tokens'),
  },
]

function toRule({ parameter, source, applies, when, keeps, idle, reason }: DropRow): Rule {
  return {
    name: `${parameter} dropped`,
    source,
    applies,
    adapt: (request, target) => {
      const value = request[parameter]
      if (value === undefined || keeps?.(value) === true || when?.(request) === false) return undefined
      const code = idle?.(value) === true ? 'adapted' : 'dropped'
      return {
        patch: { [parameter]: undefined },
        notes: [{ code, field: parameter, reason: reason(target), action: 'dropped' }],
      }
    },
  }
}

/** The three members that turn Claude's thinking on (docs/copilot-wire.md, "Parameters by model"). */
function wantsThinking(request: ChatRequest): boolean {
  const { thinking, thinking_budget: budget, reasoning_effort: effort } = request
  if (typeof effort === 'string' && effort !== 'none') return true
  if (typeof budget === 'number' && budget > 0) return true
  return typeof thinking === 'object' && thinking !== null && 'type' in thinking && thinking.type !== 'disabled'
}

function clampOutputCap(request: ChatRequest, { traits }: Target): Outcome | undefined {
  const limit = traits.maxOutputTokens ?? Infinity
  const above = (['max_tokens', 'max_completion_tokens'] as const).filter((key) => (request[key] ?? 0) > limit)
  if (above.length === 0) return undefined
  return {
    patch: Object.fromEntries(above.map((key) => [key, limit])),
    notes: above.map((field) => ({
      code: 'clamped',
      field,
      reason: `above the limit of ${traits.id}`,
      action: `lowered to ${limit}`,
    })),
  }
}

type CapName = 'max_tokens' | 'max_completion_tokens'

function dropSecondCap({ max_tokens: older, max_completion_tokens: newer }: ChatRequest): Outcome | undefined {
  if (older === undefined || newer === undefined) return undefined
  const note: Note = {
    code: older === newer ? 'adapted' : 'dropped',
    field: 'max_tokens',
    reason: 'max_completion_tokens is given too',
    action: 'dropped',
  }
  return { patch: { max_tokens: undefined }, notes: [note] }
}

function renameCap(request: ChatRequest, from: CapName, to: CapName): Outcome | undefined {
  if (request[from] === undefined) return undefined
  return {
    patch: { [from]: undefined, [to]: request[from] },
    notes: [{ code: 'adapted', field: from, action: `sent as ${to}` }],
  }
}

function listEffort(request: ChatRequest, { traits }: Target): Outcome | undefined {
  const asked = request.reasoning_effort
  const listed = traits.supports.reasoningEffort ?? []
  if (typeof asked !== 'string' || listed.includes(asked)) return undefined
  const field = 'reasoning_effort'
  if (listed.length === 0) {
    const note: Note = { code: 'dropped', field, reason: `not supported by ${traits.id}`, action: 'dropped' }
    return { patch: { reasoning_effort: undefined }, notes: [note] }
  }
  // For an unknown level, upstream's own message is better than a guess.
  const nearest = isEffort(asked) ? clampEffort(asked, listed) : asked
  if (nearest === asked) return undefined
  const reason = `'${asked}' is not offered by ${traits.id}`
  const note: Note = { code: 'clamped', field, reason, action: `sent as '${nearest}'` }
  return { patch: { reasoning_effort: nearest }, notes: [note] }
}

/**
 * `null` and absence both mean the default, hence no warning. Runs first, so that no other rule sees `null`.
 */
export const nullRule: Rule = {
  name: 'null left out',
  source:
    'OpenAI API reference, chat completions: null is the default; parameters: upstream validates against its own schema',
  applies: always,
  adapt: (request) => {
    const empty = Object.keys(request).filter((key) => request[key] === null)
    if (empty.length === 0) return undefined
    return { patch: Object.fromEntries(empty.map((key) => [key, undefined])), notes: [] }
  },
}
