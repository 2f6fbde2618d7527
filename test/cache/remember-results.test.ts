import { expect, test } from 'vitest'
import { rememberResults } from '../../src/cache/remember-results.ts'

function counted(mostKept?: number) {
  const computed: string[] = []
  const lengthOf = rememberResults((text) => {
    computed.push(text)
    return text.length
  }, mostKept)
  return { lengthOf, computed }
}

test('computes the result of a text once', () => {
  const { lengthOf, computed } = counted()
  expect([lengthOf('abc'), lengthOf('abc'), lengthOf('ab')]).toEqual([3, 3, 2])
  expect(computed).toEqual(['abc', 'ab'])
})

test('keeps at most the given number of results', () => {
  const { lengthOf, computed } = counted(1)
  for (const text of ['a', 'bb', 'a', 'bb']) lengthOf(text)
  expect(computed).toEqual(['a', 'bb', 'bb'])
})

test('keeps no long text', () => {
  const { lengthOf, computed } = counted()
  const long = 'x'.repeat(101)
  expect([lengthOf(long), lengthOf(long)]).toEqual([101, 101])
  expect(computed).toEqual([long, long])
})
