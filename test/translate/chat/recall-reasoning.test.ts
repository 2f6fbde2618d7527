import { expect, test } from 'vitest'
import { dialects } from '../../../src/translate/dialects.ts'
import type { CallerRequest } from '../../../src/translate/dialect.ts'
import { chatBodyOf } from '../../../src/translate/chat/wire.ts'
import { recall } from '../turns.ts'
import { callOf, hello } from './request-helpers.ts'

const known = new Map([
  ['a', 'A'],
  ['b', 'B'],
])
const recallReasoning = (request: CallerRequest) =>
  recall(dialects.chat, request, { reasoning: { keep: () => {}, recall: (callId) => known.get(callId) } })
const thinker = (ids: readonly string[], rest: object = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  ...rest,
})
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'done' })

/** `reasoning_opaque` of the messages, as upstream would see them. */
function opaques(...messages: readonly unknown[]): unknown[] {
  const request = recallReasoning(callOf({ model: 'm', messages }))
  const { bytes, value } = chatBodyOf(request)
  expect(JSON.parse(bytes.toString())).toEqual(value)
  return value.messages.map((message) => message['reasoning_opaque'])
}

test('each message with calls gets the value of the reply that made them', () => {
  expect(opaques(...hello, thinker(['a']), result('a'), thinker(['b']), result('b'))).toEqual([
    undefined,
    'A',
    undefined,
    'B',
    undefined,
  ])
})

test('the first call that is known decides', () => {
  expect(opaques(thinker(['x', 'b', 'a']), result('x'), result('b'), result('a'))[0]).toBe('B')
})

test.each([[''], [null]])('a value of %j is none', (nothing) => {
  expect(opaques(thinker(['a'], { reasoning_opaque: nothing }), result('a'))[0]).toBe('A')
})

test('a value of the caller’s own is never replaced', () => {
  expect(opaques(thinker(['a'], { reasoning_opaque: 'own' }), result('a'), thinker(['b']), result('b'))).toEqual([
    'own',
    undefined,
    'B',
    undefined,
  ])
})

test.each([
  ['no calls', [...hello, { role: 'assistant', content: 'a', tool_calls: null }, ...hello]],
  ['calls nobody knows', [thinker(['x']), result('x')]],
  ['only values of the caller’s own', [thinker(['a'], { reasoning_opaque: 'own' }), result('a')]],
])('with %s it is the very same request', (_what, messages) => {
  const request = callOf({ model: 'm', messages })
  expect(recallReasoning(request)).toBe(request)
})

test('all else stays as it came, also what JSON numbers cannot hold', () => {
  const messages = JSON.stringify([thinker(['a']), result('a')])
  const request = callOf(`{"model":"m", "seed":9223372036854775807,"messages":${messages},"stream":true, "x":1.0}`)
  const recalled = recallReasoning(request)
  const text = chatBodyOf(recalled).bytes.toString()
  expect(text).toContain('"seed":9223372036854775807')
  expect(text).toContain('"x":1.0')
  expect(recalled).toMatchObject({ model: 'm', stream: true, hasAgentHistory: true, endsWithUser: false })
})
