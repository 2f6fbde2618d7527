import { fc } from '../../../fast-check.ts'
import { expect, test } from 'vitest'
import { promptsOf } from '../../../../src/translate/engine/request/conversation.ts'

const isUser = ({ role }: { role: string }) => role === 'user'
const of = (...contents: readonly unknown[]) =>
  promptsOf(
    contents.map((content) => ({ role: 'user', content })),
    isUser,
  )
const text = (words: string) => ({ type: 'text', text: words })

test.each([
  ['a string', 'Hi', 'Hi'],
  ['parts', [text('One'), { type: 'image' }, text('two')], 'One\ntwo'],
  ['what the client adds', [text(' <system-reminder>Be brief</system-reminder>'), text('Hi')], 'Hi'],
  ['nothing but an image', [{ type: 'image' }], ''],
  ['no content', undefined, ''],
  ['content that is none', [null, 5, { text: 5 }], ''],
])('a prompt is read from %s', (_what, content, last) => {
  expect(of(content)).toEqual({ first: last, last, lastAt: 0 })
})

test('the position of the last prompt does not change during a tool loop', () => {
  const turn = [
    { role: 'system', content: 'Be kind' },
    { role: 'user', content: 'First' },
    { role: 'assistant', content: 'Yes' },
    { role: 'user', content: 'Second' },
  ]
  const loop = [...turn, { role: 'assistant', content: null }, { role: 'tool', content: 'Done' }]
  for (const messages of [turn, loop]) {
    expect(promptsOf(messages, isUser)).toEqual({ first: 'First', last: 'Second', lastAt: 3 })
  }
  expect(promptsOf([], isUser)).toEqual({ first: '', last: '', lastAt: -1 })
})

test('no prompt is longer than 4,000 characters, and none loses its beginning', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3000 }), { maxLength: 5 }), (texts) => {
      const { last } = of(texts.map(text))
      const whole = texts.filter((words) => !words.trimStart().startsWith('<system-reminder>')).join('\n')
      expect(last.length).toBeLessThanOrEqual(4000)
      expect(whole.trimStart().startsWith(last.trimStart())).toBe(true)
    }),
  )
})
