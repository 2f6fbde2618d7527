import { expect, test } from 'vitest'
import { isObject } from '../../src/json/json.ts'

test.each([
  [{}, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  [undefined, false],
  ['x', false],
  [1, false],
])('%j is an object: %j', (value, expected) => {
  expect(isObject(value)).toBe(expected)
})
