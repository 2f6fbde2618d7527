import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import type { ProxyError } from '../../src/errors.ts'
import { createSseDecoder } from '../../src/sse/decode.ts'
import type { UpstreamDialectId, ReplySeed } from '../../src/translate/dialect.ts'
import { dialects } from '../../src/translate/dialects.ts'
import { translateCall } from '../../src/translate/translated-call.ts'
import { encodeContext, replySeed, traits } from './turns.ts'

// Events that fuzzing found, for every caller in front of every upstream.

const model = traits('some-model')
const ids: readonly UpstreamDialectId[] = ['chat', 'responses', 'messages']
const pairs = ids.flatMap((caller) => ids.map((upstream) => [caller, upstream] as const))

function openReader(callerId: UpstreamDialectId, upstreamId: UpstreamDialectId) {
  const caller = dialects[callerId]
  const messages = [{ role: 'user', content: 'hello' }]
  const body = { model: model.id, max_tokens: 9, ...(callerId === 'responses' ? { input: 'hello' } : { messages }) }
  const request = caller.decodeRequest(JSON.stringify(body))
  return translateCall(caller, dialects[upstreamId].upstream, request, encodeContext(model)).reader
}

/** What the caller is sent, the error event of the dialect included, and the fault. */
function replyTo(callerId: UpstreamDialectId, upstreamId: UpstreamDialectId, wire: string) {
  const reader = openReader(callerId, upstreamId)
  const seed: ReplySeed = replySeed(model, { notes: reader.notes })
  const reply = reader.createStream(seed)
  let text = ''
  let fault: ProxyError | undefined
  try {
    for (const event of createSseDecoder().push(Buffer.from(wire))) text += reply.push(event)
    text += reply.end()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    fault = error.error
    text += (reply.fail ?? dialects[callerId].errorEvent)(fault, 'req-1')
  }
  return { text, fault }
}

const deep = '['.repeat(20_000) + ']'.repeat(20_000)

/** A beginning, and an event with a value that recursion could not walk in a place where it would be passed on. */
const deepStreams: Readonly<Record<UpstreamDialectId, string>> = {
  chat:
    'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n' +
    `data: {"choices":[{"index":0,"delta":{"content":"b","annotations":${deep}},"finish_reason":"stop"}]}\n\n`,
  responses:
    'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1","output":[]}}\n\n' +
    `event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1","output":${deep}}}\n\n`,
  messages:
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","content":[]}}\n\n' +
    `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":${deep}}}\n\n`,
}

const lastWords: Readonly<Record<UpstreamDialectId, RegExp>> = {
  chat: /^data: \{"error"/m,
  responses: /^event: response\.failed$/m,
  messages: /^event: error$/m,
}

describe.each(pairs)('to a %s caller, a %s upstream', (caller, upstream) => {
  test('that nests an event too deeply has failed, and the caller gets an error', () => {
    const { text, fault } = replyTo(caller, upstream, deepStreams[upstream])
    expect(fault).toEqual({
      kind: 'upstream_unusable',
      detail: 'it sent a JSON event that is nested too deeply or has too many values',
    })
    expect(text).toMatch(lastWords[caller])
    expect(text).not.toContain('[[[')
  })
})

test.each(ids)('a %s caller gets calls whose id is no text with generated ids', (caller) => {
  const item = { type: 'function_call', call_id: { toString: 1 }, name: 'read', arguments: '{}' }
  const events = [
    { type: 'response.created', response: { id: 'resp_1', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, id: 'fc_1' } },
    { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [item] } },
  ]
  const wire = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  const { text, fault } = replyTo(caller, 'responses', wire)
  expect(fault).toBeUndefined()
  expect(text).toContain('call_cpx_')
})
