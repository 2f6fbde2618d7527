import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { imageOfBase64, imageOfUrl, lacksReplay, lastImages, lastResults, promptOf } from './conversation.ts'
import type { Conversation, HistoryEntry } from './conversation.ts'

function of(...history: readonly HistoryEntry[]): Conversation {
  return {
    history,
    tools: [],
    hasWebSearch: false,
    choice: 'auto',
    isParallel: true,
    maxOutput: Number.POSITIVE_INFINITY,
    stop: [],
    format: undefined,
    thinks: 'never',
    promptTokens: 0,
  }
}

function says(text: string): HistoryEntry {
  return { by: 'user', text }
}

const answer: HistoryEntry = { by: 'assistant', hasOpaque: false }
const thought: HistoryEntry = { by: 'assistant', hasOpaque: true }
const result: HistoryEntry = { by: 'tool', text: 'r', images: [] }
const image: HistoryEntry = { by: 'user', image: { kind: 'image/png', bytes: 3 } }

test.for<[string, string, string]>([
  ['other text is left alone', ' a\n', ' a\n'],
  ['a reminder is none', '<system-reminder>x</system-reminder>', 'before'],
  [
    'what stands around reminders',
    '<system-reminder>x</system-reminder>\nhi <system-reminder>y</system-reminder>',
    'hi',
  ],
  ['a reminder that never ends', 'hi <system-reminder>x', 'hi'],
])('the prompt: %s', ([, text, prompt]) => {
  expect(promptOf(of(says('before'), says(text)))).toBe(prompt)
})

test('there is no prompt if the user wrote nothing', () => {
  expect(promptOf(of(answer, result))).toBe('')
})

test('results count while nothing but the client’s own notes follows them', () => {
  expect(lastResults(of(says('a'), answer, result, result))).toHaveLength(2)
  expect(lastResults(of(says('a'), answer, result, says('<system-reminder>x</system-reminder>')))).toHaveLength(1)
  expect(lastResults(of(says('a'), answer, result, says('b')))).toEqual([])
  expect(lastResults(of(says('a'), answer, result, answer))).toEqual([])
})

test('images count until the model has spoken', () => {
  expect(lastImages(of(image, says('a'), image))).toHaveLength(2)
  expect(lastImages(of(image, says('a'), answer, says('b')))).toEqual([])
})

test('an image is as large as what it decodes to', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
      const data = Buffer.from(bytes).toString('base64')
      expect(imageOfBase64('image/png', data)).toEqual({ kind: 'image/png', bytes: bytes.length })
      expect(imageOfUrl(`data:image/png;base64,${data}`)).toEqual({ kind: 'image/png', bytes: bytes.length })
    }),
  )
  expect(imageOfUrl('https://example.com/x.png')).toEqual({ kind: 'an address', bytes: 0 })
})

const asks = says('[demo:replay]')

test.for<[string, readonly HistoryEntry[], boolean]>([
  ['not yet answered', [asks], false],
  ['answered with its thought', [asks, thought, answer], false],
  ['answered without', [asks, answer], true],
  ['in a round of tools', [asks, answer, result], true],
  ['two prompts later', [asks, answer, says('b'), answer, says('c')], true],
  ['never asked for', [says('a'), answer, says('b')], false],
  ['asked for again, once with it', [asks, thought, asks, answer, says('b')], true],
])('thinking that is owed: %s', ([, history, isLacking]) => {
  expect(lacksReplay(of(...history))).toBe(isLacking)
})
