import { expect, test } from 'vitest'
import { creditsOf } from '../../src/models/credits.ts'
import type { ModelPrices } from '../../src/models/model.ts'
import type { Usage } from '../../src/translate/turn.ts'

const tier = { input: 300, cacheRead: 30, cacheWrite: 375, output: 1500 }
const prices: ModelPrices = {
  default: { ...tier, contextMax: 200_000 },
  longContext: { input: 600, cacheRead: 60, cacheWrite: 750, output: 2250 },
}
const usage: Usage = { inputTokens: 1000, cachedInputTokens: 600, cacheWriteTokens: 100, outputTokens: 10 }

/** 300 tokens as input, 600 read from the cache, 100 written to it, 10 as output, in credits a million tokens. */
const asStated = (300 * 300 + 600 * 30 + 100 * 375 + 10 * 1500) * 1000

test.each<[string, Usage, ModelPrices | undefined, number | undefined]>([
  ['input, cache and output each at its price', usage, prices, asStated],
  ['a short prompt at the one tier there is', usage, { default: tier }, asStated],
  [
    'a prompt as long as the default tier at its price',
    { inputTokens: 200_000, cachedInputTokens: 0, outputTokens: 0 },
    prices,
    200_000 * 300_000,
  ],
  [
    'a longer prompt at the price of long context',
    { inputTokens: 200_001, cachedInputTokens: 200_000, outputTokens: 1 },
    prices,
    600_000 + 200_000 * 60_000 + 2_250_000,
  ],
  [
    'a longer prompt at the default price where no other is stated',
    { inputTokens: 200_001, cachedInputTokens: 0, outputTokens: 0 },
    { default: prices.default },
    200_001 * 300_000,
  ],
  [
    'the cache at the price of input where it has none of its own',
    usage,
    { default: { input: 300, output: 1500 } },
    (1000 * 300 + 10 * 1500) * 1000,
  ],
  [
    'never less than nothing where more is cached than was read',
    { inputTokens: 1, cachedInputTokens: 5, outputTokens: 0 },
    prices,
    5 * 30_000,
  ],
  [
    'what the cache keeps for an hour at its own price',
    { ...usage, cacheWrite1hTokens: 40 },
    { default: { ...tier, cacheWrite1h: 600 } },
    asStated + 40 * (600 - 375) * 1000,
  ],
  ['what the cache keeps for an hour as all that it keeps', { ...usage, cacheWrite1hTokens: 40 }, prices, asStated],
  ['not at all without prices', usage, undefined, undefined],
  ['not at all without a price of the output', usage, { default: { input: 300 } }, undefined],
  ['as nothing where a model costs nothing', usage, { default: { input: 0, output: 0 } }, 0],
])('reckons %s', (_what, read, of, nanoAiu) => {
  expect(creditsOf(read, of)).toEqual(nanoAiu === undefined ? undefined : { nanoAiu, estimated: true })
})

test('what upstream states is no estimate, prices or not', () => {
  expect(creditsOf({ ...usage, nanoAiu: 7 }, prices)).toEqual({ nanoAiu: 7, estimated: false })
  expect(creditsOf({ ...usage, nanoAiu: 0 }, undefined)).toEqual({ nanoAiu: 0, estimated: false })
})
