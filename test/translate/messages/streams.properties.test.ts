import Anthropic from '@anthropic-ai/sdk'
import { partialParse } from '@anthropic-ai/sdk/_vendor/partial-json-parser/parser'
import { fc } from '../../fast-check.ts'
import { some } from '../some-keys.ts'
import { times } from '../../thorough.ts'
import { describe, expect, test } from 'vitest'
import { startJsonPrefix, takeJson } from '../../../src/translate/messages/write-stream/json-prefix.ts'
import type { TurnEvent } from '../../../src/translate/turn.ts'
import { decode, encode, eventsOf, fold, readStream, stream, streamNames, wireEvent } from './fixture-streams.ts'
import type { ReadEvent } from './fixture-streams.ts'
import { bytes } from '../fixture-folder.ts'

const words = fc.string({ unit: 'binary', maxLength: 8 })
const pieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), { maxLength: 4 })

describe('any cut of the bytes', () => {
  const wires = streamNames.map((name) => bytes(readStream(name)))

  test('gives the same reply', () => {
    fc.assert(
      fc.property(fc.constantFrom(...wires), fc.array(fc.nat(), { maxLength: 12 }), (wire, cuts) => {
        const chunks = cut(wire, cuts)
        expect(stream(chunks)).toEqual(stream([wire]))
        expect(fold(chunks)).toEqual(fold([wire]))
        expect(decode(chunks)).toEqual(decode([wire]))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('whatever a turn says', () => {
  interface Part {
    readonly slot: number
    readonly kind: 'text' | 'refusal' | 'thinking' | 'tool'
    readonly pieces: readonly string[]
    readonly signed: boolean
    readonly closed: boolean
  }

  const json = fc
    .tuple(fc.dictionary(words, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }), fc.array(fc.nat(), { maxLength: 4 }))
    .map(([value, cuts]) => cutText(JSON.stringify(value), cuts))
  const kinds = fc.oneof(
    fc.record({ kind: fc.constantFrom('text', 'refusal', 'thinking'), pieces }),
    fc.record({ kind: fc.constant('tool'), pieces: fc.oneof(json, fc.constant([])) }),
  )
  const flags = fc.record({ signed: fc.boolean(), closed: fc.boolean() })
  const parts: fc.Arbitrary<readonly Part[]> = fc
    .array(fc.tuple(kinds, flags), { maxLength: 6 })
    .map((list) => list.map(([kind, flag], slot) => Object.assign({ slot }, kind, flag) as Part))
  const order = fc.array(fc.nat(), { maxLength: 40 })

  const opaque = { vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', value: 'E' } as const

  function eventsOfPart({ slot, kind, pieces: said, signed, closed }: Part): TurnEvent[] {
    const deltas = said.map((text): TurnEvent => {
      switch (kind) {
        case 'text':
          return { type: 'text.delta', slot, text }
        case 'refusal':
          return { type: 'refusal.delta', slot, text }
        case 'thinking':
          return { type: 'think.delta', slot, text }
        case 'tool':
          return { type: 'tool.args', slot, text }
      }
    })
    return [
      ...(kind === 'tool'
        ? [{ type: 'tool.open', slot, id: `call_${slot}`, name: 'f', kind: 'function' } as const]
        : []),
      ...deltas,
      ...(kind === 'thinking' && signed ? [{ type: 'think.sign', slot, opaque } as const] : []),
      ...(closed ? [{ type: 'part.close', slot } as const] : []),
    ]
  }

  /** The parts' events in any order that a turn may have: slots are numbered as they are first seen. */
  function interleave(list: readonly Part[], picks: readonly number[]): TurnEvent[] {
    const waiting = list.map(eventsOfPart)
    const out: TurnEvent[] = []
    let begun = 0
    for (let nth = 0; waiting.some((events) => events.length > 0); nth += 1) {
      while (waiting[begun]?.length === 0) begun += 1
      const open = waiting.filter((events, slot) => slot <= begun && events.length > 0)
      const chosen = open[(picks[nth] ?? 0) % open.length]
      if (chosen !== undefined && chosen === waiting[begun]) begun += 1
      out.push(...(chosen?.splice(0, 1) ?? []))
    }
    return out
  }

  /** An answer that would end in thoughts ends in the text before them. */
  function withoutLateThoughts(list: readonly Part[]): readonly Part[] {
    const end = list.findLastIndex(
      ({ kind, pieces: said }) => kind === 'tool' || (kind !== 'thinking' && said.join('') !== ''),
    )
    return list[end]?.kind === 'text' || list[end]?.kind === 'refusal' ? list.slice(0, end + 1) : list
  }

  /** What the parts amount to as blocks; an empty part is none, but a call always is one. */
  function blocksOf(list: readonly Part[]): unknown[] {
    return withoutLateThoughts(list).flatMap(({ slot, kind, pieces: said, signed }): unknown[] => {
      const all = said.join('')
      if (kind === 'tool') return [{ type: 'tool_use', id: `call_${slot}`, input: all === '' ? {} : JSON.parse(all) }]
      if (kind === 'thinking') {
        if (all === '' && !signed) return []
        return [{ type: 'thinking', thinking: all, signature: signed ? expect.stringMatching(/^cpx1\./) : '' }]
      }
      return all === '' ? [] : [{ type: 'text', text: all }]
    })
  }

  const turns = fc.tuple(parts, order)
  const toTurn = ([list, picks]: readonly [readonly Part[], readonly number[]]): TurnEvent[] => [
    { type: 'start' },
    ...interleave(list, picks),
    { type: 'stop', reason: list.some(({ kind }) => kind === 'tool') ? 'tool_calls' : 'end' },
  ]

  test('its stream keeps to the grammar, and nothing is lost, added or moved', () => {
    fc.assert(
      fc.property(turns, (turn) => {
        const { events, body } = encode(toTurn(turn))
        expectGrammar(events)
        const blocks = blocksOf(turn[0])
        expect(body).toMatchObject({ content: blocks, stop_reason: expect.stringMatching(/^(end_turn|tool_use)$/) })
      }),
      { numRuns: 1500 },
    )
  })

  test('the pieces of a part stay pieces', () => {
    fc.assert(
      fc.property(turns, (turn) => {
        const { events } = encode(toTurn(turn))
        const spoken = events.flatMap(({ delta }) => [delta?.['text'], delta?.['thinking'], delta?.['partial_json']])
        const said = withoutLateThoughts(turn[0])
          .flatMap(({ pieces: all }) => all)
          .filter((piece) => piece !== '')
        expect(spoken.filter((piece) => piece !== undefined)).toEqual(said)
      }),
      { numRuns: 500 },
    )
  })

  test("Anthropic's own client makes the same message of it", async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (turn) => {
        const { text, body } = encode(toTurn(turn))
        expect(comparable(await readByAnthropic(text))).toEqual(comparable(body))
      }),
      { numRuns: 300 },
    )
  })

  test('the decoder reads the same content from it', () => {
    fc.assert(
      fc.property(turns, (turn) => {
        const { text, body } = encode(toTurn(turn))
        const again = decode([bytes(text)])
        expect(again).toMatchObject({ skipped: 0 })
        const { content } = encode(again.events).body as { content: Record<string, unknown>[] }
        expect(unsigned(content)).toEqual(unsigned((body as { content: Record<string, unknown>[] }).content))
      }),
      { numRuns: 500 },
    )
  })
})

describe('whatever upstream sends', () => {
  const loose = fc.jsonValue({ maxDepth: 2 })
  /** A value of the right kind, now and then of any other. */
  const mostly = <Value>(arbitrary: fc.Arbitrary<Value>) =>
    fc.oneof({ weight: 8, arbitrary }, { weight: 1, arbitrary: loose })
  const text = fc.constantFrom('', 'a', '\n', '{"x":', '1}', '"\ud83d', '\n\t'.repeat(12))
  const index = mostly(fc.nat({ max: 2 }))
  const usage = some({
    input_tokens: mostly(fc.nat({ max: 9 })),
    cache_read_input_tokens: mostly(fc.nat({ max: 9 })),
    output_tokens: mostly(fc.nat({ max: 9 })),
    output_tokens_details: mostly(some({ thinking_tokens: fc.nat({ max: 9 }) })),
  })
  const block = some({
    type: mostly(
      fc.constantFrom('text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'web_search_tool_result'),
    ),
    text: fc.constant(''),
    thinking: fc.constant(''),
    signature: fc.constantFrom('', 'sig'),
    data: text,
    id: mostly(fc.constantFrom('', 'toolu_1')),
    name: fc.constantFrom('f', 'web_search', ''),
    input: mostly(fc.constantFrom({}, { a: 1 })),
  }).map((value) => Object.assign({ text: '', thinking: '', signature: '' }, value))
  const delta = some({
    type: mostly(
      fc.constantFrom('text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta', 'citations_delta'),
    ),
    text: mostly(text),
    thinking: mostly(text),
    signature: mostly(text),
    partial_json: mostly(text),
    citation: mostly(some({ type: fc.constant('web_search_result_location'), url: text, title: text })),
  })
  const end = some({
    stop_reason: mostly(fc.constantFrom(null, 'end_turn', 'tool_use', 'max_tokens')),
    stop_sequence: mostly(fc.constant(null)),
  })
  const message = some({
    id: mostly(text),
    model: mostly(text),
    content: mostly(fc.constant([])),
    usage: mostly(usage),
  })
  const event = fc.oneof(
    { weight: 3, arbitrary: some({ message: mostly(message), extra: loose }).map(typed('message_start')) },
    { weight: 6, arbitrary: some({ index, content_block: mostly(block) }).map(typed('content_block_start')) },
    { weight: 12, arbitrary: some({ index, delta: mostly(delta), extra: loose }).map(typed('content_block_delta')) },
    { weight: 4, arbitrary: some({ index }).map(typed('content_block_stop')) },
    { weight: 3, arbitrary: some({ delta: mostly(end), usage: mostly(usage) }).map(typed('message_delta')) },
    { weight: 2, arbitrary: fc.constant({ type: 'message_stop' }) },
    { weight: 1, arbitrary: fc.constant({ type: 'ping' }) },
    { weight: 1, arbitrary: some({ error: loose, type: loose, message: loose }) },
    { weight: 1, arbitrary: fc.constant('[DONE]') },
  )
  const wires = fc.array(event, { maxLength: 14 }).map((events) => events.map(wireEvent).join(''))

  test('a reply ends as the grammar says or in a Fault; stream and body agree', () => {
    let whole = 0
    fc.assert(
      fc.property(wires, (wire) => {
        const streamed = stream([bytes(wire)])
        const folded = fold([bytes(wire)])
        expect(folded.fault).toEqual(streamed.fault)
        const events = eventsOf(streamed.text).filter(({ type }) => isKnown(type))
        expectGrammar(events, streamed.fault === undefined)
        // What is written grows with what is read, and no faster.
        expect(streamed.text.length).toBeLessThan(1000 + 12 * wire.length)
        whole += streamed.fault === undefined ? 1 : 0
      }),
      { numRuns: 3000 },
    )
    // Else the property would hold of failures only.
    expect(whole).toBeGreaterThan(times(300))
  })

  test('a turn ends once or in a Fault, every part is closed once, and a Messages caller can read it', () => {
    let whole = 0
    fc.assert(
      fc.property(wires, (wire) => {
        const { events, fault } = decode([bytes(wire)])
        expectTurn(events, fault === undefined)
        if (fault !== undefined) return
        whole += 1
        try {
          expectGrammar(encode(events).events)
        } catch (error) {
          // Arguments that are no JSON.
          expect(error).toMatchObject({ error: { kind: 'upstream_unusable' } })
        }
      }),
      { numRuns: 3000 },
    )
    expect(whole).toBeGreaterThan(times(300))
  })

  test("Anthropic's own client makes the same message of the stream", async () => {
    await fc.assert(
      fc.asyncProperty(wires, async (wire) => {
        const streamed = stream([bytes(wire)])
        if (streamed.fault !== undefined) return
        const { body } = fold([bytes(wire)])
        const theirs = await readByAnthropic(streamed.text).catch((error: unknown) => error)
        // Arguments that are no JSON fail there, and were passed on as upstream wrote them.
        if (theirs instanceof Error) expect(theirs.message).toMatch(/JSON/)
        else expect(comparable(theirs)).toEqual(comparable(body))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('arguments that are taken', () => {
  const odds = [...Array.from('{}[]:,"\\\\u04-1.e+ \n'), 'true', 'nul', '\\u00e', '"a":', 'é']
  const objects = fc.dictionary(words, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
  /** An object with something taken out here and there, or put in. */
  const nearly = fc
    .tuple(objects, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 2 }), fc.constantFrom('', ...odds)), { maxLength: 3 }))
    .map(([value, edits]) => edits.reduce(edit, JSON.stringify(value)))

  test("are what Anthropic's own client can parse at every moment, whatever came", () => {
    const states = new Map<string, number>()
    fc.assert(
      fc.property(nearly, fc.nat(), (text, moment) => {
        const json = startJsonPrefix()
        const taken = Array.from(text, (piece) => takeJson(json, piece)).join('')
        for (const end of [taken.length, 1 + (moment % (taken.length + 1))]) {
          if (taken !== '') expect(() => partialParse(taken.slice(0, end))).not.toThrow()
        }
        if (json.state === 'complete') expect(() => JSON.parse(taken)).not.toThrow()
        states.set(json.state, (states.get(json.state) ?? 0) + 1)
      }),
      { numRuns: 2000 },
    )
    // Else the property would hold of nothing.
    expect(states.get('complete')).toBeGreaterThan(times(300))
    expect(states.get('broken')).toBeGreaterThan(times(300))
  })

  test('of an object are all of it, however it is cut', () => {
    fc.assert(
      fc.property(
        objects,
        fc.constantFrom(undefined, 1),
        fc.array(fc.nat(), { maxLength: 6 }),
        (value, indent, cuts) => {
          const text = JSON.stringify(value, null, indent)
          const json = startJsonPrefix()
          expect(
            cutText(text, cuts)
              .map((piece) => takeJson(json, piece))
              .join(''),
          ).toBe(text)
          expect(json.state).toBe('complete')
        },
      ),
      { numRuns: 1000 },
    )
  })
})

function edit(text: string, [at, length, piece]: readonly [number, number, string]): string {
  const place = at % (text.length + 1)
  return text.slice(0, place) + piece + text.slice(place + length)
}

function unsigned(blocks: readonly Record<string, unknown>[]) {
  return blocks.map(({ signature, ...block }) => Object.assign(block, { signed: Boolean(signature) }))
}

function typed(type: string) {
  return (value: object) => ({ ...value, type })
}

function cut(wire: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = cuts.map((place) => place % (wire.length + 1)).toSorted((a, b) => a - b)
  return [0, ...at].map((from, i) => wire.subarray(from, at[i] ?? wire.length))
}

function cutText(text: string, cuts: readonly number[]): string[] {
  const at = cuts.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b)
  return [0, ...at].map((from, i) => text.slice(from, at[i]))
}

function isKnown(type: string): boolean {
  return /^(message_(start|delta|stop)|content_block_(start|delta|stop))$/.test(type)
}

/** The grammar of a Messages stream: one message, blocks dense, one open at a time, each opened and closed once. */
function expectGrammar(events: readonly ReadEvent[], isWhole = true): void {
  let open: number | undefined
  let blocks = 0
  for (const [at, { type, index }] of events.entries()) {
    expect(type === 'message_start').toBe(at === 0)
    switch (type) {
      case 'content_block_start':
        expect([open, index]).toEqual([undefined, blocks])
        open = blocks
        blocks += 1
        break
      case 'content_block_delta':
        expect(index).toBe(open)
        break
      case 'content_block_stop':
        expect([open, index]).toEqual([blocks - 1, blocks - 1])
        open = undefined
        break
      case 'message_delta':
      case 'message_stop':
        expect(open).toBeUndefined()
    }
    if (type === 'message_stop') expect(at).toBe(events.length - 1)
  }
  if (isWhole) expect(events.at(-1)?.type).toBe('message_stop')
}

/** Expects the grammar of a turn: a start, slots numbered in order, no event of a slot after its close, a stop. */
function expectTurn(events: readonly TurnEvent[], isWhole: boolean): void {
  let slots = 0
  const closed = new Set<number>()
  for (const [at, event] of events.entries()) {
    expect(event.type === 'start').toBe(at === 0)
    expect(event.type === 'stop').toBe(isWhole && at === events.length - 1)
    if (!('slot' in event)) continue
    expect(event.slot).toBeLessThanOrEqual(slots)
    expect(closed).not.toContain(event.slot)
    if (event.slot === slots) {
      expect(event.type).not.toBe('part.close')
      slots += 1
    }
    if (event.type === 'part.close') closed.add(event.slot)
  }
  if (isWhole) expect(closed.size).toBe(slots)
}

async function readByAnthropic(text: string): Promise<unknown> {
  const client = new Anthropic({
    apiKey: 'example',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  })
  return client.messages.stream({ model: 'any', max_tokens: 1, messages: [] }).finalMessage()
}

/** What both ways of reading must agree on: the client drops members of events that it does not know. */
function comparable(message: unknown) {
  const read: Anthropic.Message = JSON.parse(JSON.stringify(message))
  const { id, type, role, model, content, stop_reason, stop_sequence, usage } = read
  const { input_tokens, output_tokens, cache_read_input_tokens, output_tokens_details } = usage
  return {
    message: { id, type, role, model, stop_reason: stop_reason ?? null, stop_sequence: stop_sequence ?? null },
    content: content.map((block) => {
      switch (block.type) {
        case 'text':
          return { type: 'text', text: block.text, citations: block.citations ?? [] }
        case 'thinking':
          return block
        case 'tool_use':
        case 'server_tool_use':
          return { type: block.type, id: block.id, input: block.input }
        default:
          return { type: block.type }
      }
    }),
    usage: { input_tokens, output_tokens, cache_read_input_tokens, output_tokens_details },
  }
}
