import type { ModelTraits } from '../model-traits.ts'
import type { Warning } from '../warning.ts'

interface LimitBeta {
  readonly name: string
  readonly limitOf: (traits: ModelTraits) => number | undefined
  /** Tokens. */
  readonly asked: number
}

/** They ask for more room than a model had by itself, and nothing in the body says so. */
const limitBetas: readonly LimitBeta[] = [
  { name: 'context-1m-', limitOf: ({ contextWindow }) => contextWindow, asked: 1_000_000 },
  { name: 'output-128k-', limitOf: ({ maxOutputTokens }) => maxOutputTokens, asked: 128_000 },
]

/**
 * A warning for each kind of room that the model does not have. Betas go no further here; what others allow is warned of
 * where the body has it.
 */
export function warnLimits(betas: readonly string[], traits: ModelTraits): readonly Warning[] {
  return limitBetas.flatMap(({ name, limitOf, asked }) => {
    const limit = limitOf(traits)
    if (limit === undefined || limit >= asked || !betas.some((beta) => beta.startsWith(name))) return []
    return [{ code: 'dropped', field: 'anthropic-beta', detail: `${traits.id} has ${limit} tokens` }]
  })
}
