import { learnedValues } from '../../engine/learned-refusals.ts'
import { isClaudeFrom, modelFamily, type ModelFamily } from '../../engine/model-family.ts'
import { vendorOf } from '../../engine/opaque-envelope.ts'
import { isFilled } from '../../../json/json.ts'
import type { ModelTraits } from '../../model-traits.ts'
import type { Vendor } from '../../turn.ts'

/** The model that a request is adapted to, and its profile. */
export interface Target {
  readonly traits: ModelTraits
  /** The vendor whose reasoning the model accepts. */
  readonly vendor: Vendor
  /**
   * The model accepts `adaptive` thinking, a `budget`, or `both` (4.6). `unknown`: keep the caller's setting. Source:
   * docs/copilot-wire.md, "messages, thinking".
   */
  readonly thinking: 'adaptive' | 'budget' | 'both' | 'unknown'
  /** Tokens. */
  readonly minBudget: number
  /** Tokens. */
  readonly maxBudget: number
  /** Levels of `output_config.effort`; [] for none, undefined if unknown. */
  readonly efforts: readonly string[] | undefined
  /** If false, upstream refuses any `output_config`. */
  readonly takesOutputConfig: boolean
  readonly takesSampling: boolean
  /** The model accepts `role: "system"` after a user message. */
  readonly takesSystemMessages: boolean
  /** Upstream has just refused the system messages of this request. */
  readonly hasRefusedSystem: boolean
  readonly takesPrefill: boolean
  /** The model's highest `max_tokens`. */
  readonly maxTokens: number
  /** Without `display`, the answer has no readable thinking. */
  readonly hidesThinking: boolean
  // The parts that upstream has refused for the model before.
  readonly learnedRefusals: ReadonlySet<string>
  /** Values of `anthropic-beta`. */
  readonly refusedBetas: ReadonlySet<string>
  /** Values of `type`. */
  readonly refusedTools: ReadonlySet<string>
  /** Values of `type`. */
  readonly refusedBlocks: ReadonlySet<string>
  /** The model does not accept thinking between tool calls only. */
  readonly alwaysAdapts: boolean
  /** Thinking cannot be switched off. */
  readonly alwaysThinks: boolean
  /** `tool_choice` may demand a tool. */
  readonly takesForcedChoice: boolean
  /** `thinking.block_binding` with its beta lets upstream drop thinking of another prefix instead of refusing it. */
  readonly bindsThinking: boolean
  /** Cache marks pay for the request, and the caller may have set none. */
  readonly marksCache?: boolean
  /** The model does not think if `tool_choice` demands a tool. */
  readonly thinksUnforced: boolean
  // What upstream has refused of this request.
  readonly thinkingOff: boolean
  readonly takesFormat: boolean
  /** Names of deferred tools that upstream takes from the start only. */
  readonly toolsAtOnce: ReadonlySet<string>
  /** Names of tools that upstream does not find behind a reference. */
  readonly refusedReferences: ReadonlySet<string>
  /** Names of server tools whose calls upstream does not take in the history. */
  readonly refusedCalls: ReadonlySet<string>
}

/** Anthropic's smallest thinking budget. Source: Anthropic API reference, extended thinking, 2026-11. */
const MIN_BUDGET = 1024

export function targetOf(traits: ModelTraits, learnedRefusals: ReadonlySet<string>): Target {
  const learned = (kind: string) => learnedValues(learnedRefusals, kind)
  const ofThinking = learned('thinking')
  // The newest refusal wins.
  const learnedThinking = ofThinking.findLast((value) => value === 'adaptive' || value === 'budget')
  const learnedEfforts = learned('efforts').at(-1)?.split(',').filter(isFilled)
  const family = modelFamily(traits)
  const { supports } = traits
  const thinking = learnedThinking ?? thinkingModes(traits, family)
  // Models without adaptive thinking accept no effort, unless the model list names levels.
  const efforts = learnedEfforts ?? supports.reasoningEffort ?? (thinking === 'budget' ? [] : undefined)
  const maxTokens = learned('max-tokens')
    .map(Number)
    .findLast((limit) => limit > 0)
  return {
    traits,
    vendor: vendorOf(family),
    thinking,
    minBudget: supports.minThinkingBudget ?? MIN_BUDGET,
    maxBudget: supports.maxThinkingBudget ?? Infinity,
    efforts,
    takesOutputConfig: thinking !== 'budget' || efforts?.length !== 0 || supports.structuredOutputs === true,
    takesSampling: !isClaudeFrom(family, 4, 7),
    takesSystemMessages:
      learned('system-messages').length === 0 && (isClaudeFrom(family, 4, 8) || family.kind !== 'claude'),
    hasRefusedSystem: learned('refused-now').includes('system-messages'),
    takesPrefill: !isClaudeFrom(family, 4, 6),
    maxTokens: Math.min(traits.maxOutputTokens ?? Infinity, maxTokens ?? Infinity),
    hidesThinking: isClaudeFrom(family, 4, 7),
    learnedRefusals,
    refusedBetas: new Set(learned('beta')),
    refusedTools: new Set(learned('tag:tools')),
    refusedBlocks: new Set(learned('tag:messages')),
    alwaysAdapts: learnedThinking === 'adaptive',
    alwaysThinks: isAdaptiveOnly(family) || ofThinking.includes('always'),
    takesForcedChoice: learned('choice').length === 0,
    bindsThinking: bindsThinking(family) && !learned('field').some((path) => path.endsWith('.block_binding')),
    thinksUnforced: ofThinking.includes('unforced'),
    thinkingOff: ofThinking.includes('off'),
    takesFormat: learned('format').length === 0,
    toolsAtOnce: new Set(learned('tool-at-once')),
    refusedReferences: new Set(learned('tool-reference')),
    refusedCalls: new Set(learned('server-calls')),
  }
}

/** Source: docs/copilot-wire.md, "messages, thinking". */
function isAdaptiveOnly(family: ModelFamily): boolean {
  return family.kind === 'claude' && (family.tier === 'fable' || family.tier === 'mythos')
}

/** Source: docs/copilot-wire.md, "messages, thinking binding". GitHub's own client decides by the name as well. */
function bindsThinking(family: ModelFamily): boolean {
  if (!isClaudeFrom(family, 5, 1) || family.kind !== 'claude') return false
  return family.tier !== 'mythos' || isClaudeFrom(family, 5, 2)
}

/** From the model list. No flag states that 4.6 accepts a budget too and 4.7 does not. */
function thinkingModes({ supports }: ModelTraits, family: ModelFamily): Target['thinking'] {
  if (isAdaptiveOnly(family)) return 'adaptive'
  if (supports.adaptiveThinking !== false && isClaudeFrom(family, 4, 6)) {
    return isClaudeFrom(family, 4, 7) ? 'adaptive' : 'both'
  }
  if (supports.adaptiveThinking === true) return 'adaptive'
  const isOlder = family.kind === 'claude' && family.version !== undefined
  return isOlder || supports.maxThinkingBudget !== undefined ? 'budget' : 'unknown'
}
