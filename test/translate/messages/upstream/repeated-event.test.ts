import { messagesUpstream } from '../../../../src/translate/messages/upstream/dialect.ts'
import { fc } from '../../../fast-check.ts'
import { times } from '../../../thorough.ts'
import { describe, expect, test } from 'vitest'
import { deltasBefore, expectReadAlike } from '../../repeated-events.ts'
import { seed } from '../fixture-streams.ts'

/** Thousands of runs, for a machine that has other work. Ms. */
const patient = { timeout: 60_000 }

const start =
  '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{}}}'

function blockStart(index: number, block: string): string {
  return `{"type":"content_block_start","index":${index},"content_block":${block}}`
}

function textDelta(index: number, piece: string): string {
  return `{"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":${piece}}}`
}

/** The deltas of a block, by its index and what it says. */
const deltas: readonly ((index: number, literal: string) => string)[] = [
  textDelta,
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
const streams = fc.array(run, { maxLength: 8 }).map((runs) => runs.flat())

/** A block whose deltas a stream begins with before it takes notice of those that repeat others. */
const beginning = [
  start,
  blockStart(0, '{"type":"text","text":""}'),
  ...Array.from({ length: deltasBefore + 1 }, (_, at) => textDelta(0, `"b${at}"`)),
]

describe('a delta that repeats another', patient, () => {
  test('is read as if it did not, step by step', () => {
    let repeated = 0
    fc.assert(
      fc.property(streams, fc.constantFrom('', 'content_block_delta', 'error'), (texts, name) => {
        const events = [...beginning, ...texts].map((data, at) => ({ event: at === 16 ? name : '', data }))
        repeated += expectReadAlike(messagesUpstream, seed, events).all
      }),
      { numRuns: 3000 },
    )
    expect(repeated).toBeGreaterThan(times(3000))
  })

  test('is read as if it did not from the start of a stream', () => {
    fc.assert(
      fc.property(streams, (texts) => {
        const events = [start, ...texts].map((data) => ({ event: '', data }))
        expectReadAlike(messagesUpstream, seed, events)
      }),
      { numRuns: 2000 },
    )
  })
})
