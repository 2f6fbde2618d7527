import { dialects } from '../../../src/translate/dialects.ts'
import { readFileSync } from 'node:fs'
import { fc } from '../../fast-check.ts'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { encodeChatErrorEvent } from '../../../src/translate/chat/error.ts'
import { openOpaque } from '../../../src/translate/engine/opaque-envelope.ts'
import { toStreamFault } from '../../../src/translate/engine/reply/stream-fault.ts'
import type { Opaque, TurnEvent, TurnStop } from '../../../src/translate/turn.ts'
import { dataEvent, dataOf, fold, readStream, seedOf, stream as passOn, streamNames } from './fixture-streams.ts'
import { decodeStream, encodeFold, encodeStream } from './turn-helpers.ts'
import { asIs } from '../../as-is.ts'
import { remembered } from '../turns.ts'
import { bytes } from '../fixture-folder.ts'

const start: TurnEvent = { type: 'start', model: 'served' }
const text = (piece: string, slot = 0): TurnEvent => ({ type: 'text.delta', slot, text: piece })
const think = (piece: string, slot = 0): TurnEvent => ({ type: 'think.delta', slot, text: piece })
const close = (slot: number): TurnEvent => ({ type: 'part.close', slot })
const args = (slot: number, piece: string): TurnEvent => ({ type: 'tool.args', slot, text: piece })
const tool = (slot: number, id: string, name = 'get'): TurnEvent => ({
  type: 'tool.open',
  slot,
  id,
  name,
  kind: 'function',
})
const stop = (reason: TurnStop = 'end'): TurnEvent => ({ type: 'stop', reason })
const usage: TurnEvent = {
  type: 'usage',
  usage: { inputTokens: 100, cachedInputTokens: 60, cacheWriteTokens: 10, outputTokens: 20, reasoningTokens: 5 },
}
const silent = seedOf({ usage: false })

/** Choices and usage of each chunk, as the worked cases show them. */
function shown(data: readonly string[]): unknown[] {
  return data.map((line) => {
    if (line === '[DONE]') return line
    const { id: _id, object: _object, created: _created, model: _model, ...rest } = JSON.parse(line)
    return rest
  })
}

/** The deltas a caller gets for these events. */
function deltas(...events: TurnEvent[]): unknown[] {
  const chunks = encodeStream([start, ...events], silent)
  return chunks.map((line) => (line === '[DONE]' ? line : JSON.parse(line).choices[0].delta))
}

/** `out` of a worked case, a list in some. */
function outOf(id: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(new URL(`../../fixtures/worked/${id}.json`, import.meta.url), 'utf8')).out
}

describe('worked cases', () => {
  test('02: interleaving is legal, the usage chunk comes last', () => {
    const events = [
      start,
      tool(0, 'call_a'),
      tool(1, 'call_b'),
      args(1, '{"c":"B"}'),
      args(0, '{"c":'),
      close(1),
      args(0, '"A"}'),
      close(0),
      usage,
      stop('tool_calls'),
    ]
    expect(shown(encodeStream(events))).toEqual(outOf('02'))
  })

  test('13: a refusal', () => {
    const events = [start, { type: 'refusal.delta', slot: 0, text: "I can't help." } as const, close(0), stop()]
    expect(shown(encodeStream(events, silent))).toEqual(outOf('13'))
  })

  test('14, the reverse: a filter ends the answer', () => {
    expect(encodeFold([start, text('Part'), stop('content_filter')])).toMatchObject({
      choices: [{ message: { content: 'Part' }, finish_reason: 'content_filter' }],
    })
  })

  test('15: a cap inside the arguments', () => {
    const events = [start, tool(0, 'call_1', 'write'), args(0, '{"path":"/a'), stop('max_tokens')]
    expect(shown(encodeStream(events, silent)).slice(-3, -1)).toEqual([
      {
        choices: [
          {
            index: 0,
            delta: { tool_calls: [{ index: 0, function: { arguments: '{"path":"/a' } }] },
            finish_reason: null,
          },
        ],
      },
      { choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
    ])
  })

  test.each([
    ['closed', [close(0)]],
    ['left open', []],
    ['with blanks', [args(0, ' \n'), close(0)]],
  ])('24: a call without arguments, %s', (_, end) => {
    const events = [start, tool(0, 'call_1', 'now'), ...end, stop('tool_calls')]
    const { C: whole, C_stream_last_delta: last } = outOf('24')
    const pieces = shown(encodeStream(events, silent)).slice(0, -2)
    expect(pieces.at(-1)).toMatchObject({ choices: [{ delta: { tool_calls: [last] } }] })
    const { message } = choiceOf(encodeFold([start, tool(0, 'call_1', 'now'), close(0), stop('tool_calls')]))
    expect(message.tool_calls).toEqual([whole])
  })

  test('26: a failure after text', () => {
    const stream = dialects.chat.createTurnStream(silent)
    const { error } = toStreamFault({ code: 'server_is_overloaded', message: 'Overloaded' }, asIs)
    const sent = stream.push(start) + stream.push(text('He')) + encodeChatErrorEvent(error, 'req_1')
    expect(shown(dataOf(sent)).slice(1)).toEqual(outOf('26')['C'])
  })
})

describe('the opening', () => {
  test('waits for the first event that says something', () => {
    const stream = dialects.chat.createTurnStream(silent)
    const empty: TurnEvent[] = [
      start,
      usage,
      text(''),
      think(''),
      { type: 'refusal.delta', slot: 0, text: '' },
      args(4, 'x'),
      close(0),
    ]
    for (const event of empty) expect(stream.push(event)).toBe('')
    expect(dataOf(stream.push(text('a')))).toHaveLength(2)
  })

  test.each([
    ['text', text('a'), ''],
    ['thinking', think('a'), null],
    ['a call', tool(0, 'c'), null],
    ['nothing but an end', stop(), ''],
  ])('of %s', (_, event, content) => {
    expect(deltas(event)[0]).toEqual({ role: 'assistant', content })
  })

  test('says of the reply what every chunk says', () => {
    const chunks = encodeStream([start, text('a'), stop()], silent).slice(0, -1)
    const common = {
      id: 'chatcmpl-seed-0001',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: 'served',
    }
    for (const chunk of chunks) expect(JSON.parse(chunk)).toMatchObject(common)
    for (const model of ['"delta":{}', '\n\ud800', '{"choices":[{"delta":{}}]}']) {
      const named = encodeStream([{ type: 'start', model }, text('"delta":{}'), stop()], silent).slice(0, -1)
      expect(named.map((chunk) => JSON.parse(chunk).model)).toEqual([model, model, model])
    }
    const unnamed = encodeStream([{ type: 'start' }, text('a')], silent)
    expect(JSON.parse(unnamed[0] ?? '')).toMatchObject({ model: 'seed-model' })
  })
})

describe('reasoning', () => {
  const opaque: Opaque = {
    vendor: 'openai',
    provider: 'codex',
    family: 'gpt-6',
    form: 'encrypted_content',
    id: 'rs_1',
    value: 'ENC',
  }

  test('is readable text and a sealed value', () => {
    const [, thought, signed, said] = deltas(
      think('T'),
      { type: 'think.sign', slot: 0, opaque },
      close(0),
      text('a', 1),
    )
    expect([thought, said]).toEqual([{ reasoning_text: 'T', reasoning_content: 'T' }, { content: 'a' }])
    expect(openOpaque((signed as { reasoning_opaque: string }).reasoning_opaque)).toEqual(opaque)
  })

  test('is what the caller may leave out, once there are calls', () => {
    const sign: TurnEvent = { type: 'think.sign', slot: 0, opaque }
    const events = [start, think('T'), sign, close(0), tool(1, 'call_a'), tool(2, 'call_b'), stop('tool_calls')]
    const stream = dialects.chat.createTurnStream(silent)
    const sent = events.map((event) => stream.push(event)).join('')
    const folded = dialects.chat.createTurnFold(silent)
    for (const event of events) folded.push(event)
    const said = remembered(stream).reasoning
    expect(said).toEqual({ callIds: ['call_a', 'call_b'], opaque: expect.stringMatching(/^cpx1\./) })
    expect(sent).toContain(`"reasoning_opaque":"${said?.opaque}"`)
    expect(remembered(folded).reasoning).toEqual(said)
  })

  test('is in the body under the same keys', () => {
    expect(
      encodeFold([start, think('T'), think('U'), { type: 'think.sign', slot: 0, opaque }, text('a', 1), stop()]),
    ).toMatchObject({
      choices: [
        {
          message: {
            content: 'a',
            reasoning_text: 'TU',
            reasoning_content: 'TU',
            reasoning_opaque: expect.stringMatching(/^cpx1\./),
          },
        },
      ],
    })
  })
})

describe('calls', () => {
  test('are counted in the order they open', () => {
    expect(deltas(text('a', 0), tool(3, 'x'), tool(1, 'y'), args(1, '{'), args(3, '[')).slice(2)).toEqual([
      { tool_calls: [{ index: 0, id: 'x', type: 'function', function: { name: 'get', arguments: '' } }] },
      { tool_calls: [{ index: 1, id: 'y', type: 'function', function: { name: 'get', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '[' } }] },
    ])
  })

  test('of freeform tools take any text, and none', () => {
    const patch: TurnEvent = { type: 'tool.open', slot: 0, id: 'x', name: 'patch', kind: 'custom' }
    expect(
      deltas(patch, args(0, '***'), close(0), { ...patch, slot: 1, id: 'y' }, close(1), stop('tool_calls')).slice(1),
    ).toEqual([
      { tool_calls: [{ index: 0, id: 'x', type: 'custom', custom: { name: 'patch', input: '' } }] },
      { tool_calls: [{ index: 0, custom: { input: '***' } }] },
      { tool_calls: [{ index: 1, id: 'y', type: 'custom', custom: { name: 'patch', input: '' } }] },
      {},
      '[DONE]',
    ])
  })

  test('that were cut get no arguments made up', () => {
    expect(deltas(tool(0, 'x'), stop('max_tokens')).slice(2)).toEqual([{}, '[DONE]'])
  })
})

const citation = (slot: number, rest: object): TurnEvent => ({
  type: 'citation',
  slot,
  citation: { url: 'u', title: 't', ...rest },
})
const annotation = (start_index: number, end_index: number) => ({
  type: 'url_citation',
  url_citation: { url: 'u', title: 't', start_index, end_index },
})

test('citations count from the start of the whole text', () => {
  const events = [text('abc', 0), text('def', 2), citation(2, { start: 1, end: 2 }), citation(2, {})]
  expect(deltas(...events).slice(3)).toEqual([{ annotations: [annotation(4, 5)] }, { annotations: [annotation(6, 6)] }])
  expect(encodeFold([start, ...events, stop()])).toMatchObject({
    choices: [{ message: { content: 'abcdef', annotations: [annotation(4, 5), annotation(6, 6)] } }],
  })
})

test('log probabilities stay with their piece', () => {
  const logprobs = [{ token: 'a' }]
  const [, piece] = shown(encodeStream([start, { type: 'text.delta', slot: 0, text: 'a', logprobs }], silent))
  expect(piece).toEqual({
    choices: [
      { index: 0, delta: { content: 'a' }, logprobs: { content: logprobs, refusal: null }, finish_reason: null },
    ],
  })
  expect(encodeFold([start, { type: 'text.delta', slot: 0, text: 'a', logprobs }, stop()])).toMatchObject({
    choices: [{ logprobs: { content: logprobs, refusal: null } }],
  })
})

test('a search says nothing of its own', () => {
  expect(deltas({ type: 'search', slot: 0, id: 'ws_1', query: 'q' }, stop()).slice(1)).toEqual([{}, '[DONE]'])
})

const counted = (inputTokens: number) => ({ inputTokens, cachedInputTokens: 0, outputTokens: 1 })

describe('the end', () => {
  test.each([
    ['end', 'stop'],
    ['stop_sequence', 'stop'],
    ['tool_calls', 'tool_calls'],
    ['max_tokens', 'length'],
    ['context_full', 'length'],
    ['content_filter', 'content_filter'],
    ['pause', 'length'],
    ['compaction', 'stop'],
  ] as const)('%s is %s', (reason, finish) => {
    expect(encodeFold([start, text('a'), stop(reason)])).toMatchObject({ choices: [{ finish_reason: finish }] })
  })

  test('has no usage where the caller wants none or upstream counted none', () => {
    expect(encodeStream([start, text('a'), usage, stop()], silent).join('')).not.toContain('usage')
    const uncounted = shown(encodeStream([start, text('a'), stop()]))
    expect(uncounted.slice(-2)).toEqual([
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null },
      '[DONE]',
    ])
    expect(encodeFold([start, text('a'), stop()])).not.toHaveProperty('usage')
    expect(encodeFold([start, text('a'), usage, stop()])).toHaveProperty('usage.total_tokens', 120)
  })

  test('takes counts known at the start where no others come, and the last of several', () => {
    const early: TurnEvent = { type: 'start', usage: counted(1) }
    expect(encodeFold([early, text('a'), stop()])).toHaveProperty('usage.prompt_tokens', 1)
    const later = [2, 3].map((tokens): TurnEvent => ({ type: 'usage', usage: counted(tokens) }))
    expect(encodeFold([early, ...later, stop()])).toHaveProperty('usage.prompt_tokens', 3)
  })
})

describe('whatever the events', { timeout: 60_000 }, () => {
  const piece = fc.string({ unit: 'binary', maxLength: 8 })
  const part = fc.oneof(
    fc.record({ kind: fc.constant('text' as const), pieces: fc.array(piece, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('think' as const), pieces: fc.array(piece, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('refusal' as const), pieces: fc.array(piece, { maxLength: 2 }) }),
    fc.record({
      kind: fc.constant('tool' as const),
      pieces: fc.constantFrom([], ['{"a"', ':1}'], ['{"b":"\\n"}'], ['', '{}']),
    }),
  )
  type Part = typeof part extends fc.Arbitrary<infer Value> ? Value : never

  function toEvents(parts: readonly Part[]): TurnEvent[] {
    const hasCall = parts.some(({ kind }) => kind === 'tool')
    return [
      start,
      ...parts.flatMap(({ kind, pieces }, slot): TurnEvent[] => [
        ...(kind === 'tool' ? [tool(slot, `call_${slot}`)] : []),
        ...pieces.map((each): TurnEvent =>
          kind === 'tool' ? args(slot, each) : { type: `${kind}.delta`, slot, text: each },
        ),
        close(slot),
      ]),
      usage,
      stop(hasCall ? 'tool_calls' : 'end'),
    ]
  }

  test('the body is what a caller would fold from the stream', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const events = toEvents(parts)
        const sent = encodeStream(events).map(dataEvent).join('')
        // What needs no repair is passed as it is, so its fold adds no repair of its own.
        expect(passOn([bytes(sent)]).text).toBe(sent)
        expect(asJson({ body: encodeFold(events) })).toEqual(asJson(fold([bytes(sent)])))
      }),
      { numRuns: 500 },
    )
  })

  test("openai's own helper makes the same body of the stream", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 6 }), async (parts) => {
        const events = toEvents(parts)
        const sent = dialects.chat.createTurnStream(seedOf({ usage: true }))
        const theirs = await readByOpenAi(events.map((event) => sent.push(event)).join(''))
        const body = encodeFold(events)
        const ours = choiceOf(body)
        expect(body).toMatchObject({ usage: theirs.usage })
        expect(theirs.choices[0]?.finish_reason).toBe(ours.finish_reason)
        expect(theirs.choices[0]?.message.content || null).toBe(ours.message.content || null)
        expect(theirs.choices[0]?.message.refusal || null).toBe(ours.message.refusal)
        expect(theirs.choices[0]?.message.tool_calls).toEqual(ours.message.tool_calls)
      }),
      { numRuns: 200 },
    )
  })
})

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Of content in parts a Turn keeps the text, of a call in the old way a call. */
const keptOtherwise = new Set(['content-parts', 'quirk-09-function-call'])

test.each(streamNames.filter((name) => !keptOtherwise.has(name)))(
  '%s is the same answer with a Turn in between',
  (name) => {
    const { events, fault } = decodeStream([bytes(readStream(name))])
    const passed = fold([bytes(readStream(name))])
    expect(fault).toEqual(passed.fault)
    if (fault !== undefined) return
    const there = answerIn(passed.body)
    expect(answerIn(encodeFold(events))).toEqual(there)
  },
)

/** What a chat client acts on. */
function answerIn(body: unknown) {
  const { message, finish_reason: finish } = choiceOf(body)
  const { tool_calls: calls = [], ...rest } = message
  const keys = ['reasoning_text', 'reasoning_content', 'thinking', 'cot_summary'] as const
  return {
    finish,
    content: rest.content || null,
    refusal: rest.refusal,
    calls: calls.map(shownCall),
    reasoning: keys.map((key) => rest[key]).find((thought) => thought !== undefined),
    usage: JSON.stringify(body).includes('"prompt_tokens"'),
  }
}

/** White space before the arguments of a call is nothing that they say. */
function shownCall(call: OpenAI.ChatCompletionMessageToolCall) {
  const { id } = call
  return call.type === 'custom'
    ? { id, ...call.custom }
    : { id, name: call.function.name, arguments: call.function.arguments.trim() }
}

interface Choice {
  readonly finish_reason: string
  readonly message: OpenAI.ChatCompletionMessage & { readonly [extra: string]: unknown }
}

/** The one choice of a body, as JSON. Read as what it should be: a wrong shape fails the assertions. */
function choiceOf(body: unknown): Choice {
  return JSON.parse(JSON.stringify(body)).choices[0]
}

async function readByOpenAi(sse: string): Promise<OpenAI.ChatCompletion> {
  const client = new OpenAI({
    apiKey: 'example',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(sse, { headers: { 'content-type': 'text/event-stream' } })),
  })
  return client.chat.completions.stream({ model: 'any', messages: [] }).finalChatCompletion()
}
