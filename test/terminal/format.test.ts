import { expect, test } from 'vitest'
import { shortCount, shortCredits } from '../../src/terminal/format.ts'

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1k'],
  [1234, '1.2k'],
  [9949, '9.9k'],
  [9960, '10k'],
  [34_400, '34k'],
  [999_499, '999k'],
  [999_500, '1M'],
  [1_500_000, '1.5M'],
  [2_000_000_000_000, '2000G'],
])('%d is %s', (amount, expected) => {
  expect(shortCount(amount)).toBe(expected)
})

test.each([
  [0, false, '0'],
  [0.000_213, false, '0.000213'],
  [0.0421, true, '~0.0421'],
  [0.5, false, '0.5'],
  [12.345, false, '12.3'],
  [100, true, '~100'],
  [999.6, false, '1000'],
  [1234.5, false, '1235'],
])('%d credits, estimated: %s, are %s', (credits, estimated, expected) => {
  expect(shortCredits(credits, estimated)).toBe(expected)
})
