import { fc } from '../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { foldEvent, startSnapshot, toBody } from '../../../src/translate/responses/snapshot.ts'
import type { TurnEvent, TurnStop } from '../../../src/translate/turn.ts'
import { hasSpecs, openSpec, skipNote } from '../../schemas/spec.ts'
import { decode, encode, fold, readLines, readStream, stream, streamNames, toStream } from './fixture-streams.ts'
import type { Got, Json } from './fixture-streams.ts'
import { expectGrammar, readWithOpenAI, withoutParsed } from './grammar.ts'
import { bytes } from '../fixture-folder.ts'

/** The body as a reader of the stream would put it together. */
function bodyOf(events: readonly Got[]): unknown {
  const snapshot = startSnapshot()
  for (const { event } of events) foldEvent(snapshot, event.type, event)
  return toBody(snapshot)
}

describe('any cut of the bytes', () => {
  const wires = streamNames.map((name) => bytes(readStream(name)))

  test('gives the same reply', () => {
    fc.assert(
      fc.property(fc.constantFrom(...wires), fc.array(fc.nat(), { maxLength: 12 }), (wire, cuts) => {
        const at = cuts.map((cut) => cut % (wire.length + 1)).toSorted((a, b) => a - b)
        const chunks = [0, ...at].map((start, i) => wire.subarray(start, at[i] ?? wire.length))
        expect(stream(chunks)).toEqual(stream([wire]))
        expect(fold(chunks)).toEqual(fold([wire]))
        expect(decode(chunks)).toEqual(decode([wire]))
      }),
      { numRuns: 200 },
    )
  })

  test.each(['text', 'quirk-01-changing-ids'])('of %s into single bytes gives the same reply', (name) => {
    const wire = bytes(readStream(name))
    const single = Array.from(wire, (byte) => Uint8Array.of(byte))
    expect(stream(single)).toEqual(stream([wire]))
    expect(decode(single)).toEqual(decode([wire]))
  })
})

test.each(streamNames)('the body of %s is what its stream amounts to', (name) => {
  const { events, fault } = stream(readStream(name))
  const folded = fold(readStream(name))
  if (fault === undefined) {
    expect(folded.body).toEqual(bodyOf(events))
    expect(folded.body).toEqual(events.at(-1)?.event.response)
  } else {
    expect(folded).toEqual({ fault })
  }
})

/** What an upstream may get wrong with one event of a stream. */
type Damage = (events: Json[], at: number, other: number) => void

const damages: Readonly<Record<string, Damage>> = {
  lost: (events, at) => events.splice(at, 1),
  repeated: (events, at) => events.splice(at, 0, structuredClone(events[at])),
  late: (events, at, other) => events.splice(at + (other % 4), 0, ...events.splice(at, 1)),
  withoutMember: (events, at, other) => dropMember(events[at], other),
  withoutInnerMember(events, at, other) {
    const { item, part, response } = events[at]
    dropMember(item ?? part ?? response ?? {}, other)
  },
  otherId(events, at, other) {
    const event = events[at]
    const id = 'x'.repeat(1 + ((other * 37) % 400))
    if (event.item_id !== undefined) event.item_id = id
    if (event.item?.id !== undefined) event.item.id = id
    if (event.response?.id !== undefined) event.response.id = id
  },
  otherNumber: (events, at, other) => (events[at].sequence_number = other),
  otherIndex(events, at, other) {
    for (const key of ['output_index', 'content_index', 'summary_index', 'annotation_index']) {
      if (events[at][key] !== undefined && other % 3 === 0) events[at][key] = (other % 5) - 1
    }
  },
  oddValue(events, at, other) {
    const keys = Object.keys(events[at]).filter((key) => key !== 'type')
    events[at][keys[other % keys.length] ?? 'x'] = [null, 7, '', [], {}, [null], '__proto__'][other % 7]
  },
}

function dropMember(object: Json, other: number): void {
  if (typeof object !== 'object' || object === null) return
  const keys = Object.keys(object).filter((key) => key !== 'type')
  delete object[keys[other % keys.length] ?? '']
}

const damaged = fc.tuple(
  fc.constantFrom(...streamNames.filter((name) => !/unknown|lines|damaged|whole-body|bare|nameless/.test(name))),
  fc.array(fc.tuple(fc.constantFrom(...Object.keys(damages)), fc.nat(99), fc.nat(99)), { minLength: 1, maxLength: 4 }),
)

type Damaged = readonly [name: string, hits: readonly (readonly [kind: string, at: number, other: number])[]]

function damage([name, hits]: Damaged): string {
  const events: Json[] = readLines(name).map((line) => JSON.parse(line))
  for (const [kind, at, other] of hits) if (events.length > 0) damages[kind]?.(events, at % events.length, other)
  return toStream(events)
}

describe('whatever upstream gets wrong', () => {
  test('a stream keeps to the grammar clients read, and its body says the same', () => {
    fc.assert(
      fc.property(damaged, (hits) => {
        const wire = damage(hits)
        const { events, fault } = stream(wire)
        if (events.length > 0) expectGrammar(events, { exact: false })
        if (fault === undefined) expect(fold(wire).body).toEqual(bodyOf(events))
        else expect(fold(wire)).toEqual({ fault })
      }),
      { numRuns: 400 },
    )
  })

  test('the stream helper of `openai` reads it', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async (hits) => {
        const { text, events, fault } = stream(damage(hits))
        // A failure is thrown, by us or at the caller.
        if (fault !== undefined) return
        const response = await readWithOpenAI(text)
        expect(response.status).toBe(events.at(-1)?.event.response.status)
      }),
      { numRuns: 150 },
    )
  })

  test('the turn events keep their order: open, deltas, close, stop', () => {
    fc.assert(
      fc.property(damaged, (hits) => {
        const { events, fault } = decode(damage(hits))
        expectOrder(events)
        expect(events.at(-1)?.type === 'stop').toBe(fault === undefined)
      }),
      { numRuns: 400 },
    )
  })
})

/** Slots are numbered as they come, are of one kind, and say nothing once closed. */
function expectOrder(events: readonly TurnEvent[]): void {
  const slots = new Map<number, { kind: string; closed: boolean }>()
  for (const [at, event] of events.entries()) {
    expect(event.type === 'start').toBe(at === 0)
    if (!('slot' in event)) continue
    const kind =
      event.type === 'part.close' ? undefined : (event.type.split('.')[0] ?? '').replace(/refusal|citation/, 'text')
    const known = slots.get(event.slot)
    if (known === undefined) {
      expect(event.slot).toBe(slots.size)
      expect(kind).toBeDefined()
      slots.set(event.slot, { kind: kind ?? '', closed: false })
      if (kind === 'tool') expect(event.type).toBe('tool.open')
      continue
    }
    expect(known.closed).toBe(false)
    if (kind === undefined) known.closed = true
    else expect(kind).toBe(known.kind)
  }
}

describe('whatever upstream sends', () => {
  const names = [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.output_item.done',
    'response.content_part.added',
    'response.content_part.done',
    'response.output_text.delta',
    'response.output_text.done',
    'response.output_text.annotation.added',
    'response.refusal.delta',
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_text.delta',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.completed',
    'response.failed',
    'response.x\ny',
    'error',
    '__proto__',
    'constructor',
  ]
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(0, 1, -1, 1e300, 'message', 'function_call', 'reasoning', 'custom_tool_call', [], {}),
  )
  const member = fc.constantFrom(
    'type',
    'id',
    'call_id',
    'name',
    'content',
    'summary',
    'text',
    'arguments',
    'status',
    '__proto__',
  )
  const object = fc.array(fc.tuple(member, value), { maxLength: 6 }).map((pairs) => Object.fromEntries(pairs))
  const event = fc
    .tuple(
      fc.constantFrom(...names),
      fc.array(
        fc.tuple(
          fc.constantFrom(
            'output_index',
            'content_index',
            'item_id',
            'item',
            'part',
            'delta',
            'text',
            'response',
            'arguments',
          ),
          fc.oneof(value, object),
        ),
        { maxLength: 5 },
      ),
    )
    .map(([type, pairs]) => Object.fromEntries([['type', type], ...pairs]))

  test('ends in an answer or a fault, and never in another exception', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), (events) => {
        const wire = events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
        for (const { event: got, name } of stream(wire).events) expect(name).toBe(got.type)
        fold(wire)
        decode(wire)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('any reply', () => {
  /** What one slot of a reply says; slots interleave, and may be left open. */
  const pieces = fc.array(fc.string({ maxLength: 6, unit: 'grapheme' }), { maxLength: 4 })
  const slot = fc.record({
    kind: fc.constantFrom('text', 'refusal', 'think', 'function', 'custom', 'search'),
    pieces,
    closes: fc.boolean(),
    signs: fc.boolean(),
    cites: fc.boolean(),
  })
  const stops: readonly TurnStop[] = [
    'end',
    'stop_sequence',
    'tool_calls',
    'max_tokens',
    'context_full',
    'content_filter',
    'pause',
    'compaction',
  ]

  const replies = fc
    .tuple(
      fc.array(slot, { maxLength: 5 }),
      fc.array(fc.nat(9), { maxLength: 40 }),
      fc.constantFrom(...stops),
      fc.boolean(),
    )
    .map(([slots, order, reason, counts]) => {
      const queues = slots.map((one, index) => eventsOfSlot(one, index))
      const events: TurnEvent[] = [{ type: 'start', model: 'claude-opus-4.8' }]
      // Slots start in the order of their numbers, and interleave from then on.
      let started = 0
      for (const pick of order) {
        const at = pick % (started + 1)
        if (at === started) started += 1
        const next = queues[at]?.shift()
        if (next !== undefined) events.push(next)
      }
      events.push(...queues.flat())
      if (counts) events.push({ type: 'usage', usage: { inputTokens: 3, cachedInputTokens: 1, outputTokens: 2 } })
      events.push({ type: 'stop', reason })
      return events
    })

  type Slot = { kind: string; pieces: string[]; closes: boolean; signs: boolean; cites: boolean }

  function eventsOfSlot({ kind, pieces: texts, closes, signs, cites }: Slot, index: number): TurnEvent[] {
    const close: TurnEvent[] = closes ? [{ type: 'part.close', slot: index }] : []
    switch (kind) {
      case 'search':
        return [{ type: 'search', slot: index, id: `s${index}`, query: texts.join(' ') }, ...close]
      case 'function':
      case 'custom':
        return [
          { type: 'tool.open', slot: index, id: `call_${index}`, name: `tool_${index}`, kind },
          ...texts.map((text): TurnEvent => ({ type: 'tool.args', slot: index, text })),
          ...close,
        ]
      case 'think':
        return [
          ...texts.map((text): TurnEvent => ({ type: 'think.delta', slot: index, text })),
          ...(signs
            ? [
                {
                  type: 'think.sign',
                  slot: index,
                  opaque: { vendor: 'anthropic', family: 'claude', form: 'signature', value: 'SIG' },
                } satisfies TurnEvent,
              ]
            : []),
          ...close,
        ]
      default:
        return [
          ...texts.map((text): TurnEvent => ({
            type: kind === 'text' ? 'text.delta' : 'refusal.delta',
            slot: index,
            text,
          })),
          ...(cites && kind === 'text'
            ? [
                {
                  type: 'citation',
                  slot: index,
                  citation: { url: 'https://example.com/', title: 'E' },
                } satisfies TurnEvent,
              ]
            : []),
          ...close,
        ]
    }
  }

  test('has the event order that clients expect, and its body has the same content', () => {
    fc.assert(
      fc.property(replies, (events) => {
        const { events: got, body } = encode(events)
        expectGrammar(got)
        expect(body).toEqual(got.at(-1)?.event.response)
        expect(body).toEqual(bodyOf(got))
      }),
      { numRuns: 400 },
    )
  })

  test.skipIf(!hasSpecs)(`is what Open Responses describes${skipNote}`, () => {
    const { eventSchema, violations } = openSpec('openresponses')
    fc.assert(
      fc.property(replies, (events) => {
        for (const { event } of encode(events).events) {
          const schema = eventSchema(event.type)
          const found = schema === undefined ? [] : violations(schema, event)
          // It has no custom tools and no web search.
          expect(found.filter(({ path }) => !/\/(item|output\/#)\/type$/.test(path))).toEqual([])
        }
      }),
      { numRuns: 100 },
    )
  })

  test('is read by the stream helper of `openai`', async () => {
    await fc.assert(
      fc.asyncProperty(replies, async (events) => {
        const { text, body } = encode(events)
        expect(withoutParsed(await readWithOpenAI(text))).toEqual(withoutParsed(body))
      }),
      { numRuns: 100 },
    )
  })

  test('says the same once it is read again', () => {
    fc.assert(
      fc.property(replies, (events) => {
        const { text } = encode(events)
        expect(contentOf(decode(text).events)).toEqual(contentOf(events))
      }),
      { numRuns: 300 },
    )
  })

  test('needs no repair by our own normaliser', () => {
    fc.assert(
      fc.property(replies, (events) => {
        const { text } = encode(events)
        expect(stream(text).text).toBe(text)
      }),
      { numRuns: 300 },
    )
  })
})

/** What a reply says, however it is cut into pieces. */
function contentOf(events: readonly TurnEvent[]): unknown {
  const texts = new Map<string, string>()
  const others: unknown[] = []
  for (const event of events) {
    if (event.type === 'tool.open') others.push([event.id, event.name, event.kind])
    if (event.type === 'search') others.push(event.query)
    if (event.type === 'stop') others.push(/max|full|filter|pause/.test(event.reason) ? 'cut' : 'whole')
    if (!('text' in event) || event.text === '') continue
    const key = `${event.type} ${event.slot}`
    texts.set(key, (texts.get(key) ?? '') + event.text)
  }
  // Blank arguments and none are the same: an empty object.
  const said = [...texts].map(([key, text]) => [key.split(' ')[0], text.replace(/^\s*(\{\})?$/, '')])
  return { texts: said.filter(([, text]) => text !== ''), others }
}
