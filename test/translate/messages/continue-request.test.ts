import { describe, expect, test } from 'vitest'
import type { EncodedRequest, ReplyNotes } from '../../../src/translate/dialect.ts'
import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import { createEventReply } from '../../../src/translate/reply.ts'
import type { TurnEvent } from '../../../src/translate/turn.ts'
import { seed } from './fixture-streams.ts'

type Json = Readonly<Record<string, unknown>>

const prompt = { role: 'user', content: 'Look it up' }
const found = {
  type: 'web_search_result',
  url: 'https://e.com',
  title: 'E',
  encrypted_content: 'CIPHER',
  page_age: null,
}
const result = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] }

function requestOf(messages: readonly unknown[], rest: Json = {}): EncodedRequest {
  const body = { model: 'claude-x', max_tokens: 10, messages, stream: true, ...rest }
  return { body: Buffer.from(JSON.stringify(body)), headers: { 'anthropic-beta': 'b' }, warnings: [] }
}

/** A block as its events. */
interface StreamedBlock {
  readonly start: Json
  readonly deltas: readonly Json[]
}

/** Says all at its start. */
const whole = (start: Json): StreamedBlock => ({ start, deltas: [] })
const text = (...pieces: string[]): StreamedBlock => ({
  start: { type: 'text', text: '' },
  deltas: pieces.map((piece) => ({ type: 'text_delta', text: piece })),
})
const thought = (words: string, signature?: string): StreamedBlock => ({
  start: { type: 'thinking', thinking: '', signature: '' },
  deltas: [
    { type: 'thinking_delta', thinking: words },
    ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
  ],
})
const search: StreamedBlock = {
  start: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {}, caller: { type: 'direct' } },
  deltas: ['', '{"que', 'ry":"q"}'].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
}

function eventsOf(blocks: readonly StreamedBlock[], reason: string, usage: Json = {}): readonly Json[] {
  return [
    {
      type: 'message_start',
      message: { id: 'msg_1', model: 'claude-x', usage: { input_tokens: 10, output_tokens: 1 } },
    },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 5, ...usage } },
    { type: 'message_stop' },
  ]
}

/** Reads one reply after the other as one answer. */
function reader(sent = requestOf([prompt])) {
  const notes: ReplyNotes = { ...seed.notes, upstream: { dialect: 'messages', request: sent } }
  const reply = createEventReply(messagesDialect.upstream, { ...seed, notes })
  return {
    read: (...events: readonly Json[]): readonly TurnEvent[] =>
      events.flatMap((event) => reply.push({ event: '', data: JSON.stringify(event) })),
    continuation: () => {
      const next = reply.continuation?.()?.request
      return next && { ...next, body: JSON.parse(next.body.toString('utf8')) }
    },
    skipped: reply.skipped,
    usage: reply.usage,
    end: reply.end,
  }
}

function lastWordsAfter(...blocks: readonly StreamedBlock[]): unknown {
  const { read, continuation } = reader()
  read(...eventsOf(blocks, 'pause_turn'))
  return continuation()?.body.messages.at(-1)
}

describe('the request that continues a paused answer', () => {
  test('is the answered request followed by the answer so far', () => {
    const sent = requestOf([prompt], { temperature: 1, tools: [{ name: 't' }] })
    const { read, continuation } = reader(sent)
    read(...eventsOf([text('So ', 'far.')], 'pause_turn'))
    expect(continuation()).toMatchObject({
      ...sent,
      body: {
        ...JSON.parse(sent.body.toString('utf8')),
        messages: [prompt, { role: 'assistant', content: [{ type: 'text', text: 'So far.' }] }],
      },
    })
  })

  test('has the blocks as they came', () => {
    const citation = { type: 'web_search_result_location', url: 'https://e.com', title: 'E', encrypted_index: 'I' }
    const cited = { ...text('Found.'), deltas: [...text('Found.').deltas, { type: 'citations_delta', citation }] }
    const redacted = { type: 'redacted_thinking', data: 'SECRET' }
    const other = { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_2', content: { stdout: '1' } }
    expect(lastWordsAfter(thought('Hm.', 'SIG'), search, whole(result), whole(redacted), cited, whole(other))).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'SIG' },
        { ...search.start, input: { query: 'q' } },
        result,
        redacted,
        { type: 'text', text: 'Found.', citations: [citation] },
        other,
      ],
    })
  })

  test('leaves out what a request may not hold', () => {
    expect(lastWordsAfter(text(), text(' \n'), thought('Unsigned.'), search)).toMatchObject({
      content: [{ type: 'server_tool_use' }],
    })
  })

  test('is undefined if the answer is empty', () => {
    expect(lastWordsAfter()).toBeUndefined()
    expect(lastWordsAfter(text(' '))).toBeUndefined()
  })

  test.each([
    ['text', 'Begun', [{ type: 'text', text: 'Begun' }]],
    ['blocks', [{ type: 'text', text: 'Begun' }], [{ type: 'text', text: 'Begun' }]],
    ['nothing', '', []],
  ])('goes on from an assistant’s message that has %s', (_, content, blocks) => {
    const { read, continuation } = reader(requestOf([prompt, { role: 'assistant', content }]))
    read(...eventsOf([text('So far.')], 'pause_turn'))
    expect(continuation()?.body.messages).toEqual([
      prompt,
      { role: 'assistant', content: [...blocks, { type: 'text', text: 'So far.' }] },
    ])
  })
})

describe('the reply of a paused answer', () => {
  test('reads the rest as more of the same', () => {
    const { read, continuation, skipped } = reader()
    const first = read(
      ...eventsOf([text('A'), search, whole(result)], 'pause_turn', {
        cache_read_input_tokens: 3,
        server_tool_use: { web_search_requests: 1 },
      }),
    )
    expect(first.at(-1)).toMatchObject({ type: 'usage' })
    expect(continuation()).toBeDefined()
    const tool = { type: 'tool_use', id: 'toolu_1', name: 'ls', input: {} }
    const usage = { cache_creation_input_tokens: 2, output_tokens_details: { thinking_tokens: 4 } }
    expect(read(...eventsOf([text('B'), whole(tool)], 'tool_use', usage))).toEqual([
      { type: 'text.delta', slot: 2, text: 'B' },
      { type: 'part.close', slot: 2 },
      { type: 'tool.open', slot: 3, id: 'toolu_1', name: 'ls', kind: 'function' },
      { type: 'part.close', slot: 3 },
      {
        type: 'usage',
        usage: {
          inputTokens: 10 + 3 + 10 + 2,
          cachedInputTokens: 3,
          cacheWriteTokens: 2,
          outputTokens: 10,
          reasoningTokens: 4,
          searches: 1,
        },
      },
      { type: 'stop', reason: 'tool_calls' },
    ])
    expect(skipped()).toBe(0)
  })

  test('adds up more than two, and takes what the pieces state', () => {
    const { read, continuation, usage } = reader()
    read(...eventsOf([text('A')], 'pause_turn'))
    continuation()
    read(...eventsOf([text('B')], 'pause_turn'))
    const third = continuation()?.body.messages
    // Without a word about usage.
    const end = read(
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'C' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    )
    expect(end).toMatchObject([
      { type: 'text.delta', slot: 2 },
      { type: 'part.close' },
      { type: 'stop', reason: 'end' },
    ])
    expect(usage()).toMatchObject({ inputTokens: 20, outputTokens: 10 })
    const content = ['A', 'B'].map((each) => ({ type: 'text', text: each }))
    expect(third).toEqual([prompt, { role: 'assistant', content }])
  })

  test('keeps what does not fit a block out of it', () => {
    const odd = { ...whole(result), deltas: [{ type: 'text_delta', text: 'lost' }] }
    expect(lastWordsAfter(odd)).toEqual({ role: 'assistant', content: [result] })
  })

  test('keeps nothing where the answer is not continued here', () => {
    const decoder = messagesDialect.upstream.createDecoder(seed)
    const tool = { type: 'tool_use', id: 'toolu_1', name: 'ls', input: {} }
    const events = eventsOf([text('A'), whole(tool)], 'pause_turn').flatMap((event) =>
      decoder.push({ event: '', data: JSON.stringify(event) }),
    )
    expect(events.at(-1)).toEqual({ type: 'stop', reason: 'pause' })
    expect(decoder.continuation).toBeUndefined()
  })

  test('wants an end of each of its replies', () => {
    const { read, continuation, end } = reader()
    read(...eventsOf([text('A')], 'pause_turn'))
    continuation()
    expect(end).toThrow('upstream_truncated')
  })

  test('is not asked beside calls that the caller has to answer first', () => {
    const { read } = reader()
    const tool = { type: 'tool_use', id: 'toolu_1', name: 'ls', input: {} }
    expect(read(...eventsOf([search, whole(tool)], 'pause_turn')).at(-1)).toEqual({
      type: 'stop',
      reason: 'tool_calls',
    })
  })
})
