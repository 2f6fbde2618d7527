import { responsesUpstream } from '../../../../src/translate/responses/upstream/dialect.ts'
import { fc } from '../../../fast-check.ts'
import { times } from '../../../thorough.ts'
import { describe, expect, test } from 'vitest'
import { type SseEvent, createSseDecoder } from '../../../../src/sse/decode.ts'
import { deltasBefore, expectReadAlike, isParsed } from '../../repeated-events.ts'
import { bytes, eventsOf, readStream, seed, streamNames } from '../fixture-streams.ts'

/** Thousands of runs, for a machine that has other work. Ms. */
const patient = { timeout: 120_000 }

const fixtures = streamNames
  .map((name) => createSseDecoder().push(bytes(readStream(name))))
  .filter((events) => events.some(isDelta))

/** What a delta may say, as it stands on the wire. */
const literal = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }).map((text) => `"${text}"`) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '""',
      'null',
      '7',
      '"\\u0041"',
      '"\\ud800"',
      '"\ud800"',
      '"\u0001"',
      '"{\\"a\\":1}"',
      '"}"',
      '"\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t"',
      '" \\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t\\n\\t"',
      '"","type":"response.completed"',
      '"","delta":"b"',
      '"","output_index":1',
      '"\\x"',
    ),
  },
)

const id = fc.oneof(
  fc.constantFrom('"msg_01"', '"fc_01"', '"rs_01"', '""', '7', 'null', '"a","item_id":"b"', '"\\u0061"', '"\ud800"'),
  fc.nat({ max: 400 }).map((length) => JSON.stringify('x'.repeat(length))),
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text)),
)

const number = fc.oneof(
  fc.nat({ max: 60 }).map(String),
  fc.constantFrom('null', '-1', '2.5', '1e3', '"4"', '9007199254740993', '04'),
)

/** Puts one event in another wrapping. */
type Change = (text: string) => string

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constant<Change>((text) => text.replace(/\}$/, ',"obfuscation":"k2Jd81"}')),
  },
  { weight: 2, arbitrary: fc.constant<Change>((text) => text.replace(/"sequence_number":\d+,?/, '')) },
  { weight: 1, arbitrary: fc.constant<Change>((text) => text.replace(/"item_id":"[^"]*",?/, '')) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom('"x":[1]', '"obfuscation":null', '"type":"x"', '"output_index":1', '"i\\u0074em_id":"a"', '"0":1')
      .map((member) => (text: string) => text.replace(/\}$/, `,${member}}`)),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('output_index', 'content_index', 'summary_index'),
        fc.constantFrom('0', '1', '2', '-1', '"0"', 'null', '0.0'),
      )
      .map(
        ([key, value]) =>
          (text: string) =>
            text.replace(new RegExp(`"${key}":\\d+`), `"${key}":${value}`),
      ),
  },
  { weight: 1, arbitrary: fc.constant<Change>((text) => text.replaceAll('":', '" : ')) },
)

/** Many of one delta: each says something else. */
const run = fc.record({
  at: fc.nat(),
  late: fc.nat({ max: 6 }),
  changes: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 2, arbitrary: fc.array(change, { maxLength: 2 }) },
  ),
  pieces: fc.array(
    fc.record({ delta: literal, id: fc.option(id, { freq: 2 }), number: fc.option(number, { freq: 6 }) }),
    { minLength: 1, maxLength: 10 },
  ),
})

/** How a stream counts: as its fixture does, by what it has, or from another number. */
const counting = fc.constantFrom(undefined, 0, 0, 3)

/** @param plain so many deltas precede the first run, each as its fixture has it but for what it says */
const streamsWith = (plain: number) =>
  fc
    .tuple(fc.constantFrom(...fixtures), fc.array(run, { minLength: 1, maxLength: 4 }), counting, fc.option(fc.nat()))
    .map(([fixture, runs, first, cut]) => {
      const events: Numbered[] = [...fixture]
      const deltas = fixture.filter(isDelta)
      for (const [which, { at, late, changes, pieces }] of runs.entries()) {
        const delta = deltas[at % deltas.length]
        if (delta === undefined) break
        const { event } = delta
        const before = Array.from({ length: which === 0 ? plain : 0 }, (_, nth) => ({
          event,
          data: wrap(delta.data, { delta: `"p${nth}"`, id: null }, []),
        }))
        const many = pieces.map((piece) => ({ event, data: wrap(delta.data, piece, changes), number: piece.number }))
        events.splice(events.indexOf(delta) + late, 0, ...before, ...many)
      }
      const all = events.map((event, nth) => renumber(event, first === undefined ? undefined : String(first + nth)))
      return cut === null ? all : all.toSpliced(cut % all.length, 1)
    })

interface Piece {
  readonly delta: string
  readonly id: string | null
}

/** An event that may have a number of its own, however its stream counts. */
interface Numbered extends SseEvent {
  readonly number?: string | null
}

function isDelta({ data }: SseEvent): boolean {
  return data.includes('.delta"')
}

function wrap(text: string, { delta, id: own }: Piece, changes: readonly Change[]): string {
  const changed = text.replace(/"delta":"(?:[^"\\]|\\.)*"/, () => `"delta":${delta}`)
  const named = own === null ? changed : changed.replace(/"item_id":"[^"]*"/, () => `"item_id":${own}`)
  return changes.reduce((wrapped, one) => one(wrapped), named)
}

function renumber({ event, data, number: own }: Numbered, nth: string | undefined): SseEvent {
  const counted = own ?? nth
  if (counted === undefined) return { event, data }
  return { event, data: data.replace(/"sequence_number":\d+/, `"sequence_number":${counted}`) }
}

describe('a delta that repeats another', patient, () => {
  test('is normalised as if it did not, step by step', () => {
    let repeated = 0
    let rendered = 0
    fc.assert(
      fc.property(streamsWith(deltasBefore + 1), (events) => {
        const read = expectReadAlike(responsesUpstream, seed, events)
        repeated += read.all
        rendered += read.rendered
      }),
      { numRuns: 1000 },
    )
    expect(repeated).toBeGreaterThan(times(1200))
    expect(rendered).toBeGreaterThan(times(1000))
    expect(repeated - rendered).toBeGreaterThan(times(50))
  })

  test('is normalised as if it did not from the start of a stream', () => {
    fc.assert(
      fc.property(streamsWith(0), (events) => {
        expectReadAlike(responsesUpstream, seed, events)
      }),
      { numRuns: 1000 },
    )
  })
})

const created = '{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress"}}'

/** The deltas of each kind, and what opens their text. */
const kinds: readonly [type: string, at: string, opening: readonly string[]][] = [
  [
    'response.output_text.delta',
    '"content_index":0',
    [
      '{"type":"response.output_item.added","output_index":0,"item":{"id":"item_1","type":"message"}}',
      '{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text"}}',
    ],
  ],
  [
    'response.reasoning_summary_text.delta',
    '"summary_index":0',
    [
      '{"type":"response.output_item.added","output_index":0,"item":{"id":"item_1","type":"reasoning"}}',
      '{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0,"part":{"type":"summary_text"}}',
    ],
  ],
  [
    'response.function_call_arguments.delta',
    '"x":0',
    ['{"type":"response.output_item.added","output_index":0,"item":{"id":"item_1","type":"function_call","name":"f"}}'],
  ],
  [
    'response.custom_tool_call_input.delta',
    '"x":0',
    [
      '{"type":"response.output_item.added","output_index":0,"item":{"id":"item_1","type":"custom_tool_call","name":"f"}}',
    ],
  ],
]

test.each(kinds)('most events of a stream are: %s', (type, at, opening) => {
  const stream = responsesUpstream.createStream(seed)
  const push = (data: string) => eventsOf(stream.push({ event: '', data }))
  const delta = (nth: number, own: string) =>
    `{"type":"${type}","sequence_number":${nth},"item_id":"${own}","output_index":0,${at},"delta":" word ${nth}","obfuscation":"k"}`
  for (const data of [created, ...opening]) push(data)
  let next = 70
  for (let count = 0; count <= deltasBefore; count += 1)
    next = push(delta(next, 'item_1')).at(-1)?.event.sequence_number + 1
  expect(isParsed(delta(9, 'item_1'), () => push(delta(9, 'item_1')))).toBe(false)
  const right = delta(next + 1, 'item_1')
  expect(push(right)).toMatchObject([{ text: right }])
  const normalised = delta(next + 2, 'item_1').replace(',"obfuscation":"k"', '')
  expect(push(delta(70, 'another'))).toMatchObject([{ text: normalised.replace(/word \d+/, 'word 70') }])
})

const item = (index: number, value: object) =>
  JSON.stringify({ type: 'response.output_item.added', output_index: index, item: value })
const textDelta = (index: number, text: string) =>
  JSON.stringify({
    type: 'response.output_text.delta',
    sequence_number: 7,
    item_id: 'm',
    output_index: index,
    content_index: 0,
    delta: text,
  })
const argumentsDelta = (text: string) =>
  JSON.stringify({
    type: 'response.function_call_arguments.delta',
    sequence_number: 7,
    item_id: 'f',
    output_index: 0,
    delta: text,
  })
const wrapper = { type: 'function_call', id: 'w', call_id: 'c', name: 'multi_tool_use.parallel', arguments: '' }
const message = (index: number) => [
  item(index, { type: 'message', id: 'm', content: [] }),
  JSON.stringify({
    type: 'response.content_part.added',
    output_index: index,
    content_index: 0,
    part: { type: 'output_text' },
  }),
]
/** More pieces than come before a stream takes notice of those that repeat others. */
const some = Array.from({ length: deltasBefore + 4 }, (_, at) => `t${at}`)

const twoCalls = JSON.stringify({
  tool_uses: ['a', 'b'].map((name) => ({ recipient_name: `functions.${name}`, parameters: {} })),
})

test.each<readonly [title: string, events: readonly string[]]>([
  [
    'of arguments, once they are those of a wrapper that is kept back',
    [
      item(0, { type: 'function_call', id: 'f', call_id: 'f', name: 'f', arguments: '' }),
      ...['{', ...some.map(() => ' ')].map(argumentsDelta),
      item(0, wrapper),
      ...[' ', '}', ' '].map(argumentsDelta),
    ],
  ],
  [
    'of text, once a wrapper that was taken apart has moved its item',
    [
      item(0, wrapper),
      JSON.stringify({
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...wrapper, arguments: twoCalls },
      }),
      ...message(1),
      ...message(2),
      ...some.map((text) => textDelta(2, text)),
      ...some.map((text) => textDelta(1, text)),
    ],
  ],
])('a delta that repeats another is normalised as if it did not: %s', (_title, events) => {
  expectReadAlike(
    responsesUpstream,
    seed,
    [created, ...events].map((data) => ({ event: '', data })),
  )
})
