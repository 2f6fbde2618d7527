import { chatUpstream } from '../../../src/translate/chat/upstream/dialect.ts'
import { expect, test } from 'vitest'
import {
  keepReasoning,
  noteReasoning,
  noteReasoningDelta,
  startReasoningNote,
  type ReasoningNote,
} from '../../../src/translate/chat/reply-reasoning.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import { remembered } from '../turns.ts'
import { bytes, readStream, seedOf } from './fixture-streams.ts'

function keptOf(note: ReasoningNote) {
  return remembered({ remember: (memory) => keepReasoning(note, memory) }).reasoning
}

function noted(...deltas: readonly unknown[]) {
  const note = startReasoningNote()
  for (const delta of deltas) noteReasoning(note, { choices: [{ delta }] })
  return keptOf(note)
}

const call = (id: unknown) => ({ tool_calls: [{ index: 0, id }] })

test('is the value with the ids of all calls, each once, in any order', () => {
  const expected = { callIds: ['a', 'b'], opaque: 'O' }
  expect(noted(call('a'), call('b'), call('a'), { reasoning_opaque: 'O' })).toEqual(expected)
  expect(noted({ reasoning_opaque: 'O', tool_calls: [{ id: 'a' }, { id: 'b' }] })).toEqual(expected)
})

test('the last value counts, as in the body', () => {
  expect(noted({ reasoning_opaque: 'O' }, call('a'), { reasoning_opaque: 'P' }, { reasoning_opaque: '' })).toEqual({
    callIds: ['a'],
    opaque: 'P',
  })
})

test.each([
  ['a value without calls', [{ reasoning_opaque: 'O', content: 'a' }]],
  ['calls without a value', [call('a'), { reasoning_opaque: null }]],
  ['ids that are none', [{ reasoning_opaque: 'O' }, call(''), call(7), { tool_calls: [null] }, { tool_calls: 'x' }]],
  ['what is no delta', [null, 'x', 3]],
])('%s is nothing', (_what, deltas) => {
  expect(noted(...deltas)).toBeUndefined()
})

test('takes chunks without a choice or a delta', () => {
  const note = startReasoningNote()
  for (const choices of [undefined, null, 'x', [], [null], [{}]]) noteReasoning(note, { choices })
  noteReasoningDelta(note, undefined)
  expect(keptOf(note)).toBeUndefined()
})

test.each([
  ['gemini-tools', { callIds: ['call_abc', 'call_def'], opaque: '4CUQexampleopaque' }],
  ['claude-text', undefined],
])('a passing reply tells its own: %s', (name, expected) => {
  const events = createSseDecoder().push(bytes(readStream(name)))
  for (const create of [chatUpstream.createStream, chatUpstream.createFold]) {
    const reply = create(seedOf({ usage: true }))
    for (const event of events) reply.push(event)
    reply.end()
    expect(remembered(reply).reasoning).toEqual(expected)
  }
})
