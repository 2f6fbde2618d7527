import type { Usage } from '../translate/turn.ts'
import type { ModelPrices } from './model.ts'

export interface Credits {
  /** Billionths of an AI credit. */
  readonly nanoAiu: number
  /** Computed from the model's prices, because upstream stated nothing. */
  readonly estimated: boolean
}

/** The cost of a reply: as upstream states it, else from the prices; undefined without either. */
export function creditsOf(usage: Usage, prices: ModelPrices | undefined): Credits | undefined {
  if (usage.nanoAiu !== undefined) return { nanoAiu: usage.nanoAiu, estimated: false }
  const nanoAiu = prices && estimate(usage, prices)
  return nanoAiu === undefined ? undefined : { nanoAiu, estimated: true }
}

/** Undefined counts as nothing. The sum is an estimate if either part is. */
export function addCredits(one: Credits | undefined, other: Credits | undefined): Credits | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return { nanoAiu: one.nanoAiu + other.nanoAiu, estimated: one.estimated || other.estimated }
}

/** Prices are credits per million tokens. */
const nanoPerPrice = 1e9 / 1e6

function estimate(usage: Usage, { default: normal, longContext }: ModelPrices): number | undefined {
  const { inputTokens, cachedInputTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0, outputTokens } = usage
  const isLong = normal.contextMax !== undefined && inputTokens > normal.contextMax
  const { input, cacheRead, output, ...caching } = (isLong && longContext) || normal
  if (input === undefined || output === undefined) return undefined
  const fresh = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens)
  // Without cache prices, cached tokens cost the same as other input.
  const read = cachedInputTokens * (cacheRead ?? input)
  const { cacheWrite = input, cacheWrite1h = cacheWrite } = caching
  const written = (cacheWriteTokens - cacheWrite1hTokens) * cacheWrite + cacheWrite1hTokens * cacheWrite1h
  return Math.round((fresh * input + read + written + outputTokens * output) * nanoPerPrice)
}
