import { expect, test } from 'vitest'
import { Fault } from '../../../../src/errors.ts'
import { dialects } from '../../../../src/translate/dialects.ts'
import { translateCall } from '../../../../src/translate/translated-call.ts'
import { encodeContext, replySeed, traits } from '../../turns.ts'

const model = traits('some-model')

function openReply() {
  const caller = dialects.responses
  const request = caller.decodeRequest(JSON.stringify({ model: model.id, input: 'hello' }))
  const { reader } = translateCall(caller, dialects.responses.upstream, request, encodeContext(model))
  return reader.createStream(replySeed(model, { notes: reader.notes }))
}

function delta(at: number, id = 'msg_1', obfuscation = 'x'): string {
  const text = JSON.stringify({ type: 'response.output_text.delta', item_id: 'ID', output_index: 0, content_index: 0 })
  return `${text.slice(0, -1)},"sequence_number":${at},"delta":"a${at}","obfuscation":"PAD"}`
    .replace('ID', () => id)
    .replace('PAD', () => obfuscation)
}

/** What a caller is sent for these deltas. */
function tell(deltas: readonly string[]): string {
  const reply = openReply()
  const created = { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', output: [] } }
  let text = reply.push({ event: created.type, data: JSON.stringify(created) })
  for (const data of deltas) text += reply.push({ event: 'response.output_text.delta', data })
  return text
}

test('a delta with a control character in its padding ends the answer', () => {
  const right = [1, 2, 3, 4, 5, 6, 7].map((at) => delta(at))
  expect(() => tell([...right, delta(8, 'msg_1', 'x\u0000')])).toThrow(Fault)
  expect(() => tell([...right, delta(8, 'msg_1', 'x\t')])).toThrow(Fault)
})

test('of upstream’s ids that change, whatever is in them, nothing reaches the caller', () => {
  const ids = Array.from('123456')
    .map((one) => one.repeat(300))
    .concat(['a'.repeat(300), 'b"'.replace('"', '\\"'), 'e\\u0000', '', 'f'.repeat(400)])
  const text = tell(ids.map((id, at) => delta(at + 1, id)))
  const events = text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line): Record<string, unknown> => JSON.parse(line.slice(6)))
  const textDeltas = events.filter(({ type }) => type === 'response.output_text.delta')
  expect(textDeltas.map((event) => event['delta'])).toEqual(ids.map((_id, at) => `a${at + 1}`))
  expect(new Set(textDeltas.map((event) => event['item_id'])).size).toBe(1)
})
