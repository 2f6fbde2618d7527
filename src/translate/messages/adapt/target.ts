import { isClaudeFrom, modelFamily, type ModelFamily } from '../../parts/model-family.ts'
import { vendorOf } from '../../parts/opaque-envelope.ts'
import type { ModelTraits } from '../../model-traits.ts'
import type { Vendor } from '../../turn.ts'
import { parseLessons, type Lessons } from '../lessons.ts'

/** The model a request is adapted to, and what is known of its habits. */
export interface Target {
  readonly traits: ModelTraits
  /** Whose reasoning it can read. */
  readonly vendor: Vendor
  /**
   * How it is asked to think: `adaptive` only, with a `budget` only, or `both` ways (4.6). `unknown`: as the caller
   * asks. Source: docs/copilot-wire.md, "messages, thinking".
   */
  readonly thinking: 'adaptive' | 'budget' | 'both' | 'unknown'
  /** Tokens. */
  readonly minBudget: number
  /** Tokens. */
  readonly maxBudget: number
  /** Levels of `output_config.effort`; [] for none, undefined where nobody says. */
  readonly efforts: readonly string[] | undefined
  /** False: `output_config` is refused whatever it holds. */
  readonly takesOutputConfig: boolean
  readonly takesSampling: boolean
  /** `role: "system"` behind a user message. */
  readonly takesSystemMessages: boolean
  readonly takesPrefill: boolean
  /** Most that `max_tokens` may be. */
  readonly maxTokens: number
  /** Without `display` the text of thoughts stays away. */
  readonly hidesThinking: boolean
  readonly lessons: Lessons
}

/** Anthropic's smallest thinking budget. Source: Anthropic API reference, extended thinking, 2026-11. */
const MIN_BUDGET = 1024

export function targetOf(traits: ModelTraits, learned: ReadonlySet<string>): Target {
  const lessons = parseLessons(learned)
  const family = modelFamily(traits)
  const { supports } = traits
  const thinking = lessons.thinking ?? waysOfThinking(traits, family)
  // Models without adaptive thinking know no effort either, unless their entry lists some.
  const efforts = lessons.efforts ?? supports.reasoningEffort ?? (thinking === 'budget' ? [] : undefined)
  return {
    traits,
    vendor: vendorOf(family),
    thinking,
    minBudget: supports.minThinkingBudget ?? MIN_BUDGET,
    maxBudget: supports.maxThinkingBudget ?? Infinity,
    efforts,
    takesOutputConfig: thinking !== 'budget' || efforts?.length !== 0 || supports.structuredOutputs === true,
    takesSampling: !isClaudeFrom(family, 4, 7),
    takesSystemMessages: !lessons.refusesSystemMessages && (isClaudeFrom(family, 4, 8) || family.kind !== 'claude'),
    takesPrefill: !isClaudeFrom(family, 4, 6),
    maxTokens: Math.min(traits.maxOutputTokens ?? Infinity, lessons.maxTokens ?? Infinity),
    hidesThinking: isClaudeFrom(family, 4, 7),
    lessons,
  }
}

/** As the model list says. That 4.6 takes a budget, too, and 4.7 none, is in no flag; nor are the ways where it says nothing. */
function waysOfThinking({ supports }: ModelTraits, family: ModelFamily): Target['thinking'] {
  if (supports.adaptiveThinking !== false && isClaudeFrom(family, 4, 6)) {
    return isClaudeFrom(family, 4, 7) ? 'adaptive' : 'both'
  }
  if (supports.adaptiveThinking === true) return 'adaptive'
  const isOlder = family.kind === 'claude' && family.version !== undefined
  return isOlder || supports.maxThinkingBudget !== undefined ? 'budget' : 'unknown'
}
