import { messagesDialect } from '../../../../src/translate/messages/dialect.ts'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { TurnEvent, TurnStop } from '../../../../src/translate/turn.ts'
import { traits } from '../../turns.ts'
import { decode, seed, wireEvent } from '../fixture-streams.ts'
import { bytes } from '../../fixture-folder.ts'

const messageStart = { type: 'message_start', message: { id: 'msg_1', model: 'claude-x' } }
const messageStop = { type: 'message_stop' }
const blockStart = (index: number, content_block: unknown) => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, change: unknown) => ({ type: 'content_block_delta', index, delta: change })
const argumentsOf = (index: number, partial_json: string) => delta(index, { type: 'input_json_delta', partial_json })
const signature = (text: string) => delta(0, { type: 'signature_delta', signature: text })
const cite = (citation: unknown) => delta(0, { type: 'citations_delta', citation })
const blockStop = (index: number) => ({ type: 'content_block_stop', index })
const messageDelta = (stop_reason: unknown, usage?: unknown) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage,
})
const tool = { type: 'tool_use', id: 'toolu_1', name: 'ls', input: {} }

function decodeEvents(...events: unknown[]) {
  return decode([bytes(events.map(wireEvent).join(''))])
}

function stopOf(events: readonly TurnEvent[]): Extract<TurnEvent, { type: 'stop' }> | undefined {
  return events.findLast((event) => event.type === 'stop')
}

test('30: a native stream as a turn', () => {
  const { in: events } = JSON.parse(readFileSync(new URL('../../../fixtures/worked/30.json', import.meta.url), 'utf8'))
  expect(decodeEvents(...events)).toEqual({
    events: [
      {
        type: 'start',
        model: 'claude-x',
        usage: { inputTokens: 10, cachedInputTokens: 7, cacheWriteTokens: 0, outputTokens: 1 },
      },
      { type: 'think.delta', slot: 0, text: 'T' },
      {
        type: 'think.sign',
        slot: 0,
        opaque: { vendor: 'anthropic', family: 'claude', form: 'signature', value: 'SIG' },
      },
      { type: 'part.close', slot: 0 },
      { type: 'tool.open', slot: 1, id: 'toolu_1', name: 'ls', kind: 'function' },
      { type: 'part.close', slot: 1 },
      { type: 'usage', usage: { inputTokens: 10, cachedInputTokens: 7, cacheWriteTokens: 0, outputTokens: 9 } },
      { type: 'stop', reason: 'tool_calls' },
    ],
    skipped: 0,
  })
})

describe('why it stopped', () => {
  test.each<[unknown, TurnStop, TurnStop]>([
    // The reason, what it means alone, and what beside a call.
    ['end_turn', 'end', 'tool_calls'],
    ['tool_use', 'end', 'tool_calls'],
    ['a reason of tomorrow', 'end', 'tool_calls'],
    ['__proto__', 'end', 'tool_calls'],
    ['max_tokens', 'max_tokens', 'max_tokens'],
    ['model_context_window_exceeded', 'context_full', 'context_full'],
    ['refusal', 'content_filter', 'content_filter'],
    ['stop_sequence', 'stop_sequence', 'stop_sequence'],
    ['pause_turn', 'pause', 'pause'],
    ['compaction', 'compaction', 'compaction'],
  ])('%s is %s, beside a call %s', (reason, alone, besideCall) => {
    const end = [messageDelta(reason), messageStop]
    expect(stopOf(decodeEvents(messageStart, ...end).events)?.reason).toBe(alone)
    const withCall = decodeEvents(messageStart, blockStart(0, tool), blockStop(0), ...end)
    expect(stopOf(withCall.events)?.reason).toBe(besideCall)
  })

  test('upstream need not say', () => {
    expect(stopOf(decodeEvents(messageStart, messageStop).events)).toEqual({ type: 'stop', reason: 'end' })
  })

  test('a search of its own is no call', () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } }
    const { events } = decodeEvents(blockStart(0, search), blockStop(0), messageDelta('tool_use'), messageStop)
    expect(events).toContainEqual({ type: 'search', slot: 0, id: 'srvtoolu_1', query: 'q' })
    expect(stopOf(events)?.reason).toBe('end')
  })
})

describe('usage', () => {
  test('is merged over both events: totals replace, silence and nonsense erase nothing', () => {
    const first = { input_tokens: 3, cache_read_input_tokens: 7, cache_creation_input_tokens: 2, output_tokens: 1 }
    const last = {
      input_tokens: null,
      cache_read_input_tokens: -1,
      cache_creation_input_tokens: 'many',
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
      server_tool_use: { web_search_requests: 2 },
    }
    const begin = { type: 'message_start', message: { usage: first } }
    const { events } = decodeEvents(begin, messageDelta('end_turn', last), messageStop)
    expect(events.at(-2)).toEqual({
      type: 'usage',
      usage: {
        inputTokens: 12,
        cachedInputTokens: 7,
        cacheWriteTokens: 2,
        outputTokens: 9,
        reasoningTokens: 4,
        searches: 2,
      },
    })
  })

  test('that nobody stated is not made up', () => {
    const { events } = decodeEvents(messageStart, messageDelta('end_turn'), messageStop)
    expect(events.map(({ type }) => type)).toEqual(['start', 'stop'])
  })
})

describe('blocks', () => {
  test('signatures carry the vendor and family of the routed model', () => {
    const decoder = messagesDialect.upstream.createDecoder({
      ...seed,
      traits: traits('somebody-elses', { vendor: 'Example' }),
    })
    const thinking = { type: 'thinking', thinking: '', signature: 'whole' }
    const events = [blockStart(0, thinking), blockStop(0)].flatMap((event) =>
      decoder.push({ event: '', data: JSON.stringify(event) }),
    )
    expect(events).toContainEqual({
      type: 'think.sign',
      slot: 0,
      opaque: { vendor: 'unknown', family: '', form: 'signature', value: 'whole' },
    })
  })

  test('of a signature in pieces the last one counts, as for Anthropic’s own client', () => {
    const thinking = { type: 'thinking', thinking: 'at once', signature: 'a' }
    const { events } = decodeEvents(blockStart(0, thinking), signature('b'), signature('c'), blockStop(0), messageStop)
    expect(events.filter(({ type }) => type === 'think.sign')).toMatchObject([{ opaque: { value: 'c' } }])
    expect(events).toContainEqual({ type: 'think.delta', slot: 0, text: 'at once' })
  })

  test('that hold nothing take no slot', () => {
    const { events } = decodeEvents(
      blockStart(0, { type: 'text', text: '' }),
      blockStop(0),
      blockStart(1, { type: 'thinking', thinking: '', signature: '' }),
      blockStop(1),
      blockStart(2, { type: 'text', text: 'whole' }),
      blockStop(2),
      messageStop,
    )
    expect(events.slice(1, -1)).toEqual([
      { type: 'text.delta', slot: 0, text: 'whole' },
      { type: 'part.close', slot: 0 },
    ])
  })

  test('citations of pages pass, places in documents do not', () => {
    const page = { type: 'web_search_result_location', url: 'https://example.com', title: null }
    const { events, skipped } = decodeEvents(
      blockStart(0, { type: 'text', text: 'a', citations: [page] }),
      cite({ type: 'char_location', document_index: 0 }),
      cite(page),
      messageStop,
    )
    const citation = { type: 'citation', slot: 0, citation: { url: 'https://example.com', title: '' } }
    expect(events.filter(({ type }) => type === 'citation')).toEqual([citation, citation])
    expect(skipped).toBe(0)
  })

  test('a call that nobody can name fails the reply', () => {
    const { fault } = decodeEvents(blockStart(0, { ...tool, name: '' }), messageStop)
    expect(fault).toEqual({ kind: 'upstream_unusable', detail: 'it called a tool without a name' })
  })

  test('arguments of a call that was over fail the reply: without them it would be another call', () => {
    const calls = [messageStart, blockStart(0, tool), blockStart(1, { ...tool, id: 'toolu_2' })]
    expect(decodeEvents(...calls, argumentsOf(0, '{}'), messageDelta('tool_use'), messageStop).fault).toEqual({
      kind: 'upstream_unusable',
      detail: 'it sent arguments for a tool call that had ended',
    })
  })

  test('deltas that do not go with their block are left out and counted', () => {
    const { events, skipped } = decodeEvents(
      blockStart(0, tool),
      delta(0, { type: 'text_delta', text: 'x' }),
      delta(0, { type: 'thinking_delta', thinking: 'x' }),
      delta(0, { type: 'signature_delta', signature: 'x' }),
      delta(0, { type: 'citations_delta', citation: {} }),
      delta(0, { type: 'a_delta_of_tomorrow' }),
      messageStop,
    )
    expect(events.map(({ type }) => type)).toEqual(['start', 'tool.open', 'part.close', 'stop'])
    expect(skipped).toBe(5)
  })
})

test('nothing is read after the end', () => {
  const decoder = messagesDialect.upstream.createDecoder(seed)
  decoder.push({ event: '', data: JSON.stringify(messageStop) })
  expect(decoder.push({ event: 'error', data: '{}' })).toEqual([])
  expect(decoder.push({ event: '', data: '[DONE]' })).toEqual([])
  expect(decoder.end()).toEqual([])
})
