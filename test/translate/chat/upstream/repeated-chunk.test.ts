import { chatUpstream } from '../../../../src/translate/chat/upstream/dialect.ts'
import { fc } from '../../../fast-check.ts'
import { times } from '../../../thorough.ts'
import { describe, expect, test } from 'vitest'
import { deltasBefore, expectReadAlike, isParsed } from '../../repeated-events.ts'
import { seedOf } from '../fixture-streams.ts'

const seed = seedOf({ usage: true })

/** Thousands of runs, for a machine that has other work. Ms. */
const patient = { timeout: 60_000 }

const identity = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":1764940861,"model":"gpt"'
const claude = '"id":"chatcmpl-1","created":1764940861,"model":"gpt"'

/** The wrappings a piece comes in, by what is put into them; upstream keeps to one, nearly always. */
const wrappings: readonly ((literal: string) => string)[] = [
  (piece) => `{"choices":[{"index":0,"delta":{"content":${piece}},"finish_reason":null}],${identity}}`,
  (piece) => `{"choices":[{"index":0,"delta":{"content":${piece},"role":"assistant"}}],${claude}}`,
  (piece) => `{${identity},"choices":[{"delta":{"role":"assistant","reasoning_content":${piece}}}]}`,
  (piece) =>
    `{"choices":[{"index":0,"delta":{"content":null,"reasoning_text":${piece}},"finish_reason":null}],${identity}}`,
  (piece) => `{"choices":[{"index":0,"delta":{"refusal":${piece},"role":"user"},"finish_reason":""}],${identity}}`,
  (piece) =>
    `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null,"content_filter_offsets":{"end_offset":${piece.length}}}],${identity},"obfuscation":${piece}}`,
  (piece) => `{"choices":[{"index":0,"delta":{"content":${piece},"content":"b"},"finish_reason":null}],${identity}}`,
  (piece) => `{"choices":[{"index":0,"delta":{"content":${piece}},"finish_reason":null}],${identity},"usage":{"n":1}}`,
  (piece) =>
    `{"choices":[{"index":0,"delta":{"content":${piece},"reasoning_opaque":"o"},"finish_reason":null}],${identity}}`,
  (piece) => `{"choices":[{"index":0,"message":{"content":${piece}},"finish_reason":null}],${identity}}`,
  (piece) => `{"choices":[{"index":1,"delta":{"content":${piece}},"finish_reason":null}],${identity}}`,
]

/** What comes between them. */
const others: readonly string[] = [
  `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],${identity}}`,
  `{"choices":[{"index":0,"delta":{"content":"last"},"finish_reason":"length"}],${identity}}`,
  `{"choices":[{"index":0,"delta":{"content":"a\\r"},"finish_reason":null}],${identity}}`,
  `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}],${identity}}`,
  `{"choices":[],"filter":[1],${identity}}`,
  `{"choices":[],"usage":{"total_tokens":3},${identity}}`,
  `{"choices":[],"created":0,"id":"","model":"","object":""}`,
  `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"id":"chatcmpl-2","object":"chat.completion.chunk","created":5,"model":"other"}`,
  '{"type":"response.output_text.delta","delta":"a","output_index":0}',
  'not JSON',
  '',
]

const literal = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }).map((text) => `"${text}"`) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '"\\r"',
      '"\\n"',
      '""',
      'null',
      '"\\u0041"',
      '"\\ud800"',
      '"\ud800"',
      '"\\"},"',
      '"","finish_reason":"stop"',
      '"","tool_calls":[]',
      '[{"type":"text","text":"a"}]',
      '"\\x"',
    ),
  },
)

/** Runs of pieces in one wrapping, and what comes between. */
const run = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...wrappings), fc.array(literal, { maxLength: 6 }))
      .map(([wrap, pieces]) => pieces.map(wrap)),
  },
  { weight: 2, arbitrary: fc.constantFrom(...others).map((other) => [other]) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...wrappings), fc.array(literal, { maxLength: 3 }))
      .map(([wrap, pieces]) => [pieces.map(wrap).join('\n')]),
  },
)
const streams = fc.array(run, { maxLength: 6 }).map((runs) => runs.flat())

/** Deltas in one wrapping, which a stream begins with before it takes notice of those that repeat others. */
const beginnings = fc
  .constantFrom(...wrappings)
  .map((wrap) => Array.from({ length: deltasBefore + 1 }, (_, at) => wrap(`"b${at}"`)))

describe('a chunk that repeats another', patient, () => {
  test('is read as if it did not, step by step', () => {
    let repeated = 0
    fc.assert(
      fc.property(beginnings, streams, fc.constantFrom('', 'note', 'error'), (beginning, texts, name) => {
        const events = texts.map((data, at) => ({ event: at === 3 ? name : '', data }))
        const begun = beginning.map((data) => ({ event: '', data }))
        repeated += expectReadAlike(chatUpstream, seed, [...begun, ...events]).all
      }),
      { numRuns: 3000 },
    )
    expect(repeated).toBeGreaterThan(times(3000))
  })

  test('is read as if it did not from the start of a stream', () => {
    fc.assert(
      fc.property(streams, (texts) => {
        expectReadAlike(
          chatUpstream,
          seed,
          texts.map((data) => ({ event: '', data })),
        )
      }),
      { numRuns: 2000 },
    )
  })

  test.each(wrappings.slice(0, 4))('is what most chunks of a stream are: %s', (wrap) => {
    const stream = chatUpstream.createStream(seed)
    const pieces = Array.from({ length: 50 }, (_, at) => wrap(`" word ${at}\\n"`))
    for (const data of pieces) stream.push({ event: '', data })
    const data = wrap('"more"')
    expect(isParsed(data, () => stream.push({ event: '', data }))).toBe(false)
  })
})
