import { expect, test } from 'vitest'
import { isObject, isTooComplex } from '../../src/json/json.ts'

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

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
const keys = (count: number): string =>
  `{${Array.from({ length: count }, (_, at) => `"${at.toString(36)}":0`).join(',')}}`

test.each([
  ['1,000 levels', nested(1000), false],
  ['1,001 levels', nested(1001), true],
  ['1,001 levels of objects', '{"a":'.repeat(1001) + '0' + '}'.repeat(1001), true],
  ['1,001 levels beside a long text', `["${'x'.repeat(500_000)}",${nested(1000)}]`, true],
  ['2,000 brackets in a text', `["${'[{'.repeat(1000)}"]`, false],
  ['2,000 objects', `[${Array.from({ length: 2000 }, () => '{"a":[]}').join(',')}]`, false],
  ['100,000 keys', keys(100_000), false],
  ['200,001 keys', keys(200_001), true],
  ['1.5 million values', `[${'0,'.repeat(1_499_998)}0]`, false],
  ['more than 1.5 million values', `[${'0,'.repeat(1_500_000)}0]`, true],
])('%s', (_, text, expected) => {
  expect(isTooComplex(text)).toBe(expected)
})
