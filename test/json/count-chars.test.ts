import { expect, test } from 'vitest'
import { countChars } from '../../src/json/count-chars.ts'
import { fc } from '../fast-check.ts'

test('is within a small factor of the JSON text, escapes aside', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const length = JSON.stringify(value).replaceAll(/\\u[0-9a-f]{4}|\\./g, 'x').length
      expect(countChars(value)).toBeGreaterThanOrEqual(length / 8)
      expect(countChars(value)).toBeLessThanOrEqual(4 * length + 4)
    }),
  )
})

test('counts values that are nested without end', () => {
  let deep: object = {}
  for (let level = 0; level < 200_000; level += 1) deep = { deep }
  expect(countChars(deep)).toBeGreaterThan(200_000)
})
