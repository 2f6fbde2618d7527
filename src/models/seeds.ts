import { toCodexModel } from './codex-model.ts'
import { chatEndpoint, embeddingsEndpoint } from './endpoints.ts'
import type { Model } from './model.ts'

/** The registry client of the Copilot seeds, until a login. */
export const seedClientId = 'copilot:models:seed'

type SeedFacts = Pick<Model, 'id' | 'name'> & Partial<Model>

/**
 * Models that most Copilot accounts have, until the first live list. Limits are from lists captured in 2026, in whole
 * thousands of tokens; values that no capture states are left out, so that nothing is adapted on a guess.
 */
const facts: readonly SeedFacts[] = [
  {
    id: 'gpt-5-mini',
    name: 'GPT-5 mini',
    vendor: 'Azure OpenAI',
    contextWindow: 264_000,
    maxPromptTokens: 128_000,
    maxOutputTokens: 64_000,
    endpoints: [chatEndpoint, '/responses', 'ws:/responses'],
    supports: { reasoningEffort: ['low', 'medium', 'high'] },
  },
  { id: 'grok-code-fast-1', name: 'Grok Code Fast 1', vendor: 'xAI' },
  {
    id: 'gpt-5',
    name: 'GPT-5',
    contextWindow: 400_000,
    maxPromptTokens: 128_000,
    maxOutputTokens: 128_000,
  },
  {
    id: 'gpt-4.1',
    name: 'GPT-4.1',
    contextWindow: 128_000,
    maxPromptTokens: 128_000,
    maxOutputTokens: 16_000,
  },
  { id: 'gpt-4', name: 'GPT-4' },
  {
    id: 'gpt-4o-mini',
    name: 'GPT-4o mini',
    contextWindow: 128_000,
    maxPromptTokens: 12_000,
    maxOutputTokens: 4000,
  },
  {
    id: 'gpt-3.5-turbo',
    name: 'GPT-3.5 Turbo',
    contextWindow: 16_000,
    maxPromptTokens: 12_000,
    maxOutputTokens: 4000,
  },
  // Serves embeddings while the live list cannot be fetched.
  {
    id: 'text-embedding-3-small',
    name: 'Embedding V3 small',
    vendor: 'Azure OpenAI',
    type: 'embeddings',
    maxInputs: 512,
    endpoints: [embeddingsEndpoint],
  },
]

function toSeed(seed: SeedFacts): Model {
  return {
    provider: 'copilot',
    type: 'chat',
    family: seed.id,
    endpoints: [chatEndpoint],
    preview: false,
    pickerEnabled: true,
    supports: {},
    ...seed,
    source: 'seed',
  }
}

export const copilotSeeds: readonly Model[] = facts.map(toSeed)

/** The registry client of the Codex seeds, after a login until the live list is known. */
export const codexSeedClientId = 'codex:models:seed'

/** Tokens. */
const usualWindow = 272_000
const widestWindow = 872_000

const upToXhigh = ['low', 'medium', 'high', 'xhigh'] as const
const upToMax = [...upToXhigh, 'max'] as const

interface CodexSeedFacts {
  readonly slug: string
  readonly default_reasoning_level: 'low' | 'medium'
  readonly context_window?: number
  readonly max_context_window?: number
  readonly supported_reasoning_levels?: readonly string[]
  readonly use_responses_lite?: boolean
}

/** The models that Codex CLI 0.169 has built in, in its order (docs/codex-wire.md, "Models"). */
const codexFacts: readonly CodexSeedFacts[] = [
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

function toCodexSeed(seed: CodexSeedFacts): Model {
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

export const codexSeeds: readonly Model[] = codexFacts.map(toCodexSeed)
