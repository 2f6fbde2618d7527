import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import { objectsOf } from '../../../src/json/json.ts'
import type { JsonObject } from '../../../src/json/json.ts'
import { responsesBodyOf, storedInputOf } from '../../../src/translate/responses/wire.ts'
import { arbitraryItems } from './arbitrary-bodies.ts'
import { answerTo, decode, joinHistory, type Stored, turnOf } from './caller-requests.ts'
import { errorOf } from '../faults.ts'

const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
const assistant = (text: string) => ({
  type: 'message',
  id: 'msg_7',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})

function join(body: JsonObject, stored: Stored, referenced?: ReadonlyMap<string, JsonObject>) {
  const request = joinHistory(decode(body), stored, referenced)
  const joined = responsesBodyOf(request)
  // The bytes of a joined body are JSON: it was written a moment ago.
  return { ...request, body: joined, sent: JSON.parse(joined.bytes.toString()) as JsonObject }
}

test('the history precedes the new input, and the reference to it is removed', () => {
  const { sent, body } = join(
    { previous_response_id: 'resp_7', input: 'and now?' },
    { input: [user('hi')], output: [assistant('yo')] },
  )
  const input = [user('hi'), assistant('yo'), user('and now?')]
  expect(sent).toEqual({ model: 'gpt-5-mini', input })
  expect(body.value).toEqual(sent)
  expect(body.chain).toMatchObject({ previousId: undefined, references: [], keep: true, input: [user('and now?')] })
})

test('referenced items replace their references', () => {
  const { sent } = join(
    { input: [{ type: 'item_reference', id: 'msg_7' }, user('go on'), { id: 'fc_1' }] },
    {},
    new Map<string, JsonObject>([
      ['msg_7', assistant('yo')],
      ['fc_1', { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
    ]),
  )
  expect(sent['input']).toEqual([
    assistant('yo'),
    user('go on'),
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
  ])
})

test('the reply keeps the items of its own request, with those that it refers to, and the id before it', () => {
  const { body } = join(
    { previous_response_id: 'resp_7', input: [{ type: 'item_reference', id: 'msg_7' }, user('go on')] },
    { input: [user('hi')], output: [assistant('x'.repeat(5000))] },
    new Map([['msg_7', assistant('y'.repeat(1000))]]),
  )
  const kept = storedInputOf(body)
  expect(kept).toMatchObject({ previousId: 'resp_7', input: [assistant('y'.repeat(1000)), user('go on')] })
  expect(kept?.inputChars).toBeGreaterThan(1000)
  expect(kept?.inputChars).toBeLessThan(2000)
})

test('what the history holds counts as the request does', () => {
  const image = {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA' }],
  }
  const before = decode({ previous_response_id: 'resp_7', store: false })
  expect(before).toMatchObject({ hasImage: false, hasAgentHistory: false })
  const joined = join(
    { previous_response_id: 'resp_7', store: false },
    { input: [image], output: [assistant('a cat')] },
  )
  expect(joined).toMatchObject({
    hasImage: true,
    hasAgentHistory: true,
    endsWithUser: true,
    body: { chain: { keep: false } },
  })
})

test('instructions of earlier requests are not carried on', () => {
  const { sent } = join({ previous_response_id: 'resp_7', instructions: 'be brief' }, { input: [user('hi')] })
  expect(sent['instructions']).toBe('be brief')
  expect(join({ previous_response_id: 'resp_7' }, { input: [user('hi')] }).sent).not.toHaveProperty('instructions')
})

test('a later request can be built on the whole of it', () => {
  const first = join(
    { previous_response_id: 'resp_1', input: 'two' },
    { input: [user('one')], output: [assistant('1')] },
  )
  const second = join(
    { previous_response_id: 'resp_2', input: 'three' },
    { input: [...conversationOf(first)], output: [assistant('2')] },
  )
  expect(second.sent['input']).toEqual([user('one'), assistant('1'), user('two'), assistant('2'), user('three')])
})

test('all other members keep their bytes', () => {
  const request = decode({ previous_response_id: 'resp_7', temperature: 1, metadata: { big: '12345678901234567890' } })
  const body = responsesBodyOf(joinHistory(request, { input: [user('hi')] }))
  expect(body.bytes.toString()).toContain('"metadata":{"big":"12345678901234567890"}')
  for (const member of body.members) expect(body.bytes.subarray(member.start, member.start + 1).toString()).toBe('"')
  expect(body.members.map(({ start, keyEnd }) => body.bytes.toString('utf8', start, keyEnd))).toEqual(
    Object.keys(body.value).map((key) => `"${key}"`),
  )
})

test('the reply names the response that it continues', () => {
  const joined = joinHistory(decode({ previous_response_id: 'resp_7' }), { input: [user('hi')] })
  expect(answerTo(joined)).toMatchObject({ previous_response_id: 'resp_7' })
})

test('a conversation that has grown too large is refused', () => {
  const input = Array.from({ length: 250_000 }, () => user('x'))
  expect(errorOf(() => join({ previous_response_id: 'resp_7' }, { input }))).toMatchObject({
    path: 'input',
    code: 'array_above_max_length',
  })
})

test('a stored reply nested without end is refused', () => {
  let deep: JsonObject = {}
  for (let level = 0; level < 100_000; level += 1) deep = { deep }
  for (const item of [deep, { type: 'x', deep: nested(600) }]) {
    expect(errorOf(() => join({ previous_response_id: 'resp_7' }, { output: [item] }))).toMatchObject({
      code: 'too_many_values',
    })
  }
})

function conversationOf({ sent }: ReturnType<typeof join>): readonly JsonObject[] {
  return objectsOf(sent['input'])
}

function nested(levels: number): JsonObject {
  return levels === 0 ? {} : { deep: nested(levels - 1) }
}

test('whatever a reply held, bytes and value agree and a Turn is made or refused', () => {
  fc.assert(
    fc.property(arbitraryItems, (output) => {
      const request = joinHistory(decode({ previous_response_id: 'resp_7' }), { output })
      const { bytes, value } = responsesBodyOf(request)
      expect(JSON.parse(bytes.toString())).toEqual(JSON.parse(JSON.stringify(value)))
      try {
        turnOf(request)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    }),
  )
})
