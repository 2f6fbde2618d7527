import { toCodexModel } from './codex-model.ts'
import type { Model } from './model.ts'

/** The registry client that holds the Codex seeds: while somebody is logged in to Codex and no live list is known. */
export const codexSeedClientId = 'codex:models:seed'

/** Tokens. */
const usualWindow = 272_000
const widestWindow = 872_000

const upToXhigh = ['low', 'medium', 'high', 'xhigh'] as const
const upToMax = [...upToXhigh, 'max'] as const

/** Where a model differs from the others. */
interface SeedFacts {
  readonly slug: string
  readonly default_reasoning_level: 'low' | 'medium'
  readonly context_window?: number
  readonly max_context_window?: number
  readonly supported_reasoning_levels?: readonly string[]
  readonly use_responses_lite?: boolean
}

/**
 * The models that Codex CLI 0.169 knows without asking and shows, in its order (docs/codex-wire.md, "Models"). What an
 * account may use depends on its plan, so the live list replaces them as soon as it is known.
 */
const facts: readonly SeedFacts[] = [
  { slug: 'gpt-6.1-sol', default_reasoning_level: 'low' },
  { slug: 'gpt-6-astra', default_reasoning_level: 'low' },
  { slug: 'gpt-6-sol', default_reasoning_level: 'medium' },
  { slug: 'gpt-6-luna', default_reasoning_level: 'medium' },
  { slug: 'gpt-5.6-sol', default_reasoning_level: 'low' },
  { slug: 'gpt-6.1-terra', default_reasoning_level: 'low', context_window: 500_000 },
  { slug: 'gpt-5.6-terra', default_reasoning_level: 'medium' },
  { slug: 'gpt-5.6-luna', default_reasoning_level: 'medium' },
  {
    slug: 'gpt-5.5',
    default_reasoning_level: 'medium',
    max_context_window: usualWindow,
    supported_reasoning_levels: upToXhigh,
    use_responses_lite: false,
  },
]

function toSeed(seed: SeedFacts): Model {
  const { supported_reasoning_levels: levels = upToMax, ...rest } = seed
  const entry = {
    context_window: usualWindow,
    max_context_window: widestWindow,
    input_modalities: ['text', 'image'],
    supports_parallel_tool_calls: true,
    use_responses_lite: true,
    ...rest,
    supported_reasoning_levels: [...levels],
  }
  return { ...toCodexModel(entry), source: 'seed' }
}

export const codexSeeds: readonly Model[] = facts.map(toSeed)
