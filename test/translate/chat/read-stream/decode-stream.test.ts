import { fc } from '../../../fast-check.ts'
import { some } from '../../some-keys.ts'
import { describe, expect, test } from 'vitest'
import type { TurnEvent } from '../../../../src/translate/turn.ts'
import { dataEvent, readStream, seedOf, streamNames } from '../fixture-streams.ts'
import { answers, quirks, toWire } from '../generated-streams.ts'
import { decodeStream, expectTurnGrammar } from '../turn-helpers.ts'
import { bytes } from '../../fixture-folder.ts'

test.each(streamNames)('decodes %s', async (name) => {
  const { events, fault } = decodeStream([bytes(readStream(name))])
  const lines = [...events, ...(fault === undefined ? [] : [{ fault }])].map((line) => `${JSON.stringify(line)}\n`)
  await expect(lines.join('')).toMatchFileSnapshot(`../../../golden/chat-events/${name}.jsonl`)
})

const seed = seedOf({ usage: true, model: 'gemini-3-pro-preview' })

/** The events of deltas that upstream sends one by one, without `start` and `stop`. */
function eventsOf(...deltas: Record<string, unknown>[]): readonly TurnEvent[] {
  const chunks = deltas.map((delta) => ({ model: 'm', choices: [{ index: 0, delta, finish_reason: null }] }))
  const wire = [...chunks, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]'].map(dataEvent)
  const { events, fault } = decodeStream([bytes(wire.join(''))], seed)
  expect(fault).toBeUndefined()
  expectTurnGrammar(events)
  return events.slice(1, -1)
}

const text = (slot: number, piece: string) => ({ type: 'text.delta', slot, text: piece })
const think = (slot: number, piece: string) => ({ type: 'think.delta', slot, text: piece })
const close = (slot: number) => ({ type: 'part.close', slot })
const signed = (slot: number, value: string) => ({
  type: 'think.sign',
  slot,
  opaque: { vendor: 'google', family: 'gemini', form: 'reasoning_opaque', value },
})
const entry = (index: number, rest: object) => ({ tool_calls: [{ index, ...rest }] })
const opened = (index: number, args = '') =>
  entry(index, { id: `c${index}`, type: 'function', function: { name: 'f', arguments: args } })
const more = (index: number, args: string) => entry(index, { function: { arguments: args } })
const tool = (slot: number, id: string) => ({ type: 'tool.open', slot, id, name: 'f', kind: 'function' })
const args = (slot: number, piece: string) => ({ type: 'tool.args', slot, text: piece })

const finish = (reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })
const endOf = (...wire: unknown[]) => decodeStream([bytes(wire.map(dataEvent).join(''))])

describe('slots', () => {
  test('text continues in one slot, and thinking before it has another', () => {
    expect(eventsOf({ reasoning_text: 'T' }, { reasoning_text: 'U' }, { content: 'a' }, { content: 'b' })).toEqual([
      think(0, 'T'),
      think(0, 'U'),
      close(0),
      text(1, 'a'),
      text(1, 'b'),
      close(1),
    ])
  })

  test('text after a call is another slot, text around an empty delta is not', () => {
    expect(
      eventsOf({ content: 'a' }, { content: '' }, { content: 'b' }, opened(0, '{"x":1}'), { content: 'c' }),
    ).toEqual([
      text(0, 'a'),
      text(0, 'b'),
      close(0),
      tool(1, 'c0'),
      args(1, '{"x":1}'),
      close(1),
      text(2, 'c'),
      close(2),
    ])
  })

  test('a call is closed once its arguments are whole and something else begins', () => {
    expect(eventsOf(opened(0), more(0, '{"a":'), more(0, '1}'), opened(1), more(1, '{"b":2}'))).toEqual([
      tool(0, 'c0'),
      args(0, '{"a":'),
      args(0, '1}'),
      close(0),
      tool(1, 'c1'),
      args(1, '{"b":2}'),
      close(1),
    ])
  })

  test('calls that interleave stay open together', () => {
    expect(eventsOf(opened(0), opened(1), more(1, '{"b":2}'), more(0, '{"a":1}'))).toEqual([
      tool(0, 'c0'),
      tool(1, 'c1'),
      args(1, '{"b":2}'),
      args(0, '{"a":1}'),
      close(0),
      close(1),
    ])
  })

  test.each([[''], ['{}'], [' '], ['\n{} ']])('a call with the arguments %j has no piece of them', (written) => {
    expect(eventsOf(opened(0, written))).toEqual([tool(0, 'c0'), close(0)])
  })

  test('a refusal is no text', () => {
    expect(eventsOf({ content: 'a' }, { refusal: 'No' }, { refusal: '.' })).toEqual([
      text(0, 'a'),
      close(0),
      { type: 'refusal.delta', slot: 1, text: 'No' },
      { type: 'refusal.delta', slot: 1, text: '.' },
      close(1),
    ])
  })

  test('a call in the way that came before tools is a call', () => {
    expect(eventsOf({ function_call: { name: 'f', arguments: '{' } }, { function_call: { arguments: '}' } })).toEqual([
      tool(0, 'call_seed0001'),
      args(0, '{'),
      args(0, '}'),
    ])
  })

  test('a freeform tool keeps its kind', () => {
    const custom = entry(0, { id: 'c0', type: 'custom', custom: { name: 'patch', input: '*** ' } })
    expect(eventsOf(custom, entry(0, { custom: { input: 'Begin' } }))).toEqual([
      { type: 'tool.open', slot: 0, id: 'c0', name: 'patch', kind: 'custom' },
      args(0, '*** '),
      args(0, 'Begin'),
      close(0),
    ])
  })

  test('log probabilities stay with their piece', () => {
    const chunk = {
      choices: [
        {
          index: 0,
          delta: { content: 'a' },
          logprobs: { content: [{ token: 'a' }], refusal: null },
          finish_reason: 'stop',
        },
      ],
    }
    const { events } = decodeStream([bytes(dataEvent(chunk))])
    expect(events[1]).toEqual({ ...text(0, 'a'), logprobs: [{ token: 'a' }] })
  })
})

describe('opaque reasoning', () => {
  test('signs the thought it follows', () => {
    expect(eventsOf({ reasoning_text: 'T' }, { reasoning_opaque: 'O' }, { content: 'a' })).toEqual([
      think(0, 'T'),
      signed(0, 'O'),
      close(0),
      text(1, 'a'),
      close(1),
    ])
  })

  test('signs the thought before the call it came with', () => {
    expect(eventsOf({ reasoning_text: 'T' }, { ...opened(0, '{"a":1}'), reasoning_opaque: 'O' })).toEqual([
      think(0, 'T'),
      signed(0, 'O'),
      close(0),
      tool(1, 'c0'),
      args(1, '{"a":1}'),
      close(1),
    ])
  })

  test('without any thought has a slot of its own', () => {
    expect(eventsOf({ reasoning_opaque: 'O' }, { content: 'a' })).toEqual([
      signed(0, 'O'),
      close(0),
      text(1, 'a'),
      close(1),
    ])
  })

  test('amid text waits for the text to be over', () => {
    expect(eventsOf({ reasoning_text: 'T' }, { content: 'a' }, { reasoning_opaque: 'O' }, { content: 'b' })).toEqual([
      think(0, 'T'),
      close(0),
      text(1, 'a'),
      text(1, 'b'),
      close(1),
      signed(2, 'O'),
      close(2),
    ])
  })

  test('after text comes before the call that follows', () => {
    expect(eventsOf({ content: 'a' }, { reasoning_opaque: 'O' }, opened(0))).toEqual([
      text(0, 'a'),
      close(0),
      signed(1, 'O'),
      close(1),
      tool(2, 'c0'),
      close(2),
    ])
  })

  test('that is repeated on every chunk signs once', () => {
    expect(
      eventsOf({ reasoning_opaque: 'O' }, { reasoning_opaque: 'O', content: 'a' }, { reasoning_opaque: 'O' }),
    ).toEqual([signed(0, 'O'), close(0), text(1, 'a'), close(1)])
  })
})

describe('the end', () => {
  const said = { model: 'gpt', choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: null }] }
  const call = { choices: [{ index: 0, delta: opened(0, '{"path":"/a'), finish_reason: null }] }

  test.each([
    ['stop', 'end'],
    ['length', 'max_tokens'],
    ['content_filter', 'content_filter'],
    ['function_call', 'tool_calls'],
    ['unheard_of', 'end'],
  ])('%s is %s', (reason, stop) => {
    expect(endOf(said, finish(reason), '[DONE]').events.at(-1)).toEqual({ type: 'stop', reason: stop })
  })

  test.each(['length', 'content_filter'])('%s beats a call, which stays open', (reason) => {
    const { events } = endOf(call, finish('tool_calls'), finish(reason), '[DONE]')
    expect(events.slice(1)).toEqual([
      tool(0, 'c0'),
      args(0, '{"path":"/a'),
      { type: 'stop', reason: reason === 'length' ? 'max_tokens' : reason },
    ])
  })

  test('usage comes before the stop, wherever upstream put it', () => {
    const usage = {
      prompt_tokens: 50,
      completion_tokens: 2,
      total_tokens: 52,
      prompt_tokens_details: { cached_tokens: 40 },
    }
    const counted = { type: 'usage', usage: { inputTokens: 50, cachedInputTokens: 40, outputTokens: 2 } }
    for (const wire of [
      [said, finish('stop'), { choices: [], usage }, '[DONE]'],
      [{ ...said, usage }, finish('stop'), '[DONE]'],
      [said, { ...finish('stop'), usage }],
    ]) {
      expect(endOf(...wire).events.slice(-2)).toEqual([counted, { type: 'stop', reason: 'end' }])
    }
    expect(endOf(said, finish('stop'), '[DONE]').events.slice(-2)).toEqual([close(0), { type: 'stop', reason: 'end' }])
  })

  test('what comes after it adds nothing', () => {
    expect(endOf(said, finish('stop'), '[DONE]', said, '[DONE]')).toEqual(endOf(said, finish('stop'), '[DONE]'))
  })

  test('is a fault where upstream broke off', () => {
    expect(endOf(said)).toEqual({
      events: [{ type: 'start', model: 'gpt' }, text(0, 'ok')],
      fault: { kind: 'upstream_truncated' },
    })
    const failed = endOf(said, { error: { code: 'model_overloaded', message: 'Overloaded' } })
    expect(failed.fault).toMatchObject({ kind: 'upstream_status', status: 429, message: 'Overloaded' })
  })
})

describe('whatever the quirks of upstream', { timeout: 60_000 }, () => {
  test('the events are in a valid order and contain what upstream sent', () => {
    fc.assert(
      fc.property(answers, quirks, (answer, quirk) => {
        const { events, fault } = decodeStream([bytes(toWire(answer, quirk))])
        expect(fault).toBeUndefined()
        expectTurnGrammar(events)
        expect(joined(events, 'text.delta')).toBe(answer.text.join(''))
        expect(joined(events, 'think.delta')).toBe(answer.reasoning.join(''))
        expect(joined(events, 'refusal.delta')).toBe(answer.refusal.join(''))
        const calls = events.filter((event) => event.type === 'tool.open')
        expect(calls.map(({ id, name }) => ({ id, name }))).toEqual(answer.calls.map(({ id, name }) => ({ id, name })))
        for (const [at, { slot }] of calls.entries()) {
          const pieces = events.filter((event) => event.type === 'tool.args' && event.slot === slot)
          expect(joined(pieces, 'tool.args') || '{}').toBe(answer.calls[at]?.pieces.join('').trim() || '{}')
        }
        expect(events.at(-1)).toEqual({ type: 'stop', reason: answer.calls.length > 0 ? 'tool_calls' : 'end' })
      }),
      { numRuns: 500 },
    )
  })

  test('any cut of the bytes gives the same events', () => {
    const wires = streamNames.map((name) => bytes(readStream(name)))
    fc.assert(
      fc.property(fc.constantFrom(...wires), fc.array(fc.nat(), { maxLength: 12 }), (wire, cuts) => {
        const at = cuts.map((cut) => cut % (wire.length + 1)).toSorted((a, b) => a - b)
        const chunks = [0, ...at].map((start, i) => wire.subarray(start, at[i] ?? wire.length))
        expect(decodeStream(chunks)).toEqual(decodeStream([wire]))
      }),
      { numRuns: 500 },
    )
  })

  test('and whatever it sends, the events keep to the grammar or end in a fault', () => {
    const loose = fc.jsonValue({ maxDepth: 2 })
    const mostly = <Value>(arbitrary: fc.Arbitrary<Value>) =>
      fc.oneof({ weight: 9, arbitrary }, { weight: 1, arbitrary: loose })
    const piece = fc.constantFrom('', 'a', '\r', '{"x":', '1}', '{}', ' \n')
    const called = mostly(some({ name: fc.constantFrom('', 'f', 'g'), arguments: piece, input: piece }))
    const callEntry = some({
      index: mostly(fc.nat({ max: 2 })),
      id: mostly(fc.constantFrom('a', 'b', 'c')),
      type: mostly(fc.constantFrom('function', 'custom')),
      function: called,
      custom: called,
    })
    const delta = some({
      content: mostly(piece),
      refusal: mostly(piece),
      reasoning_text: mostly(piece),
      reasoning_opaque: mostly(fc.constantFrom('O', 'P')),
      tool_calls: mostly(fc.array(mostly(callEntry), { maxLength: 2 })),
      function_call: mostly(called),
    })
    const choice = fc.record({
      index: mostly(fc.nat({ max: 1 })),
      delta: mostly(delta),
      finish_reason: mostly(fc.constantFrom(null, null, null, 'stop', 'tool_calls', 'length')),
      logprobs: loose,
    })
    const chunk = some({ model: loose, choices: fc.array(mostly(choice), { maxLength: 2 }), usage: loose })
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 6 }), (chunks) => {
        const { events, fault } = decodeStream([bytes([...chunks, '[DONE]'].map(dataEvent).join(''))])
        if (fault === undefined) expectTurnGrammar(events)
        else expect(events.some(({ type }) => type === 'stop')).toBe(false)
      }),
      { numRuns: 1000 },
    )
  })

  test.each(streamNames)('the events of %s keep to the grammar', (name) => {
    const { events, fault } = decodeStream([bytes(readStream(name))])
    if (fault === undefined) expectTurnGrammar(events)
    else expect(events.some(({ type }) => type === 'stop')).toBe(false)
  })
})

function joined(events: readonly TurnEvent[], type: TurnEvent['type']): string {
  return events.map((event) => (event.type === type && 'text' in event ? event.text : '')).join('')
}
