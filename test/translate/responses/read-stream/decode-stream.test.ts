import { responsesDialect } from '../../../../src/translate/responses/dialect.ts'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { TurnEvent } from '../../../../src/translate/turn.ts'
import { replySeed, traits } from '../../turns.ts'
import { decode, readStream, seed, toStream } from '../fixture-streams.ts'
import type { Json } from '../fixture-streams.ts'

/** What upstream sends in a worked case. */
function worked(id: string): Json {
  return JSON.parse(readFileSync(new URL(`../../../fixtures/worked/${id}.json`, import.meta.url), 'utf8')).in
}

const without = (events: readonly TurnEvent[], ...types: string[]) => events.filter(({ type }) => !types.includes(type))

const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } }
const done = (output_index: number, item: object) => ({ type: 'response.output_item.done', output_index, item })

describe('worked cases', () => {
  test('01 and 02: parallel calls that interleave keep their slots', () => {
    expect(decode(toStream(worked('01'))).events).toEqual([
      { type: 'start', model: 'gpt-5-mini' },
      { type: 'tool.open', slot: 0, id: 'call_a', name: 'get', kind: 'function' },
      { type: 'tool.open', slot: 1, id: 'call_b', name: 'get', kind: 'function' },
      { type: 'tool.args', slot: 1, text: '{"c":"B"}' },
      { type: 'tool.args', slot: 0, text: '{"c":' },
      { type: 'part.close', slot: 1 },
      { type: 'tool.args', slot: 0, text: '"A"}' },
      { type: 'part.close', slot: 0 },
      {
        type: 'usage',
        usage: {
          inputTokens: 100,
          cachedInputTokens: 60,
          cacheWriteTokens: 10,
          outputTokens: 20,
          reasoningTokens: 5,
        },
      },
      { type: 'stop', reason: 'tool_calls' },
    ])
  })

  test('08: items that only the final event has are emitted whole; parts of a summary are one thought', () => {
    const from = replySeed(traits('gpt-6-sol', { vendor: 'OpenAI' }))
    const { events } = decode(toStream([{ type: 'response.completed', response: worked('08') }]), from)
    expect(events).toEqual([
      { type: 'start', model: 'gpt-6-sol' },
      { type: 'think.delta', slot: 0, text: 'S1' },
      { type: 'think.delta', slot: 0, text: '\n\nS2' },
      {
        type: 'think.sign',
        slot: 0,
        opaque: { vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', id: 'rs_9', value: 'ENC9' },
      },
      { type: 'part.close', slot: 0 },
      { type: 'text.delta', slot: 1, text: 'Hi' },
      { type: 'part.close', slot: 1 },
      {
        type: 'usage',
        usage: { inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 7, reasoningTokens: 4 },
      },
      { type: 'stop', reason: 'end' },
    ])
  })

  test('13: a refusal is text of the model, and a normal end', () => {
    expect(decode(toStream(worked('13'))).events.slice(1)).toEqual([
      { type: 'refusal.delta', slot: 0, text: "I can't help." },
      { type: 'part.close', slot: 0 },
      { type: 'stop', reason: 'end' },
    ])
  })

  test('15: a call that the token limit cut is reported, and is not executed', () => {
    expect(decode(toStream(worked('15'))).events.slice(1)).toEqual([
      { type: 'tool.open', slot: 0, id: 'call_1', name: 'write', kind: 'function' },
      { type: 'tool.args', slot: 0, text: '{"path":"/a' },
      { type: 'part.close', slot: 0 },
      { type: 'stop', reason: 'max_tokens' },
    ])
  })

  test('16: bytes that are cut inside a character and a line end', () => {
    const { chunks_hex: hex, then_deltas_escaped: halves } = worked('16')
    const chunks: Uint8Array[] = hex.map((chunk: string) => Buffer.from(chunk, 'hex'))
    for (const half of halves) {
      chunks.push(
        Buffer.from(
          `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":"${half}"}\n\n`,
        ),
      )
    }
    const { events } = decode(chunks)
    const texts = events.flatMap((event) => (event.type === 'text.delta' ? event.text : []))
    expect(texts).toEqual(['hé 😀', '\ud83d', '\ude00'])
  })

  test('24: a call without arguments has no piece at all', () => {
    const { events } = decode(toStream([done(0, { ...worked('24'), id: 'fc_1' }), completed]))
    expect(events.slice(1)).toEqual([
      { type: 'tool.open', slot: 0, id: 'call_1', name: 'now', kind: 'function' },
      { type: 'part.close', slot: 0 },
      { type: 'stop', reason: 'tool_calls' },
    ])
  })

  test('26: a failure after output keeps what came before it', () => {
    const { events, fault } = decode(toStream(worked('26')))
    expect(events.at(-1)).toEqual({ type: 'text.delta', slot: 0, text: 'He' })
    expect(fault).toEqual({
      kind: 'upstream_status',
      status: 503,
      code: 'server_is_overloaded',
      message: 'Overloaded',
    })
  })

  test('26: a failure before any output comes after the start alone, which says nothing', () => {
    const { events, fault } = decode(readStream('failed-at-once'))
    expect(events.map(({ type }) => type)).toEqual(['start'])
    expect(fault).toMatchObject({ status: 429 })
  })

  test('32: a search that upstream ran, and what it cites', () => {
    const { upstream_item: item, upstream_text: text } = worked('32')
    const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [text] }
    const usage = { input_tokens: 1, output_tokens: 2 }
    const final = { ...completed, response: { ...completed.response, usage } }
    expect(decode(toStream([done(0, item), done(1, message), final])).events.slice(1)).toEqual([
      { type: 'search', slot: 0, id: 'ws_1', query: 'q' },
      { type: 'part.close', slot: 0 },
      { type: 'text.delta', slot: 1, text: 'See A' },
      { type: 'citation', slot: 1, citation: { url: 'https://e.x/a', title: 'A', start: 4, end: 5 } },
      { type: 'part.close', slot: 1 },
      {
        type: 'usage',
        usage: {
          inputTokens: 1,
          cachedInputTokens: 0,
          cacheWriteTokens: 0,
          outputTokens: 2,
          reasoningTokens: 0,
          searches: 1,
        },
      },
      { type: 'stop', reason: 'end' },
    ])
  })
})

describe('reasoning', () => {
  test('takes the ciphertext and the id beside it from the event that ends the item', () => {
    const { events } = decode(readStream('quirk-01-changing-ids'))
    const lines = readStream('quirk-01-changing-ids').split('\n')
    const last = lines.find((line) => line.includes('response.output_item.done') && line.startsWith('data: '))
    const { item } = JSON.parse((last ?? '').slice('data: '.length))
    const signed = events.find(({ type }) => type === 'think.sign')
    expect(signed).toMatchObject({ opaque: { id: item.id, value: item.encrypted_content } })
  })

  test.each([
    ['gpt-5.3-codex', 'OpenAI', { vendor: 'openai', family: 'gpt-5' }],
    ['claude-opus-4.8', 'Anthropic', { vendor: 'anthropic', family: 'claude' }],
    ['grok-4.5', 'xAI', { vendor: 'xai', family: 'grok' }],
    ['mai-code-1-flash', 'Microsoft', { vendor: 'unknown', family: '' }],
  ])('of %s belongs to %s', (id, vendor, opaque) => {
    const { events } = decode(readStream('quirk-03-empty-summary'), replySeed(traits(id, { vendor })))
    expect(without(events, 'start')[0]).toMatchObject({ type: 'think.sign', opaque })
  })

  test('as readable text is a thought too', () => {
    expect(decode(readStream('reasoning-text')).events).toContainEqual({ type: 'think.delta', slot: 0, text: 'think' })
  })
})

describe('calls', () => {
  test('keep their namespace', () => {
    expect(decode(readStream('parallel-tools')).events[1]).toMatchObject({ name: 'get', namespace: 'weather' })
  })

  test('of custom tools are plain text', () => {
    const { events } = decode(readStream('custom-tool'))
    expect(events[1]).toMatchObject({ type: 'tool.open', id: 'call_p', name: 'apply_patch', kind: 'custom' })
    expect(events.flatMap((event) => (event.type === 'tool.args' ? event.text : [])).join('')).toBe(
      '*** Begin Patch\n+"quoted"',
    )
    expect(events.at(-1)).toEqual({ type: 'stop', reason: 'tool_calls' })
  })

  test('that are fragments are no reason to run tools', () => {
    const cut = { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'n', arguments: '{"a', status: 'incomplete' }
    expect(decode(toStream([done(0, cut), completed])).events.at(-1)).toEqual({ type: 'stop', reason: 'end' })
  })
})

describe('the end', () => {
  test.each([
    ['max_output_tokens', 'max_tokens'],
    ['content_filter', 'content_filter'],
    ['max_messages', 'end'],
    ['steered', 'end'],
    ['a reason to come', 'end'],
  ])('of an incomplete response for %s is %s', (reason, stop) => {
    const final = { type: 'response.incomplete', response: { id: 'r', incomplete_details: { reason }, output: [] } }
    expect(decode(toStream([final])).events.at(-1)).toEqual({ type: 'stop', reason: stop })
  })

  test('is the end mark of upstream, whatever comes after', () => {
    const decoder = responsesDialect.upstream.createDecoder(seed)
    const push = (event: object) => decoder.push({ event: '', data: JSON.stringify(event) })
    expect(push(completed).at(-1)).toEqual({ type: 'stop', reason: 'end' })
    expect(push({ type: 'error', message: 'late' })).toEqual([])
    expect(decoder.push({ event: '', data: '[DONE]' })).toEqual([])
    expect(decoder.end()).toEqual([])
  })

  test('before the final event is a fault', () => {
    expect(decode(readStream('truncated')).fault).toEqual({ kind: 'upstream_truncated' })
    expect(decode('').fault).toEqual({ kind: 'upstream_truncated' })
  })

  test.each([
    [
      { type: 'error', code: 'context_length_exceeded', message: 'too long', param: null },
      { kind: 'upstream_status', status: 400 },
    ],
    [
      { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } },
      { kind: 'upstream_status', status: 429 },
    ],
    [{ type: 'error' }, { kind: 'upstream_failed' }],
    [{ error: { message: 'bare' } }, { kind: 'upstream_failed', message: 'bare' }],
    [
      { message: 'older shape', code: 'rate_limited' },
      { kind: 'upstream_status', status: 429 },
    ],
    [
      { type: 'response.failed', response: { error: { code: 'cyber_policy', message: 'no' } } },
      { kind: 'upstream_status', status: 400 },
    ],
    [{ type: 'response.failed' }, { kind: 'upstream_failed' }],
    [{ type: 'response.cancelled' }, { kind: 'upstream_failed', code: 'cancelled' }],
  ])('%j is a fault', (event, fault) => {
    expect(decode(`data: ${JSON.stringify(event)}\n\n`).fault).toMatchObject(fault)
  })

  test('an error that is not JSON becomes a fault with its text', () => {
    expect(decode('event: error\ndata: gateway went away\n\n').fault).toMatchObject({
      kind: 'upstream_failed',
      message: 'gateway went away',
    })
  })
})

test('token log probabilities come with the piece they are of', () => {
  expect(decode(readStream('logprobs')).events[1]).toMatchObject({
    type: 'text.delta',
    text: 'A',
    logprobs: [{ token: 'A' }],
  })
})

test('events and lines nothing is known of are left out and counted', () => {
  expect(decode(readStream('unknown-events')).skipped).toBe(2)
  expect(decode(readStream('lines')).skipped).toBe(2)
  expect(decode(readStream('text')).skipped).toBe(0)
})
