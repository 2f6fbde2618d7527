import { expect, test } from 'vitest'
import { shortCount } from '../../src/terminal/short-count.ts'

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
