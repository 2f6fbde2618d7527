import { expect, test } from 'vitest'
import { decode, encode, readStream, stream, streamNames } from './fixture-streams.ts'
import { expectGrammar, readWithOpenAI, withoutParsed } from './grammar.ts'

// The helper throws at event types it does not know, and those must pass all the same.
const readable = streamNames.filter((name) => name !== 'unknown-events')

const answered = readable.filter((name) => stream(readStream(name)).fault === undefined)

test.each(answered)('the stream helper of `openai` reads %s and builds the final response', async (name) => {
  const { text, events } = stream(readStream(name))
  expectGrammar(events)
  expect(withoutParsed(await readWithOpenAI(text))).toEqual(events.at(-1)?.event.response)
})

const whole = readable.filter((name) => decode(readStream(name)).fault === undefined)

test.each(whole)('the stream helper of `openai` reads %s after a translation', async (name) => {
  const { text, events, body } = encode(decode(readStream(name)).events)
  expectGrammar(events)
  expect(withoutParsed(await readWithOpenAI(text))).toEqual(body)
})

test.each([
  ['truncated', 'upstream_truncated'],
  ['quirk-07-error-flat', 'server_error'],
  ['runaway-in-arguments', 'upstream_unusable'],
  ['cancelled', 'cancelled'],
])('the stream helper of `openai` throws at a stream that fails (%s)', async (name, code) => {
  const { text, events } = stream(readStream(name))
  expectGrammar(events)
  await expect(readWithOpenAI(text)).rejects.toMatchObject({ code, message: expect.stringMatching(/\w/) })
})

test('the stream helper of `openai` reads upstream’s own failed response as what it is', async () => {
  const { text, events } = stream(readStream('failed-after-output'))
  expectGrammar(events)
  expect(await readWithOpenAI(text)).toMatchObject({ status: 'failed', error: { code: 'server_is_overloaded' } })
})

test('the stream helper of `openai` throws at a translated reply that fails', async () => {
  const { text, reply } = encode(decode(readStream('truncated')).events)
  const failed = text + (reply.fail?.({ kind: 'upstream_truncated' }, 'req-1') ?? '')
  await expect(readWithOpenAI(failed)).rejects.toMatchObject({ code: 'upstream_truncated' })
})
