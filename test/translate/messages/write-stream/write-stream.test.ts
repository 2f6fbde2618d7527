import { messagesDialect } from '../../../../src/translate/messages/dialect.ts'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../../src/errors.ts'
import type { Opaque, TurnEvent, TurnStop, Usage } from '../../../../src/translate/turn.ts'
import { expectMatch } from '../../wire-match.ts'
import { decode as decodeBody } from '../caller-helpers.ts'
import { decode, encode, eventsOf, seed } from '../fixture-streams.ts'
import type { ReadEvent } from '../fixture-streams.ts'
import { bytes } from '../../fixture-folder.ts'

const start: TurnEvent = { type: 'start', model: 'gpt-6-sol' }
const stop = (reason: TurnStop = 'end'): TurnEvent => ({ type: 'stop', reason })
const text = (slot: number, words: string): TurnEvent => ({ type: 'text.delta', slot, text: words })
const think = (slot: number, words: string): TurnEvent => ({ type: 'think.delta', slot, text: words })
const sign = (slot: number, opaque: Opaque): TurnEvent => ({ type: 'think.sign', slot, opaque })
const close = (slot: number): TurnEvent => ({ type: 'part.close', slot })
const args = (slot: number, piece: string): TurnEvent => ({ type: 'tool.args', slot, text: piece })
const call = (slot: number, id: string, name = 'get'): TurnEvent => ({
  type: 'tool.open',
  slot,
  id,
  name,
  kind: 'function',
})
const usage = (counts: Partial<Usage>): TurnEvent => ({
  type: 'usage',
  usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, ...counts },
})
const search = (slot: number): TurnEvent => ({ type: 'search', slot, id: `ws_${slot}`, query: 'q' })
const cite = (slot: number, url: string): TurnEvent => ({ type: 'citation', slot, citation: { url, title: 'A' } })
/** Facts about a request with these members, for its reply. */
const notesOf = (body: object) => ({ ...seed.notes, caller: messagesDialect.replyNotes?.(decodeBody(body)) })
const hiddenThinking = { thinking: { type: 'adaptive', display: 'omitted' } }
const jsonFormat = { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }

const encrypted: Opaque = { vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', id: 'rs_9', value: 'ENC9' }

/** What a worked case says that a Messages caller gets. The cases are data of many shapes; each test knows its own. */
// oxlint-disable-next-line typescript/no-explicit-any -- as said above
function worked(id: string): any {
  return JSON.parse(readFileSync(new URL(`../../../fixtures/worked/${id}.json`, import.meta.url), 'utf8')).out
}

/** Type, index and what a delta says: enough to read the order of a stream. */
function outline(events: readonly ReadEvent[]): string[] {
  return events.map(({ type, index, content_block, delta }) => {
    const said = delta?.['text'] ?? delta?.['thinking'] ?? delta?.['partial_json'] ?? delta?.['signature']
    const parts = [type, index, content_block?.['type'], said]
    return parts.filter((part) => typeof part === 'string' || typeof part === 'number').join(' ')
  })
}

/** What becomes of a call's arguments that come in these pieces. */
function argue(...pieces: string[]) {
  const { events, body } = encode([
    call(0, 'call_1'),
    ...pieces.map((piece) => args(0, piece)),
    close(0),
    stop('tool_calls'),
  ])
  return { deltas: events.flatMap(({ delta }) => delta?.['partial_json'] ?? []), body }
}

describe('worked cases', () => {
  test('01: parallel calls that interleave come one after the other', () => {
    const { events, body } = encode([
      start,
      call(0, 'call_a'),
      call(1, 'call_b'),
      args(1, '{"c":"B"}'),
      args(0, '{"c":'),
      close(1),
      args(0, '"A"}'),
      close(0),
      usage({
        inputTokens: 100,
        cachedInputTokens: 60,
        cacheWriteTokens: 10,
        outputTokens: 20,
        reasoningTokens: 5,
      }),
      stop('tool_calls'),
    ])
    expectMatch(events, worked('01'))
    expect(body).toMatchObject({
      content: [
        { type: 'tool_use', id: 'call_a', input: { c: 'A' } },
        { type: 'tool_use', id: 'call_b', input: { c: 'B' } },
      ],
    })
  })

  test('08: reasoning with its seal, as a body', () => {
    const { body } = encode([
      start,
      think(0, 'S1\n\nS2'),
      sign(0, encrypted),
      close(0),
      text(1, 'Hi'),
      close(1),
      usage({ inputTokens: 10, cacheWriteTokens: 0, outputTokens: 7, reasoningTokens: 4 }),
      stop(),
    ])
    expectMatch(body, worked('08'))
  })

  test.each([
    [false, {}, 'end_turn', null],
    [true, jsonFormat, 'refusal', { type: 'refusal', category: null, explanation: null }],
  ] as const)(
    '13: words of refusal are text; a refusal only where JSON was asked for: %s',
    (_, body, stop_reason, stop_details) => {
      const turn: TurnEvent[] = [start, { type: 'refusal.delta', slot: 0, text: "I can't help." }, close(0), stop()]
      expect(encode(turn, { notes: notesOf(body) }).body).toMatchObject({
        content: [{ type: 'text', text: "I can't help." }],
        stop_reason,
        stop_details,
      })
    },
  )

  test('13: a call beside a refusal text is still executed', () => {
    const turn: TurnEvent[] = [
      { type: 'refusal.delta', slot: 0, text: 'No.' },
      close(0),
      call(1, 'call_1'),
      close(1),
      stop('tool_calls'),
    ]
    expect(encode(turn, { notes: notesOf(jsonFormat) }).body).toMatchObject({ stop_reason: 'tool_use' })
  })

  test('14: a filter is a refusal', () => {
    const counts = usage({ inputTokens: 5, outputTokens: 1 })
    const { body } = encode([start, text(0, 'Part'), close(0), counts, stop('content_filter')])
    expectMatch(body, worked('14'))
  })

  test('15: arguments that the cap cut stay a beginning in the stream and are closed in a body', () => {
    const turn = [start, call(0, 'call_1', 'write'), args(0, '{"path":"/a'), close(0), stop('max_tokens')]
    const { events, body } = encode(turn)
    expectMatch(events.slice(1), worked('15'))
    expect(body).toMatchObject({ content: [{ input: { path: '/a' } }], stop_reason: 'max_tokens' })
  })

  test('17: usage that comes last is in message_delta, without what the cache served', () => {
    const counts = usage({ inputTokens: 50, cachedInputTokens: 40, outputTokens: 2 })
    const { events } = encode([start, text(0, ''), text(0, 'ok'), counts, stop()])
    expectMatch(events, worked('17'))
  })

  test('18: the stop text that ended the answer is named', () => {
    const end: TurnEvent = { type: 'stop', reason: 'stop_sequence', stopSequence: 'END' }
    const { events } = encode([start, text(0, 'foo '), end])
    expectMatch(events.slice(2), worked('18'))
  })

  test('24: a call without arguments has no delta and an empty object', () => {
    const { events, body } = encode([start, call(0, 'call_1', 'now'), close(0), stop('tool_calls')])
    expect(events.filter(({ type }) => type === 'content_block_delta')).toEqual(worked('24').A_stream_deltas)
    expectMatch(body, { content: [worked('24').A] })
  })

  test('26: a failure after text leaves the text standing', () => {
    const stream = messagesDialect.createTurnStream(seed)
    expect(stream.push(start)).toBe('')
    expectMatch(eventsOf(stream.push(text(0, 'He'))).slice(-1), worked('26').A.slice(0, 1))
  })

  test('32: a search is a tool of the server and its result, which names the pages that were quoted', () => {
    const citation: TurnEvent = {
      type: 'citation',
      slot: 1,
      citation: { url: 'https://e.x/a', title: 'A', start: 4, end: 5 },
    }
    const { content, stop_reason, usage: counts } = worked('32')
    const { events, body } = encode([
      { type: 'search', slot: 0, id: 'ws_1', query: 'q' },
      close(0),
      text(1, 'See A'),
      citation,
      citation,
      close(1),
      stop(),
    ])
    const quotes = [content[2].citations[0], content[2].citations[0]]
    expectMatch(body, {
      content: [content[0], content[1], { ...content[2], citations: quotes }],
      stop_reason,
      usage: counts,
    })
    // In a stream the text is not held back until its citations are known.
    const lines = outline(events)
    expect(lines.slice(1, 6)).toEqual([
      'content_block_start 0 server_tool_use',
      'content_block_delta 0 {"query":"q"}',
      'content_block_stop 0',
      'content_block_start 1 text',
      'content_block_delta 1 See A',
    ])
    expect(lines.slice(-5)).toEqual([
      'content_block_stop 1',
      'content_block_start 2 web_search_tool_result',
      'content_block_stop 2',
      'message_delta',
      'message_stop',
    ])
    const result = events.find(({ content_block: block }) => block?.['type'] === 'web_search_tool_result')
    expectMatch(result?.content_block, content[1])
  })

  test('the result of a search comes before the next search, the next call and the end, and before no thought', () => {
    const first = [search(0), close(0), text(1, 'One'), cite(1, 'https://e.x/1'), close(1)]
    const second = [
      search(2),
      close(2),
      text(3, 'Two'),
      cite(3, 'https://e.x/2'),
      close(3),
      sign(4, encrypted),
      close(4),
    ]
    const called = encode([...first, ...second, call(5, 'call_1'), close(5), stop('tool_calls')])
    const started = called.events.flatMap(({ content_block: block }) => (block ? [String(block['type'])] : []))
    expect(started).toEqual([
      'server_tool_use',
      'text',
      'web_search_tool_result',
      'server_tool_use',
      'text',
      'web_search_tool_result',
      'thinking',
      'tool_use',
    ])
    expectMatch(called.body, {
      content: [
        { id: 'srvtoolu_ws_0' },
        { tool_use_id: 'srvtoolu_ws_0', content: [{ url: 'https://e.x/1' }] },
        { text: 'One' },
        { id: 'srvtoolu_ws_2' },
        { tool_use_id: 'srvtoolu_ws_2', content: [{ url: 'https://e.x/2' }] },
        { text: 'Two' },
        { type: 'thinking' },
        { type: 'tool_use' },
      ],
    })
    const ended = outline(encode([...first, ...second, stop()]).events)
    expect(ended.filter((line) => line.includes('thinking'))).toEqual([])
    expect(ended.slice(-4)).toEqual([
      'content_block_start 5 web_search_tool_result',
      'content_block_stop 5',
      'message_delta',
      'message_stop',
    ])
  })
})

describe('the beginning', () => {
  test('waits for the first event that says something, and echoes the name that was asked for', () => {
    const stream = messagesDialect.createTurnStream(seed)
    const known = { inputTokens: 30, cachedInputTokens: 10, outputTokens: 1 }
    expect(stream.push({ type: 'start', model: 'gpt-6-sol', usage: known })).toBe('')
    expect(stream.push(text(0, ''))).toBe('')
    expect(stream.push(close(0))).toBe('')
    const [first] = eventsOf(stream.push(text(1, 'a')))
    expect(first?.message).toEqual({
      id: 'msg_seed0001',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-6',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: {
        input_tokens: 20,
        cache_read_input_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_creation: null,
        output_tokens: 1,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: null,
        speed: null,
        inference_geo: null,
      },
    })
  })

  test('does not wait for thoughts to be shown', () => {
    const stream = messagesDialect.createTurnStream({ ...seed, notes: notesOf(hiddenThinking) })
    expect(outline(eventsOf(stream.push(think(0, 'secret'))))).toEqual(['message_start'])
  })

  test('of an answer without any part comes with its end', () => {
    const { events, body } = encode([start, stop()])
    expect(outline(events)).toEqual(['message_start', 'message_delta', 'message_stop'])
    expect(body).toMatchObject({ content: [], stop_reason: 'end_turn' })
  })
})

describe('thoughts', () => {
  const signature = 'cpx1.eyJwIjoib3BlbmFpIiwibSI6ImdwdC02IiwiaWQiOiJyc185IiwiZWMiOiJFTkM5In0'

  test('are signed once, last', () => {
    const other: Opaque = { ...encrypted, value: 'first' }
    const { events } = encode([sign(0, other), think(0, 'a'), sign(0, encrypted), think(0, 'b'), close(0), stop()])
    expect(outline(events).slice(1, -2)).toEqual([
      'content_block_start 0 thinking',
      'content_block_delta 0 a',
      'content_block_delta 0 b',
      `content_block_delta 0 ${signature}`,
      'content_block_stop 0',
    ])
  })

  test('without a text keep their seal', () => {
    expect(encode([sign(0, encrypted), close(0), stop()]).body).toMatchObject({
      content: [{ type: 'thinking', thinking: '', signature }],
    })
  })

  test('without a seal have an empty signature', () => {
    expect(encode([think(0, 'a'), close(0), stop()]).body).toMatchObject({
      content: [{ type: 'thinking', thinking: 'a', signature: '' }],
    })
  })

  test.each([
    ['signed', [sign(2, encrypted)]],
    ['thought', [think(2, 'So'), think(2, ' it was')]],
    ['thought and signed', [think(2, 'So'), sign(2, encrypted), close(2), sign(3, encrypted)]],
  ])('that are %s when the text is over do not take the end of the answer from it', (_what, late) => {
    const { events } = encode([start, think(0, 'Hm'), text(1, 'Hi'), ...late, stop()])
    expect(outline(events).filter((line) => line.startsWith('content_block_start'))).toEqual([
      'content_block_start 0 thinking',
      'content_block_start 1 text',
    ])
  })

  test('that come between the text and a call stay between them', () => {
    const late = [think(1, 'So'), sign(1, encrypted), close(1), sign(2, encrypted)]
    const { body } = encode([start, text(0, 'Hi'), ...late, call(3, 'call_1'), stop('tool_calls')])
    expect(body).toMatchObject({
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'thinking', thinking: 'So', signature: expect.stringMatching(/^cpx1\./) },
        { type: 'thinking', thinking: '', signature: expect.stringMatching(/^cpx1\./) },
        { type: 'tool_use', id: 'call_1' },
      ],
    })
  })

  test('that are not to be shown are sealed without their text, or left out', () => {
    const turn = [think(0, 'secret'), sign(0, encrypted), close(0), think(1, 'secret'), close(1), text(2, 'a'), stop()]
    const { text: wire, body } = encode(turn, { notes: notesOf(hiddenThinking) })
    expect(wire).not.toContain('secret')
    expect(body).toMatchObject({
      content: [{ type: 'thinking', thinking: '', signature }, { type: 'text' }],
    })
  })

  test('that were redacted elsewhere are redacted here', () => {
    const opaque: Opaque = { vendor: 'anthropic', family: 'claude', form: 'redacted', value: 'abc' }
    const data = expect.stringMatching(/^cpa1\./)
    expect(encode([sign(0, opaque), close(0), stop()]).body).toMatchObject({
      content: [{ type: 'redacted_thinking', data }],
    })
  })
})

describe('arguments', () => {
  test.each<[string, string[], string[], unknown]>([
    ['pieces go on as they come', ['{"a"', ':[1,', '2]}'], ['{"a"', ':[1,', '2]}'], { a: [1, 2] }],
    ['what follows the object is dropped', ['{"a":1}\n{"b"', ':2}'], ['{"a":1}'], { a: 1 }],
    ['space before it is dropped', [' \n', ' {}'], ['{}'], {}],
    [
      'line ends in strings become escapes',
      ['{"a":"x\ny', '\t\u0001"}'],
      ['{"a":"x\\ny', '\\t\\u0001"}'],
      { a: 'x\ny\t\u0001' },
    ],
    ['what is no object is put into one', ['ls ', '-la'], ['{"input":"ls -la"}'], { input: 'ls -la' }],
    ['a list is put into one', ['[1,2]'], ['{"input":"[1,2]"}'], { input: '[1,2]' }],
    ['null means none', [' nu', 'll'], [], {}],
    ['only whitespace means none', ['  \n'], [], {}],
  ])('%s', (_title, pieces, deltas, input) => {
    const argued = argue(...pieces)
    expect(argued.deltas).toEqual(deltas)
    expect(argued.body).toMatchObject({ content: [{ type: 'tool_use', input }] })
  })

  test.each([['{"a":undefined}'], ["{'a':1}"], ['{"a":1,}'], ['{"a":01}'], ['{"a":"\\x"}'], ['{"a":[1}'], ['{"a":1]']])(
    'that stop being JSON fail the reply: %s',
    (broken) => {
      expect(() => argue(...Array.from(broken))).toThrow(Fault)
    },
  )

  test('of brackets without end fail the reply', () => {
    expect(() => argue('{"a":', '['.repeat(100_000))).toThrow(Fault)
  })

  test('of a tool that takes any text are that text, in an object', () => {
    const open: TurnEvent = { type: 'tool.open', slot: 0, id: 'call_1', name: 'sh', kind: 'custom' }
    const { body } = encode([
      open,
      args(0, 'say "hi"\n'),
      args(0, '\ud83d'),
      args(0, '\ude00'),
      close(0),
      stop('tool_calls'),
    ])
    expect(body).toMatchObject({ content: [{ input: { input: 'say "hi"\n😀' } }] })
  })
})

describe('the end', () => {
  test.each<[TurnStop, string]>([
    ['end', 'end_turn'],
    ['stop_sequence', 'stop_sequence'],
    ['max_tokens', 'max_tokens'],
    ['context_full', 'model_context_window_exceeded'],
    ['content_filter', 'refusal'],
    ['pause', 'pause_turn'],
    ['compaction', 'end_turn'],
    // Without a call there is nothing to run.
    ['tool_calls', 'end_turn'],
  ])('%s is %s', (reason, stop_reason) => {
    expect(encode([text(0, 'a'), stop(reason)]).body).toMatchObject({ stop_reason, stop_sequence: null })
  })

  test.each([
    ['cyber', 'cyber'],
    ['a new one', null],
  ])('a refusal for %s has the category %s', (category, known) => {
    const { body } = encode([{ type: 'stop', reason: 'content_filter', detail: { category, explanation: 'why' } }])
    expect(body).toMatchObject({ stop_details: { type: 'refusal', category: known, explanation: 'why' } })
  })

  test('flushes and closes whatever is still open or waiting, in order', () => {
    const { events } = encode([text(0, 'a'), call(1, 'call_1'), args(1, '{}'), think(2, 'b'), text(3, 'c'), stop()])
    expect(outline(events).slice(1, -2)).toEqual([
      'content_block_start 0 text',
      'content_block_delta 0 a',
      'content_block_stop 0',
      'content_block_start 1 tool_use',
      'content_block_delta 1 {}',
      'content_block_stop 1',
      'content_block_start 2 thinking',
      'content_block_delta 2 b',
      'content_block_stop 2',
      'content_block_start 3 text',
      'content_block_delta 3 c',
      'content_block_stop 3',
    ])
  })

  test('counts nothing that upstream did not count', () => {
    const { events, body } = encode([text(0, 'a'), stop()])
    expect(events.at(-2)?.usage).toEqual({
      input_tokens: null,
      cache_read_input_tokens: null,
      cache_creation_input_tokens: null,
      output_tokens: 0,
      output_tokens_details: null,
      server_tool_use: null,
    })
    expect(body).toMatchObject({ usage: { input_tokens: 0, output_tokens: 0 } })
  })

  test('never counts less than no input', () => {
    const counts = usage({ inputTokens: 5, cachedInputTokens: 9 })
    expect(encode([counts, stop()]).body).toMatchObject({ usage: { input_tokens: 0, cache_read_input_tokens: 9 } })
  })

  test('is the end: nothing follows it', () => {
    const stream = messagesDialect.createTurnStream(seed)
    stream.push(stop())
    expect(stream.push(text(0, 'late')) + stream.push(stop())).toBe('')
  })

  test('leaves the events as they were', () => {
    const turn = [start, text(0, 'a'), call(1, 'call_1'), args(1, '{"a":1}'), close(0), close(1), stop('tool_calls')]
    const before = structuredClone(turn)
    const fold = messagesDialect.createTurnFold(seed)
    for (const event of turn) fold.push(event)
    fold.body()
    expect(turn).toEqual(before)
  })
})

test('a native stream that is decoded and written again says the same', () => {
  const turn = [think(0, 'T'), text(1, 'Hi'), call(2, 'toolu_1'), args(2, '{"a":1}'), stop('tool_calls')]
  const written = encode(turn)
  const again = encode(decode([bytes(written.text)]).events)
  expect(outline(again.events)).toEqual(outline(written.events))
})

describe('thinking that the caller did not ask for', () => {
  const parts = { notes: notesOf({ thinking: { type: 'disabled' } }) }
  const signed = [start, sign(0, encrypted), close(0), text(1, 'Hi'), close(1)]
  const typesOf = (turn: readonly TurnEvent[]) =>
    encode(turn, parts).events.flatMap(({ content_block: block }) => (block === undefined ? [] : [block['type']]))

  test('is left out of a plain answer if it has no text', () => {
    expect(typesOf([...signed, stop()])).toEqual(['text'])
  })

  test('comes right before the first call if it has no text', () => {
    expect(typesOf([...signed, call(2, 'call_1'), stop('tool_calls')])).toEqual(['text', 'thinking', 'tool_use'])
  })

  test('is shown where it comes if it has text', () => {
    expect(typesOf([start, think(0, 'Hm'), ...signed.slice(1), stop()])).toEqual(['thinking', 'text'])
  })
})
