import { fc } from '../../../fast-check.ts'
import { expect, test } from 'vitest'
import { jsonFaultAt, lineAndColumn } from '../../../../src/translate/engine/request/json-body.ts'
import { parseJson } from '../../../../src/json/json.ts'

test.each([
  ['{a', 1],
  ['{"a":1,}', 7],
  ['{"a":1', 6],
  ['{"a" 1}', 5],
  ['{"a":1}x', 7],
  ['{"a":01}', 6],
  ['[1,]', 3],
  ['[1 2]', 3],
  ['{"a":tru}', 5],
  ['{"a":"\n"}', 6],
  ['{"a":"\\x"}', 6],
  ['{"a":"\\u12"}', 6],
  ['"abc', 4],
  ['[}', 1],
  ['', 0],
  ['  ', 2],
  ["{'a':1}", 1],
  ['{"a":NaN}', 5],
])('finds where %j stops being JSON', (text, at) => {
  expect(jsonFaultAt(text)).toBe(at)
})

test('finds a fault exactly where JSON.parse finds one', () => {
  const damaged = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.string({ maxLength: 2, unit: fc.constantFrom(...'{}[]",:\\ \n0-1.eu'.split('')) }),
      fc.nat(2),
    )
    .map(([json, where, inserted, cut]) => {
      const at = where % (json.length + 1)
      return json.slice(0, at) + inserted + json.slice(at + cut)
    })
  fc.assert(
    fc.property(damaged, (text) => {
      const at = jsonFaultAt(text)
      expect(at === undefined).toBe(parseJson(text) !== undefined)
      if (at !== undefined) expect(at).toBeLessThanOrEqual(text.length)
    }),
    { numRuns: 2000 },
  )
})

test('counts lines and columns from 1', () => {
  expect(lineAndColumn('ab', 1)).toEqual({ line: 1, column: 2 })
  expect(lineAndColumn('{\n  "a": x', 9)).toEqual({ line: 2, column: 8 })
  expect(lineAndColumn('a\n', 2)).toEqual({ line: 2, column: 1 })
})
