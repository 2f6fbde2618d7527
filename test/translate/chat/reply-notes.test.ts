import { chatDialect } from '../../../src/translate/chat/dialect.ts'
import { expect, test } from 'vitest'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import { remembered } from '../turns.ts'
import { dataEvent, readStream, seedOf } from './fixture-streams.ts'
import { bytes } from '../fixture-folder.ts'

/** What a passing reply keeps of this stream, streaming and not. */
function keptOf(wire: string) {
  const [streamed, folded] = [chatDialect.upstream.createStream, chatDialect.upstream.createFold].map((create) => {
    const reply = create(seedOf({ usage: true }))
    for (const event of createSseDecoder().push(bytes(wire))) reply.push(event)
    reply.end()
    return remembered(reply).reasoning
  })
  expect(folded).toEqual(streamed)
  return streamed
}

function keptOfChunks(...chunks: readonly unknown[]) {
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  return keptOf([...chunks, end, '[DONE]'].map(dataEvent).join(''))
}

function kept(...deltas: readonly unknown[]) {
  return keptOfChunks(...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })))
}

const call = (id: unknown, index = 0) => ({
  tool_calls: [{ index, id, type: 'function', function: { name: 'f', arguments: '{}' } }],
})

test('is the value with the ids of all calls, each once, in any order', () => {
  const expected = { callIds: ['a', 'b'], opaque: 'O' }
  expect(kept(call('a'), call('b', 1), call('a'), { reasoning_opaque: 'O' })).toEqual(expected)
  const calls = [call('a'), call('b', 1)].flatMap(({ tool_calls: each }) => each)
  expect(kept({ reasoning_opaque: 'O', tool_calls: calls })).toEqual(expected)
})

test('the last value counts, as in the body', () => {
  expect(kept({ reasoning_opaque: 'O' }, call('a'), { reasoning_opaque: 'P' }, { reasoning_opaque: '' })).toEqual({
    callIds: ['a'],
    opaque: 'P',
  })
})

test('ids that upstream leaves out are those that the caller got', () => {
  expect(kept({ reasoning_opaque: 'O' }, call(''), call(7, 1))).toEqual({
    callIds: ['call_seed0001_0', 'call_seed0001_1'],
    opaque: 'O',
  })
})

test.each([
  ['a value without calls', [{ reasoning_opaque: 'O', content: 'a' }]],
  ['calls without a value', [call('a'), { reasoning_opaque: null }]],
  ['a value with calls that are none', [{ reasoning_opaque: 'O' }, { tool_calls: [null] }, { tool_calls: 'x' }]],
  ['what is no delta', [null, 'x', 3]],
])('%s is nothing', (_what, deltas) => {
  expect(kept(...deltas)).toBeUndefined()
})

test('takes chunks without a choice or a delta', () => {
  const choices = [undefined, null, 'x', [], [null], [{}]]
  expect(keptOfChunks(...choices.map((each) => ({ choices: each })))).toBeUndefined()
})

test.each([
  ['gemini-tools', { callIds: ['call_abc', 'call_def'], opaque: '4CUQexampleopaque' }],
  ['claude-text', undefined],
])('a passing reply tells its own: %s', (name, expected) => {
  expect(keptOf(readStream(name))).toEqual(expected)
})
