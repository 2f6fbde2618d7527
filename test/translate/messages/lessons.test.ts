import { expect, test } from 'vitest'
import { joinLessons, lesson, parseLessons } from '../../../src/translate/messages/lessons.ts'

test('reads back what it wrote, also several from one text', () => {
  const text = joinLessons([
    lesson.beta('x-2025-01-01'),
    lesson.key('tools.*.custom.x'),
    lesson.tag({ member: 'tools', tag: 'a:b' }),
    lesson.efforts(['low', 'high']),
    lesson.thinking('budget'),
    lesson.alwaysThinks(),
    lesson.thinksUnforced(),
    lesson.systemMessages(),
    lesson.maxTokens(32_000),
  ])
  expect(parseLessons(new Set([text ?? '', lesson.key('y')]))).toEqual({
    betas: new Set(['x-2025-01-01']),
    keys: ['tools.*.custom.x', 'y'],
    tags: [{ member: 'tools', tag: 'a:b' }],
    efforts: ['low', 'high'],
    thinking: 'budget',
    alwaysThinks: true,
    thinksUnforced: true,
    refusesSystemMessages: true,
    maxTokens: 32_000,
  })
})

test('the last of several that exclude each other holds, and no effort is one of them', () => {
  const { efforts, thinking } = parseLessons(
    new Set(['efforts:low', lesson.efforts([]), 'thinking:budget', 'thinking:adaptive']),
  )
  expect({ efforts, thinking }).toEqual({ efforts: [], thinking: 'adaptive' })
})

test('passes over words of others', () => {
  const empty = parseLessons(new Set())
  expect(parseLessons(new Set(['', 'x', 'max-tokens:0', 'max-tokens:x', 'thinking:x', 'constructor:x']))).toEqual(empty)
})

test('has nothing to remember of nothing', () => {
  expect(joinLessons([])).toBeUndefined()
})
