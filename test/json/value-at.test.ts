import { expect, test } from 'vitest'
import { valueAt } from '../../src/json/value-at.ts'

test('finds the value at keys and positions, and nothing of a prototype', () => {
  const value = { input: [{ type: 'x' }], n: null }
  expect(valueAt(value, ['input', 0, 'type'])).toBe('x')
  expect(valueAt(value, [])).toBe(value)
  for (const keys of [['input', 1, 'type'], ['n', 'x'], ['toString'], ['input', 'at']]) {
    expect(valueAt(value, keys)).toBeUndefined()
  }
})
