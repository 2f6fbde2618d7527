import { isClaudeFrom, isReasoningGpt } from '../../parts/model-family.ts'
import type { ChatRequest } from '../wire-request.ts'
import { always, type Outcome, type Rule, type Target } from './rule.ts'

interface DropRow {
  readonly parameter: string
  readonly source: string
  readonly applies: (target: Target, request: ChatRequest) => boolean
  /** Values the model takes, which stay. */
  readonly keeps?: (value: unknown) => boolean
  /** Values that ask for nothing, so that dropping them changes nothing. `null` never does. */
  readonly idle?: (value: unknown) => boolean
  readonly reason: (target: Target) => string
}

const notSupported = ({ traits }: Target): string => `not supported by ${traits.id}`
const isDefaultSampling = (value: unknown): boolean => value === 1
const isReasoning = ({ family }: Target): boolean => isReasoningGpt(family)
const isOpusFrom47 = ({ family }: Target): boolean =>
  family.kind === 'claude' && family.tier === 'opus' && isClaudeFrom(family, 4, 7)

/** Parameters that some model refuses and that nothing can stand in for. */
const dropRows: readonly DropRow[] = [
  ...['temperature', 'top_p'].map((parameter) => ({
    parameter,
    source: '§6.4 temperature, §14.22: gpt-5* and o-series take the default only',
    applies: isReasoning,
    keeps: isDefaultSampling,
    reason: notSupported,
  })),
  ...['temperature', 'top_p', 'top_k'].map((parameter) => ({
    parameter,
    source: '§6.4 temperature: sampling is gone from Claude Opus 4.7 on',
    applies: isOpusFrom47,
    keeps: isDefaultSampling,
    reason: notSupported,
  })),
  ...['temperature', 'top_p'].map((parameter) => ({
    parameter,
    source: '§6.4 temperature: with thinking on, Claude takes the default only',
    applies: ({ family }: Target, request: ChatRequest) => family.kind === 'claude' && wantsThinking(request),
    keeps: isDefaultSampling,
    reason: ({ traits }: Target) => `not supported by ${traits.id} together with thinking`,
  })),
  {
    parameter: 'prediction',
    // It only ever saves time. The official client sends it where the model list says so, hence absent counts as no.
    source: '§6.4 prediction: only if supports.prediction',
    applies: ({ traits }) => traits.supports.prediction !== true,
    reason: notSupported,
  },
  {
    parameter: 'store',
    source: '§6.4 store',
    applies: always,
    idle: (value) => value === false,
    reason: () => 'not supported by Copilot',
  },
  {
    parameter: 'service_tier',
    source: '§6.4 service_tier',
    applies: always,
    idle: (value) => value === 'auto' || value === 'default',
    reason: () => 'not supported by Copilot',
  },
  {
    parameter: 'metadata',
    source: '§6.4 metadata',
    applies: always,
    reason: () => 'not supported by Copilot',
  },
]

/** Levels of `reasoning_effort`, lowest first. §6.4 reasoning_effort. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

export const parameterRules: readonly Rule[] = [
  ...dropRows.map(toRule),
  {
    name: 'output cap within the limit',
    source: '§6.4 max_tokens: above max_output_tokens upstream answers 400',
    applies: ({ traits }) => traits.maxOutputTokens !== undefined,
    adapt: clampOutputCap,
  },
  {
    name: 'max_tokens as max_completion_tokens',
    source: '§6.4 max_tokens, §14.21: gpt-5* and o-series refuse max_tokens',
    applies: isReasoning,
    adapt: (request) => renameCap(request, 'max_tokens', 'max_completion_tokens'),
  },
  {
    name: 'max_completion_tokens as max_tokens',
    source: '§6.4 max_tokens: everyone else takes max_tokens',
    applies: ({ family }) => !isReasoningGpt(family),
    adapt: (request) => renameCap(request, 'max_completion_tokens', 'max_tokens'),
  },
  {
    name: 'reasoning_effort among the listed levels',
    source:
      '§6.4 reasoning_effort: others are 400 invalid_reasoning_effort; dialect map §4.1: nearest lower, else lowest',
    applies: ({ traits }) => traits.supports.reasoningEffort !== undefined,
    adapt: clampEffort,
  },
]

function toRule({ parameter, source, applies, keeps, idle, reason }: DropRow): Rule {
  return {
    name: `${parameter} dropped`,
    source,
    applies: always,
    adapt: (request, target) => {
      const value = request[parameter]
      if (value === undefined || !applies(target, request)) return undefined
      if (keeps?.(value) === true) return undefined
      const changesMeaning = value !== null && idle?.(value) !== true
      return {
        patch: { [parameter]: undefined },
        notes: [{ path: parameter, reason: reason(target), action: 'dropped', changesMeaning }],
      }
    },
  }
}

/** Claude's ways of asking for thinking on this route: §6.4 reasoning_effort. */
function wantsThinking(request: ChatRequest): boolean {
  const { thinking, thinking_budget: budget } = request
  if (typeof budget === 'number' && budget > 0) return true
  return typeof thinking === 'object' && thinking !== null && 'type' in thinking && thinking.type !== 'disabled'
}

function clampOutputCap(request: ChatRequest, { traits }: Target): Outcome | undefined {
  const limit = traits.maxOutputTokens ?? Infinity
  const above = (['max_tokens', 'max_completion_tokens'] as const).filter((key) => (request[key] ?? 0) > limit)
  if (above.length === 0) return undefined
  return {
    patch: Object.fromEntries(above.map((key) => [key, limit])),
    notes: above.map((path) => ({
      path,
      reason: `above the limit of ${traits.id}`,
      action: `lowered to ${limit}`,
      changesMeaning: true,
    })),
  }
}

type CapName = 'max_tokens' | 'max_completion_tokens'

/** Where both are there, `max_completion_tokens` counts: the other is the deprecated one. */
function renameCap(request: ChatRequest, from: CapName, to: CapName): Outcome | undefined {
  if (request[from] === undefined) return undefined
  const value = request.max_completion_tokens ?? request.max_tokens
  return {
    patch: { [from]: undefined, [to]: value },
    notes: [{ path: from, action: `sent as ${to}`, changesMeaning: false }],
  }
}

function clampEffort(request: ChatRequest, { traits }: Target): Outcome | undefined {
  const asked = request.reasoning_effort
  const listed = traits.supports.reasoningEffort ?? []
  if (typeof asked !== 'string' || listed.includes(asked)) return undefined
  const note = { path: 'reasoning_effort', changesMeaning: true }
  if (listed.length === 0) {
    const dropped = { ...note, reason: `not supported by ${traits.id}`, action: 'dropped' }
    return { patch: { reasoning_effort: undefined }, notes: [dropped] }
  }
  const known = EFFORTS.filter((level) => listed.includes(level))
  const nearest = known.findLast((level) => EFFORTS.indexOf(level) < EFFORTS.indexOf(asked)) ?? known[0]
  // A level nobody ranks, asked or listed: upstream's own message tells more than a guess.
  if (nearest === undefined || !EFFORTS.includes(asked)) return undefined
  const lowered = { ...note, reason: `'${asked}' is not offered by ${traits.id}`, action: `sent as '${nearest}'` }
  return { patch: { reasoning_effort: nearest }, notes: [lowered] }
}
