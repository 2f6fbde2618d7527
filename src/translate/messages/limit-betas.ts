import type { ModelTraits } from '../model-traits.ts'
import type { Warning } from '../warning.ts'

interface LimitBeta {
  readonly name: string
  readonly room: string
  readonly limitOf: (traits: ModelTraits) => number | undefined
  /** Tokens. */
  readonly asked: number
}

/** Betas that extend a model's limits and are not visible in the body. */
const limitBetas: readonly LimitBeta[] = [
  {
    name: 'context-1m-',
    room: 'context',
    // Upstream accepts prompts of the long tier without the beta.
    limitOf: ({ contextWindow, longContext }) => (longContext === undefined ? contextWindow : undefined),
    asked: 1_000_000,
  },
  { name: 'output-128k-', room: 'output', limitOf: ({ maxOutputTokens }) => maxOutputTokens, asked: 128_000 },
]

/** Warns if the model's limit is lower. Features of other betas are visible in the body, and their rules warn. */
export function warnLimits(betas: readonly string[], traits: ModelTraits): readonly Warning[] {
  const missed = limitBetas.flatMap(({ name, room, limitOf, asked }) => {
    const limit = limitOf(traits)
    const isMissed = limit !== undefined && limit < asked && betas.some((beta) => beta.startsWith(name))
    return isMissed ? [`${limit} tokens of ${room}`] : []
  })
  if (missed.length === 0) return []
  return [{ code: 'dropped', field: 'anthropic-beta', detail: `${traits.id} is limited to ${missed.join(' and ')}` }]
}
