import { expect, test } from 'vitest'
import type { Usage } from '../../../src/translate/turn.ts'
import { dataEvent, stream } from './fixture-streams.ts'
import { decodeStream, encodeFold, encodeStream } from './turn-helpers.ts'
import { bytes } from '../fixture-folder.ts'

const counts = { prompt_tokens: 50, completion_tokens: 2 }

/** The counts of a reply that ends with these, as the proxy records them and as another dialect gets them. */
function countsOf(usage: object) {
  const said = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] }
  const wire = [bytes([said, { choices: [], usage }, '[DONE]'].map(dataEvent).join(''))]
  const recorded = stream(wire).usage
  expect(decodeStream(wire).events).toContainEqual({ type: 'usage', usage: recorded })
  return recorded
}

/** The counts that a caller gets, streaming and not. */
function sentFor(usage: Usage): unknown {
  const events = [
    { type: 'usage', usage },
    { type: 'stop', reason: 'end' },
  ] as const
  const { usage: folded } = encodeFold(events) as { readonly usage: unknown }
  const chunks = encodeStream(events)
    .slice(0, -1)
    .map((line) => JSON.parse(line).usage)
  expect(chunks.at(-1)).toEqual(folded)
  return folded
}

test.each([
  ['nothing but the counts', counts, { inputTokens: 50, cachedInputTokens: 0, outputTokens: 2 }],
  [
    'every detail',
    {
      ...counts,
      prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 1 },
    },
    { inputTokens: 50, cachedInputTokens: 40, cacheWriteTokens: 5, outputTokens: 2, reasoningTokens: 1 },
  ],
  [
    'reasoning at the top, beside the answer',
    { ...counts, total_tokens: 60, reasoning_tokens: 8 },
    { inputTokens: 50, cachedInputTokens: 0, outputTokens: 10, reasoningTokens: 8 },
  ],
  [
    'reasoning at the top, within the answer',
    { ...counts, total_tokens: 52, reasoning_tokens: 1 },
    { inputTokens: 50, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 1 },
  ],
  [
    'values of other kinds',
    { prompt_tokens: '50', completion_tokens: null, prompt_tokens_details: [], completion_tokens_details: 'x' },
    { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 },
  ],
])('reads %s', (_, usage, expected) => {
  expect(countsOf(usage)).toEqual(expected)
})

test('writes what is known and nothing else', () => {
  expect(
    sentFor({
      inputTokens: 100,
      cachedInputTokens: 60,
      cacheWriteTokens: 10,
      outputTokens: 20,
      reasoningTokens: 5,
    }),
  ).toEqual({
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    completion_tokens_details: { reasoning_tokens: 5 },
  })
  expect(sentFor({ inputTokens: 1, cachedInputTokens: 0, outputTokens: 2 })).toEqual({
    prompt_tokens: 1,
    completion_tokens: 2,
    total_tokens: 3,
    prompt_tokens_details: { cached_tokens: 0 },
  })
})
