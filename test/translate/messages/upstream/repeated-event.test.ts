import { messagesUpstream } from '../../../../src/translate/messages/upstream/dialect.ts'
import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../../src/errors.ts'
import { normaliseEnd, normaliseEvent, startNormaliser } from '../../../../src/translate/messages/upstream/normalise.ts'
import type { NormalisedEvent, Normaliser } from '../../../../src/translate/messages/upstream/normalise.ts'
import { matchTemplate, startTemplates } from '../../../../src/translate/parts/event-template.ts'
import type { EventTemplates } from '../../../../src/translate/parts/event-template.ts'
import { stringify } from '../../../../src/json/json.ts'
import { seed } from '../fixture-streams.ts'

/** Learns from the first event on. */
function eager<State extends { readonly templates: EventTemplates }>(state: State): State {
  return { ...state, templates: startTemplates(state.templates.fields) }
}

/** Thousands of runs, for a machine that has other work. Ms. */
const patient = { timeout: 60_000 }

const start =
  '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{}}}'

function blockStart(index: number, block: string): string {
  return `{"type":"content_block_start","index":${index},"content_block":${block}}`
}

/** The deltas of a block, by its index and what it says. */
const deltas: readonly ((index: number, literal: string) => string)[] = [
  (index, piece) => `{"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":${piece}}}`,
  (index, piece) =>
    `{"type":"content_block_delta","index":${index},"delta":{"type":"thinking_delta","thinking":${piece}}}`,
  (index, piece) =>
    `{"type":"content_block_delta","index":${index},"delta":{"type":"input_json_delta","partial_json":${piece}}}`,
  (index, piece) =>
    `{"type":"content_block_delta","index":${index},"delta":{"type":"signature_delta","signature":${piece}}}`,
  (index, piece) =>
    `{"delta":{"text":${piece},"type":"text_delta"},"type":"content_block_delta","index":${index},"x":[1]}`,
  (index, piece) =>
    `{"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":${piece},"text":"b"}}`,
  (_, piece) => `{"type":"content_block_delta","delta":{"type":"text_delta","text":${piece}}}`,
  (index, piece) => `{"type":"content_block_delta","index":${index},"delta":{"type":"new_delta","text":${piece}}}`,
]

const blocks = [
  '{"type":"text","text":""}',
  '{"type":"thinking","thinking":"","signature":""}',
  '{"type":"tool_use","id":"toolu_1","name":"f","input":{}}',
  '{"type":"tool_use","id":"toolu_2","name":"f","input":{"a":1}}',
  '{"type":"compaction","text":""}',
]

const others: readonly string[] = [
  '{"type":"ping"}',
  '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}',
  '{"type":"message_delta","delta":{},"usage":{}}',
  '{"type":"message_stop"}',
  '{"type":"error","error":{"type":"overloaded_error","message":"m"}}',
  '[DONE]',
  'not JSON',
  '',
]

const index = fc.nat({ max: 2 })
const literal = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }).map((text) => `"${text}"`) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '"\\r"',
      '""',
      'null',
      '"\\u0041"',
      '"\\ud800"',
      '"\ud800"',
      '"{\\"a\\":1}"',
      '"\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t"',
      '"","type":"error"',
      '""},"index":9,"delta":{"type":"text_delta","text":"a"',
      '"\\x"',
    ),
  },
)

const run = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...deltas), index, fc.array(literal, { maxLength: 6 }))
      .map(([delta, at, pieces]) => pieces.map((piece) => delta(at, piece))),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(index, fc.constantFrom(...blocks)).map(([at, block]) => [blockStart(at, block)]),
  },
  { weight: 1, arbitrary: index.map((at) => [`{"type":"content_block_stop","index":${at}}`]) },
  { weight: 1, arbitrary: fc.constantFrom(...others).map((other) => [other]) },
)
const streams = fc.array(run, { maxLength: 8 }).map((runs) => [start].concat(runs.flat()))

/** What one step did, and where it led. */
function after(state: Normaliser, step: () => readonly NormalisedEvent[]) {
  let events: readonly NormalisedEvent[] = []
  const fault = caught(() => {
    events = step()
  })
  const { templates: _templates, ...rest } = state
  return structuredClone({
    events: events.map(({ name, event, rawText }) => ({ name, event, text: rawText ?? stringify(event) })),
    fault,
    state: { ...rest, seed: undefined },
  })
}

describe('a delta that repeats another', patient, () => {
  test('is read as if it did not, step by step', () => {
    let repeated = 0
    fc.assert(
      fc.property(streams, fc.constantFrom('', 'content_block_delta', 'error'), (texts, name) => {
        const fast = eager(startNormaliser(seed))
        const slow = { ...startNormaliser(seed), templates: startTemplates([]) }
        for (const [at, data] of texts.entries()) {
          const event = { event: at === 9 ? name : '', data }
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
})

/** What callers get of a stream that is folded, or translated. */
function outcome(texts: readonly string[]) {
  const fold = messagesUpstream.createFold(seed)
  const decoder = messagesUpstream.createDecoder(seed)
  return {
    pushed: texts.map((data) => caught(() => fold.push({ event: '', data }))),
    body: caught(() => fold.end()),
    decoded: texts.map((data) => caught(() => structuredClone(decoder.push({ event: '', data })))),
    ended: caught(() => decoder.end()),
    skipped: [fold.skipped(), decoder.skipped()],
    usage: fold.usage(),
  }
}

function caught(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.error
  }
}
