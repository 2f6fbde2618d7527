import { times } from '../../thorough.ts'
import type OpenAI from 'openai'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { ChatCompletion, ChatCompletionChoice, ChatCompletionMessage } from '../../../src/translate/chat/wire.ts'
import { dataEvent, fold } from './fixture-streams.ts'
import { bytes } from '../fixture-folder.ts'

/** The body of an answer that came in these chunks and ended well. */
function foldChunks(chunks: readonly object[]): ChatCompletion {
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  const { body, fault } = fold([bytes([...chunks, end, '[DONE]'].map(dataEvent).join(''))])
  expect(fault).toBeUndefined()
  // The tests check what they read of it.
  return body as ChatCompletion
}

const chunkOf = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: null }] })
const messageOf = (...deltas: readonly object[]) => foldChunks(deltas.map(chunkOf)).choices[0].message

test('the body is what the openai package promises its users', () => {
  // Log probabilities are passed on as they come: their elements are upstream's to promise.
  expectTypeOf<Omit<ChatCompletion, 'choices'>>().toExtend<Omit<OpenAI.ChatCompletion, 'choices'>>()
  expectTypeOf<Omit<ChatCompletionChoice, 'logprobs'>>().toExtend<Omit<OpenAI.ChatCompletion.Choice, 'logprobs'>>()
  expectTypeOf<ChatCompletionMessage>().toExtend<OpenAI.ChatCompletionMessage>()
})

describe('content', () => {
  test('is null where none came', () => {
    expect(messageOf({ role: 'assistant', content: null }).content).toBeNull()
  })

  test('is null where an empty piece opened a tool call or a refusal', () => {
    expect(messageOf({ content: '' }, { refusal: 'No.' })).toMatchObject({ content: null, refusal: 'No.' })
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    expect(messageOf({ content: '' }, { tool_calls: [call] })).toMatchObject({ content: null })
  })

  test('is empty if the model sent nothing else', () => {
    expect(messageOf({ content: '' }).content).toBe('')
  })
})

test.each(['reasoning_text', 'reasoning_content', 'reasoning', 'thinking', 'cot_summary'])('joins %s', (key) => {
  expect(messageOf({ [key]: 'a' }, { [key]: null }, { [key]: 'b' })).toMatchObject({ [key]: 'ab' })
})

test.each(['reasoning_opaque', 'signature', 'encrypted_content', 'cot_id', 'phase'])('keeps the last %s', (key) => {
  expect(messageOf({ [key]: 'a' }, { [key]: 'b' }, { [key]: '' }, { [key]: null })).toMatchObject({ [key]: 'b' })
})

test('appends lists and merges objects of keys it does not know', () => {
  expect(messageOf({ list: [1], object: { a: [1], b: 1 } }, { list: [2], object: { a: [2], b: 2 } })).toMatchObject({
    list: [1, 2],
    object: { a: [1, 2], b: 2 },
  })
})

test('takes lists that each of 100,000 chunks adds to', () => {
  const delta = { annotations: [1], copilot_annotations: { IPCodeCitations: [2] } }
  const { message } = foldChunks(Array.from({ length: times(100_000) }, () => chunkOf(delta))).choices[0]
  expect(message).toHaveProperty(
    'annotations',
    Array.from({ length: times(100_000) }, () => 1),
  )
  expect(message).toHaveProperty(
    'copilot_annotations.IPCodeCitations',
    Array.from({ length: times(100_000) }, () => 2),
  )
})

test('leaves padding out', () => {
  expect(messageOf({ content: 'a', padding: 'xxxx' })).not.toHaveProperty('padding')
})

test('takes more log probabilities than a function takes arguments', () => {
  const content = Array.from({ length: 300_000 }, () => 0)
  const chunk = { choices: [{ index: 0, delta: {}, logprobs: { content, refusal: null }, finish_reason: null }] }
  const { logprobs } = foldChunks([chunk, chunk]).choices[0]
  expect(logprobs?.content).toHaveLength(600_000)
  expect(logprobs?.refusal).toBeNull()
})

test('gives usage the counts every client reads', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, extra: true }
  expect(foldChunks([{ usage, choices: [] }]).usage).toEqual({ ...usage, total_tokens: 7 })
})
