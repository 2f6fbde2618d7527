import { chatUpstream } from '../../../../src/translate/chat/upstream/dialect.ts'
import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../../src/errors.ts'
import { normaliseEnd, normaliseEvent } from '../../../../src/translate/chat/upstream/normalise/normaliser.ts'
import { startNormaliser } from '../../../../src/translate/chat/upstream/normalise/state.ts'
import type { NormalisedChunk, NormaliserState } from '../../../../src/translate/chat/upstream/normalise/state.ts'
import { type EventTemplates, matchTemplate, startTemplates } from '../../../../src/translate/parts/event-template.ts'
import { stringify } from '../../../../src/json/json.ts'
import { seedOf } from '../fixture-streams.ts'
import { remembered } from '../../turns.ts'

/** Learns from the first event on. */
function eager<State extends { readonly templates: EventTemplates }>(state: State): State {
  return { ...state, templates: startTemplates(state.templates.fields) }
}

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

/** What one step did, and where it led. */
function after(state: NormaliserState, step: () => readonly NormalisedChunk[]) {
  let chunks: readonly NormalisedChunk[] = []
  let fault: unknown
  try {
    chunks = step()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    fault = error.error
  }
  const { templates: _templates, ...rest } = state
  return structuredClone({
    emitted: chunks.map(({ chunk, text }) => ({ chunk, text: text ?? stringify(chunk) })),
    fault,
    state: { ...rest, seed: undefined, failure: rest.failure?.error },
  })
}

describe('a chunk that repeats another', patient, () => {
  test('is read as if it did not, step by step', () => {
    let repeated = 0
    fc.assert(
      fc.property(streams, fc.constantFrom('', 'note'), (texts, name) => {
        const fast = eager(startNormaliser(seed, true))
        const slow = { ...startNormaliser(seed, true), templates: startTemplates([]) }
        for (const [at, data] of texts.entries()) {
          const event = { event: at === 3 ? name : '', data }
          if (matchTemplate(fast.templates, data) !== undefined) repeated += 1
          const expected = after(slow, () => normaliseEvent(slow, event))
          expect(after(fast, () => normaliseEvent(fast, event))).toEqual(expected)
        }
        expect(after(fast, () => normaliseEnd(fast))).toEqual(after(slow, () => normaliseEnd(slow)))
      }),
      { numRuns: 3000 },
    )
    expect(repeated).toBeGreaterThan(3000)
  })

  test('is folded and decoded as if it did not', () => {
    fc.assert(
      fc.property(streams, (texts) => {
        // White space at the end is no part of the JSON, and no template knows it.
        const other = texts.map((text, at) => (text.startsWith('{') ? text + ' '.repeat(at + 1) : text))
        expect(outcome(texts)).toEqual(outcome(other))
      }),
      { numRuns: 2000 },
    )
  })

  test.each(wrappings.slice(0, 4))('is what most chunks of a stream are: %s', (wrap) => {
    const state = eager(startNormaliser(seed, true))
    const pieces = Array.from({ length: 50 }, (_, at) => wrap(`" word ${at}\\n"`))
    for (const data of pieces) normaliseEvent(state, { event: '', data })
    expect(matchTemplate(state.templates, wrap('"more"'))).toBeDefined()
  })
})

/** What callers get of a stream that is folded, or translated. */
function outcome(texts: readonly string[]) {
  const fold = chatUpstream.createFold(seed)
  const decoder = chatUpstream.createDecoder(seed)
  const stream = chatUpstream.createStream(seed)
  const streamed = texts.map((data) => caught(() => stream.push({ event: '', data })))
  return {
    pushed: texts.map((data) => caught(() => fold.push({ event: '', data }))),
    body: caught(() => fold.end()),
    decoded: texts.map((data) => caught(() => structuredClone(decoder.push({ event: '', data })))),
    ended: caught(() => decoder.end()),
    skipped: [fold.skipped(), decoder.skipped(), stream.skipped()],
    usage: [fold.usage(), stream.usage()],
    reasoning: [remembered(fold).reasoning, remembered(stream).reasoning],
    chunks: streamed.map((text) => (typeof text === 'string' ? text.replaceAll(/ +$/gm, '') : text)),
  }
}

function caught(run_: () => unknown): unknown {
  try {
    return run_()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.error
  }
}
