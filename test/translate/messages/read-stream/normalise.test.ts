import { messagesDialect } from '../../../../src/translate/messages/dialect.ts'
import { describe, expect, test } from 'vitest'
import { eventsOf, fold, readStream, seed, sseOf, stream, wireEvent } from '../fixture-streams.ts'
import { bytes } from '../../fixture-folder.ts'

const begin = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: seed.requestedModel,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
}
const textStart = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
const delta = (index: number, change: unknown) => ({ type: 'content_block_delta', index, delta: change })
const callStart = (index: number) => ({
  type: 'content_block_start',
  index,
  content_block: { type: 'tool_use', id: `toolu_${index}`, name: 'rm', input: {} },
})
const piece = (index: number, partial_json: string) => delta(index, { type: 'input_json_delta', partial_json })
const textDelta = (index: number, text: string) => delta(index, { type: 'text_delta', text })
const end = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
]

function pass(...events: unknown[]) {
  return stream([bytes(events.map(wireEvent).join(''))])
}

describe('what is right', () => {
  test.each(['text', 'thinking', 'parallel-tools', 'web-search', 'copilot-extras', 'refusal', 'pings'])(
    'passes byte for byte: %s',
    (name) => {
      const wire = readStream(name)
      // The model's name is the one thing that is said anew.
      const [model] = /"model":"[^"]+"/.exec(wire) ?? []
      const expected = wire.replace(model ?? '', `"model":"${seed.requestedModel}"`)
      expect(stream([bytes(wire)])).toMatchObject({ text: expected, done: true, skipped: 0 })
    },
  )

  test('passes with the event that brought it: nothing waits for a second one', () => {
    const reply = messagesDialect.upstream.createStream(seed)
    for (const event of [begin, textStart, textDelta(0, 'a'), { type: 'content_block_stop', index: 0 }, ...end]) {
      const data = JSON.stringify(event)
      expect(reply.push({ event: event.type, data })).toBe(`event: ${event.type}\ndata: ${data}\n\n`)
    }
    expect(reply.end()).toBe('')
  })

  test('passes with its numbers as they are written', () => {
    const data = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"n":1.0e400}'
    const reply = messagesDialect.upstream.createStream(seed)
    reply.push({ event: '', data: JSON.stringify(textStart) })
    expect(reply.push({ event: '', data })).toBe(`event: content_block_delta\ndata: ${data}\n\n`)
  })
})

describe('blocks', () => {
  test.each([
    ['counted from 1', 1, 1],
    ['not counted', undefined, undefined],
    ['counted at the start only', 4, undefined],
    ['counted by deltas only', undefined, 4],
    ['counted in words', 'one', 'one'],
  ])('%s become 0', (_title, first, later) => {
    const { text, skipped } = pass(
      begin,
      { ...textStart, index: first },
      { ...textDelta(0, 'a'), index: later },
      { type: 'content_block_stop', index: later },
      ...end,
    )
    const blocks = eventsOf(text).slice(1, 4)
    expect(blocks.map(({ type, index }) => [type, index])).toEqual([
      ['content_block_start', 0],
      ['content_block_delta', 0],
      ['content_block_stop', 0],
    ])
    expect(skipped).toBe(0)
  })

  test('begun by a delta hold what the delta says', () => {
    const { body } = fold([
      bytes([delta(0, { type: 'thinking_delta', thinking: 'T' }), textDelta(1, 'a'), ...end].map(wireEvent).join('')),
    ])
    expect(body).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'T', signature: '' },
        { type: 'text', text: 'a' },
      ],
    })
  })

  test('of calls that overlap fail the reply: what comes for the first one comes too late', () => {
    expect(pass(begin, callStart(0), callStart(1), piece(0, ''), piece(1, '{}'), ...end).fault).toBeUndefined()
    expect(pass(begin, callStart(0), callStart(1), piece(1, '{}'), piece(0, '{}'), ...end).fault).toEqual({
      kind: 'upstream_unusable',
      detail: 'it sent arguments for a tool call that had ended',
    })
  })

  test('that cannot be read are left out, and what belongs to them', () => {
    const { text, skipped } = pass(
      begin,
      { type: 'content_block_start', index: 0, content_block: null },
      delta(0, { type: 'input_json_delta', partial_json: '{}' }),
      { type: 'content_block_stop', index: 0 },
      ...end,
    )
    expect(eventsOf(text).map(({ type }) => type)).toEqual(['message_start', 'message_delta', 'message_stop'])
    expect(skipped).toBe(2)
  })
})

describe('a body', () => {
  test('reports the usage of the last events', () => {
    const usage = { input_tokens: null, output_tokens: 5, server_tool_use: null }
    const last = { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }
    const { body } = fold([bytes([begin, last, { type: 'message_stop' }].map(wireEvent).join(''))])
    expect(body).toMatchObject({ usage: { input_tokens: 1, output_tokens: 5 } })
    expect(body).not.toHaveProperty('usage.server_tool_use')
  })

  test('keeps __proto__ as a key like any other', () => {
    const start = '{"type":"content_block_start","index":0,"content_block":{"type":"note","__proto__":{"x":1}}}'
    const reply = messagesDialect.upstream.createFold(seed)
    reply.push({ event: '', data: JSON.stringify({ ...begin, message: {} }) })
    reply.push({ event: '', data: start })
    reply.push({ event: '', data: '{"type":"content_block_delta","index":0,"delta":{"type":"n","__proto__":"y"}}' })
    for (const event of end) reply.push({ event: '', data: JSON.stringify(event) })
    expect(JSON.stringify(reply.end())).toContain('"content":[{"type":"note","__proto__":"y"}]')
    expect({}).not.toHaveProperty('x')
  })
})

test('an event name that is no name goes nowhere', () => {
  const named = `data: ${JSON.stringify({ type: 'x\ndata: injected' })}\n\n`
  const { text, skipped } = stream([bytes([begin, ...end].map(wireEvent).join('').replace('\n\n', `\n\n${named}`))])
  expect(text).not.toContain('injected')
  expect(skipped).toBe(1)
})

test('nothing is written after the end', () => {
  const reply = messagesDialect.upstream.createStream(seed)
  for (const event of end) reply.push({ event: '', data: JSON.stringify(event) })
  expect(reply.isDone()).toBe(true)
  expect(reply.push({ event: 'error', data: '{"error":{}}' }) + reply.push({ event: '', data: '[DONE]' })).toBe('')
  expect(reply.end()).toBe('')
})

test('endless whitespace in arguments is cut as soon as it is endless', () => {
  const reply = messagesDialect.upstream.createStream(seed)
  const events = [
    begin,
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
    delta(0, { type: 'input_json_delta', partial_json: '{"a":"\\n\\n"}' }),
  ]
  for (const event of events) reply.push({ event: '', data: JSON.stringify(event) })
  let pushed = 0
  while (!reply.isDone() && pushed < 100) {
    reply.push({ event: '', data: JSON.stringify(delta(0, { type: 'input_json_delta', partial_json: '\n\t' })) })
    pushed += 1
  }
  expect(pushed).toBe(11)
})

test('the whole wire is one reading of the stream, however it is cut', () => {
  const wire = bytes(readStream('text'))
  const cut = Array.from(wire, (byte) => Uint8Array.of(byte))
  expect(stream(cut)).toEqual(stream([wire]))
  expect(sseOf(stream(cut).text).length).toBeGreaterThan(5)
})
