import { chatEndpoint, embeddingsEndpoint } from './endpoints.ts'
import type { Model } from './model.ts'

/** The registry client that holds the seeds until somebody is logged in. */
export const seedClientId = 'copilot:models:seed'

/** What is known of a seed; the rest of a Model follows from its being a seed. */
type SeedFacts = Pick<Model, 'id' | 'name'> & Partial<Model>

/**
 * Models that Copilot accounts generally have, for the time before the first live list. Limits are those of lists
 * captured in 2026, in whole thousands of tokens; what no capture states is left out, so nothing is adapted on a guess.
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
  // Without it no embeddings request could be served while the live list cannot be fetched.
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
