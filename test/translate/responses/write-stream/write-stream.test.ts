import { responsesDialect } from '../../../../src/translate/responses/dialect.ts'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { decodeSummary } from '../../../../src/translate/responses/compaction.ts'
import { echoOf, emptyEcho } from '../../../../src/translate/responses/response-object.ts'
import type { Opaque, TurnEvent, TurnStop, Usage } from '../../../../src/translate/turn.ts'
import { mismatchOf } from '../../wire-match.ts'
import { type Json, encode, eventsOf, seed, seedWith } from '../fixture-streams.ts'
import { expectGrammar } from '../grammar.ts'
import { remembered } from '../../turns.ts'

const start: TurnEvent = { type: 'start', model: 'claude-opus-4.8' }
const stop = (reason: TurnStop = 'end'): TurnEvent => ({ type: 'stop', reason })
const text = (slot: number, words: string): TurnEvent => ({ type: 'text.delta', slot, text: words })
const think = (slot: number, words: string): TurnEvent => ({ type: 'think.delta', slot, text: words })
const sign = (slot: number, opaque: Opaque): TurnEvent => ({ type: 'think.sign', slot, opaque })
const close = (slot: number): TurnEvent => ({ type: 'part.close', slot })
const args = (slot: number, piece: string): TurnEvent => ({ type: 'tool.args', slot, text: piece })
const call = (slot: number, id: string, name = 'get', kind: 'function' | 'custom' = 'function'): TurnEvent => ({
  type: 'tool.open',
  slot,
  id,
  name,
  kind,
})
const usage = (counts: Partial<Usage>): TurnEvent => ({
  type: 'usage',
  usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, ...counts },
})
const signature: Opaque = { vendor: 'anthropic', family: 'claude', form: 'signature', value: 'SIG' }

/** What a worked case says that a Responses caller gets. */
function worked(id: string): Json {
  return JSON.parse(readFileSync(new URL(`../../../fixtures/worked/${id}.json`, import.meta.url), 'utf8')).out
}

const types = (events: readonly TurnEvent[]) =>
  encode(events).events.map(({ event }) => event.type.slice('response.'.length))

describe('worked cases', () => {
  test('30: thinking with its seal and a call without arguments', () => {
    const { events, body } = encode([
      start,
      think(0, 'T'),
      sign(0, signature),
      close(0),
      call(1, 'toolu_1', 'ls'),
      args(1, ''),
      close(1),
      usage({ inputTokens: 10, cachedInputTokens: 7, cacheWriteTokens: 0, outputTokens: 9 }),
      stop('tool_calls'),
    ])
    const expected = worked('30')
    expect(
      mismatchOf(
        events.map(({ event }) => event),
        expected,
      ),
    ).toBeUndefined()
    expect(mismatchOf(body, expected.at(-1).response)).toBeUndefined()
    expectGrammar(events)
  })

  test('13: a refusal is a part of its own', () => {
    const { events, body } = encode([
      start,
      { type: 'refusal.delta', slot: 0, text: "I can't help." },
      close(0),
      stop(),
    ])
    expectGrammar(events)
    expect(events.map(({ event }) => event.type)).toContain('response.refusal.done')
    expect(body.output).toMatchObject([{ content: [{ type: 'refusal', refusal: "I can't help." }] }])
    expect(body.status).toBe('completed')
  })

  test('24: empty arguments are an empty object', () => {
    const { body } = encode([start, call(0, 'call_1', 'now'), close(0), stop('tool_calls')])
    expect(mismatchOf(body.output, [worked('24').R])).toBeUndefined()
  })

  test('33: a custom tool’s input is plain text', () => {
    const { events, body } = encode([
      start,
      call(0, 'toolu_2', 'apply_patch', 'custom'),
      args(0, '*** '),
      args(0, 'Begin'),
      close(0),
      stop('tool_calls'),
    ])
    expectGrammar(events)
    expect(mismatchOf(body.output, [worked('33').to_caller])).toBeUndefined()
    expect(body.output[0].id).toMatch(/^ctc_cpx_/)
  })

  test('34: a call says its namespace', () => {
    const { body, events } = encode([
      start,
      { type: 'tool.open', slot: 0, id: 'c', name: 'list', namespace: 'gh', kind: 'function' },
      close(0),
      stop('tool_calls'),
    ])
    expect(body.output).toMatchObject([{ namespace: 'gh', name: 'list' }])
    expect(events[2]?.event.item).toMatchObject({ namespace: 'gh' })
  })

  test('32: a search and a citation', () => {
    const { events, body } = encode([
      start,
      { type: 'search', slot: 0, id: 'srvtoolu_1', query: 'q' },
      close(0),
      text(1, 'See A'),
      { type: 'citation', slot: 1, citation: { url: 'https://e.x/a', title: 'A', start: 4, end: 5 } },
      { type: 'citation', slot: 1, citation: { url: 'https://e.x/b', title: 'B' } },
      close(1),
      stop(),
    ])
    expectGrammar(events)
    expect(body.output).toMatchObject([
      { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
      {
        content: [
          {
            annotations: [
              { type: 'url_citation', url: 'https://e.x/a', title: 'A', start_index: 4, end_index: 5 },
              // Where upstream states no offsets: the text so far.
              { type: 'url_citation', url: 'https://e.x/b', title: 'B', start_index: 0, end_index: 5 },
            ],
          },
        ],
      },
    ])
  })
})

test('the echo of an unknown request equals that of an empty request', () => {
  expect(emptyEcho).toEqual(echoOf({ model: '' }))
})

describe('the opening', () => {
  test.each([
    ['the start', [start]],
    ['usage', [start, usage({ inputTokens: 3 })]],
    ['empty pieces', [start, text(0, ''), think(1, ''), args(2, ''), close(0)]],
  ] as const)('waits through %s', (_title, events) => {
    expect(encode([...events]).text).toBe('')
  })

  test('comes with the first word, as a response in progress', () => {
    const { events } = encode([start, text(0, 'H')])
    expect(events.map(({ event }) => event.type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
    ])
    expect(events[0]?.event.response).toMatchObject({
      id: 'resp_seed1',
      status: 'in_progress',
      model: 'claude-opus-4.8',
      created_at: seed.createdSeconds,
      output: [],
      usage: null,
    })
  })

  test('names the routed model where upstream names none', () => {
    expect(encode([{ type: 'start' }, stop()]).body.model).toBe(seed.model)
  })

  test('repeats the request, and never overrides members of the reply', () => {
    const echo = {
      ...echoOf({ model: 'x', temperature: 0.3, store: false }),
      id: 'evil',
      status: 'evil',
      output: 'evil',
    }
    const { body } = encode(
      [start, text(0, 'Hi'), close(0), stop()],
      seedWith({ caller: { dialect: 'responses', echo } }),
    )
    expect(body).toMatchObject({ temperature: 0.3, store: false, id: 'resp_seed1', status: 'completed' })
    expect(body.output).toHaveLength(1)
  })
})

describe('items', () => {
  test('are one for each slot, and text after a call is a new message', () => {
    const { body, events } = encode([
      start,
      text(0, 'a'),
      close(0),
      call(1, 'c1'),
      close(1),
      text(2, 'b'),
      close(2),
      stop('tool_calls'),
    ])
    expectGrammar(events)
    expect(body.output.map(({ type }: Json) => type)).toEqual(['message', 'function_call', 'message'])
  })

  test('may interleave', () => {
    const { events, body } = encode([
      start,
      call(0, 'a'),
      call(1, 'b'),
      args(1, '{"c":"B"}'),
      args(0, '{"c":'),
      close(1),
      args(0, '"A"}'),
      close(0),
      stop('tool_calls'),
    ])
    expectGrammar(events)
    expect(body.output).toMatchObject([
      { call_id: 'a', arguments: '{"c":"A"}', status: 'completed' },
      { call_id: 'b', arguments: '{"c":"B"}', status: 'completed' },
    ])
  })

  test('that are open at the end are closed', () => {
    expectGrammar(encode([start, think(0, 'x'), text(1, 'y'), call(2, 'c'), args(2, '{}'), stop('tool_calls')]).events)
  })

  test('of reasoning without text have an empty summary and their ciphertext', () => {
    const { body, events } = encode([start, sign(0, signature), close(0), stop()])
    expectGrammar(events)
    expect(body.output).toMatchObject([
      { type: 'reasoning', summary: [], encrypted_content: expect.stringMatching(/^cpa1\./) },
    ])
    expect(events[2]?.event.item).not.toHaveProperty('encrypted_content')
  })

  test('of reasoning have no text if the caller wants none', () => {
    const { body } = encode(
      [start, think(0, 'secret'), sign(0, signature), close(0), stop()],
      seedWith({ caller: { dialect: 'responses', hidesThinking: true } }),
    )
    expect(JSON.stringify(body)).not.toContain('secret')
    expect(body.output).toMatchObject([{ summary: [], encrypted_content: expect.any(String) }])
  })

  test('keep log probabilities', () => {
    const logprobs = [{ token: 'H', logprob: -0.5, bytes: [72], top_logprobs: [] }]
    const { body, events } = encode([start, { type: 'text.delta', slot: 0, text: 'H', logprobs }, close(0), stop()])
    expect(events.find(({ event }) => event.delta === 'H')?.event.logprobs).toEqual(logprobs)
    expect(body.output[0].content[0].logprobs).toEqual(logprobs)
  })

  test('make chat’s log probabilities their own', () => {
    const chat = [{ token: 'H', logprob: -0.5, bytes: null, top_logprobs: [{ token: 'h', logprob: -2 }, 7] }, 'odd']
    const { events } = encode([start, { type: 'text.delta', slot: 0, text: 'H', logprobs: chat }, stop()])
    expect(events.find(({ event }) => event.delta === 'H')?.event.logprobs).toEqual([
      { token: 'H', logprob: -0.5, bytes: [], top_logprobs: [{ token: 'h', logprob: -2, bytes: [] }] },
    ])
  })

  test('have ids of their own kind', () => {
    const { body } = encode([
      start,
      think(0, 'x'),
      close(0),
      text(1, 'y'),
      close(1),
      call(2, 'c'),
      close(2),
      call(3, 'd', 'p', 'custom'),
      close(3),
      { type: 'search', slot: 4, id: 's', query: 'q' },
      stop(),
    ])
    expect(body.output.map(({ id }: Json) => id)).toEqual([
      'rs_cpx_seed1',
      'msg_cpx_seed1_1',
      'fc_cpx_seed1_2',
      'ctc_cpx_seed1_3',
      'ws_cpx_seed1_4',
    ])
  })
})

describe('the end', () => {
  test.each<[TurnStop, string, unknown]>([
    ['end', 'completed', null],
    ['stop_sequence', 'completed', null],
    ['tool_calls', 'completed', null],
    ['compaction', 'completed', null],
    ['max_tokens', 'incomplete', { reason: 'max_output_tokens' }],
    ['pause', 'incomplete', { reason: 'max_output_tokens' }],
    ['context_full', 'incomplete', { reason: 'max_output_tokens' }],
    ['content_filter', 'incomplete', { reason: 'content_filter' }],
  ])('for %s is %s', (reason, status, details) => {
    const { events, body } = encode([start, text(0, 'Hi'), close(0), stop(reason)])
    expectGrammar(events)
    expect(events.at(-1)?.event.type).toBe(`response.${status}`)
    expect(body).toMatchObject({ status, incomplete_details: details, error: null })
    expect(body.output[0].status).toBe(status)
  })

  test('by a cap says which item was cut: the one still open', () => {
    const { body } = encode([start, text(0, 'a'), close(0), call(1, 'c'), args(1, '{"pa'), stop('max_tokens')])
    expect(body.output).toMatchObject([{ status: 'completed' }, { status: 'incomplete', arguments: '{"pa' }])
  })

  test('by a cap says which item was cut: the one closed last', () => {
    const { body } = encode([
      start,
      text(0, 'a'),
      close(0),
      call(1, 'c'),
      args(1, '{"pa'),
      close(1),
      stop('max_tokens'),
    ])
    expect(body.output).toMatchObject([{ status: 'completed' }, { status: 'incomplete' }])
  })

  test('of a call that was cut before its arguments leaves them empty', () => {
    expect(encode([start, call(0, 'c'), stop('max_tokens')]).body.output).toMatchObject([{ arguments: '' }])
  })

  test('has the counts as OpenAI counts, and none where upstream stated none', () => {
    const counts = usage({
      inputTokens: 10,
      cachedInputTokens: 7,
      cacheWriteTokens: 2,
      outputTokens: 9,
      reasoningTokens: 4,
    })
    expect(encode([start, text(0, 'a'), counts, stop()]).body.usage).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 7, cache_write_tokens: 2 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 19,
    })
    expect(encode([start, text(0, 'a'), stop()]).body.usage).toBeNull()
  })

  test('of an answer without text is still an answer', () => {
    expect(types([start, stop()])).toEqual(['created', 'in_progress', 'completed'])
  })

  test('leaves a record, and nothing follows it', () => {
    const { reply, folding, body } = encode([start, text(0, 'a'), close(0), stop()])
    expect(remembered(reply).record).toEqual({ id: 'resp_seed1', response: body })
    expect(remembered(folding).record).toEqual({ id: 'resp_seed1', response: body })
    expect(reply.push(text(1, 'late'))).toBe('')
    expect(reply.fail?.({ kind: 'internal' }, 'req-1')).toBe('')
  })

  test('no end mark is sent', () => {
    expect(encode([start, text(0, 'a'), stop()]).text).not.toContain('[DONE]')
  })
})

describe('a reply that fails', () => {
  test('after output ends with an error and the failed response, with what came so far', () => {
    const { reply, text: before } = encode([start, text(0, 'done'), close(0), text(1, 'half')])
    const events = eventsOf(before + (reply.fail?.({ kind: 'upstream_truncated' }, 'req-1') ?? ''))
    expectGrammar(events)
    expect(events.at(-2)?.event).toMatchObject({ type: 'error', code: 'upstream_truncated' })
    expect(events.at(-1)?.event.response).toMatchObject({
      id: 'resp_seed1',
      status: 'failed',
      error: { message: expect.stringContaining('is incomplete') },
      output: [
        { status: 'completed', content: [{ text: 'done' }] },
        { status: 'incomplete', content: [{ text: 'half' }] },
      ],
    })
    expect(remembered(reply).record).toBeUndefined()
    expect(reply.push(text(1, 'late'))).toBe('')
  })

  test('before output is opened first, for a stream that heartbeats have begun', () => {
    const reply = responsesDialect.createTurnStream(seed)
    expectGrammar(eventsOf(reply.fail?.({ kind: 'internal' }, 'req-1') ?? ''))
  })
})

describe('a reply that is to be a compaction', () => {
  const from = seedWith({ caller: { dialect: 'responses', echo: echoOf({ model: 'x' }), isCompaction: true } })

  test('is one compaction item with the answer as its summary', () => {
    const { events, body } = encode(
      [
        start,
        think(0, 'hm'),
        close(0),
        text(1, 'What was '),
        text(1, 'done.'),
        close(1),
        usage({ outputTokens: 2 }),
        stop(),
      ],
      from,
    )
    expectGrammar(events)
    expect(body.output).toHaveLength(1)
    expect(body.output[0]).toMatchObject({ type: 'compaction', id: expect.stringMatching(/^cmp_cpx_/) })
    expect(decodeSummary(body.output[0].encrypted_content)).toBe('What was done.')
    expect(body).toMatchObject({ status: 'completed', usage: { output_tokens: 2 } })
  })

  test('without a summary is no answer: a history would be lost', () => {
    const reply = responsesDialect.createTurnStream(from)
    expect(() => reply.push(stop())).toThrow(
      expect.objectContaining({ error: expect.objectContaining({ kind: 'upstream_unusable' }) }),
    )
  })

  test('that fails keeps nothing of it', () => {
    const { reply, text: before } = encode([start, text(0, 'What')], from)
    const events = eventsOf(before + (reply.fail?.({ kind: 'internal' }, 'req-1') ?? ''))
    expectGrammar(events)
    expect(events.at(-1)?.event.response.output).toEqual([])
  })
})
