import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { closeJson, toObjectText, toToolInput } from '../../../../src/translate/engine/tool-codec/tool-payload.ts'

describe('arguments become an object', () => {
  test.each([
    ['', {}],
    ['  ', {}],
    ['null', {}],
    ['{"a":1}', { a: 1 }],
    ['{"path":"/a', { path: '/a' }],
    ['{"a":[1,{"b":"c"', { a: [1, { b: 'c' }] }],
    ['{"a":1,', { a: 1 }],
    ['{"a":1,"b', { a: 1 }],
    ['{"a":1,"b":', { a: 1 }],
    ['{"a":true,"b":fal', { a: true }],
    ['{"a":12.', { a: 12 }],
    ['{"a":"x\\', { a: 'x' }],
    ['{"a":"x\\u00', { a: 'x' }],
    ['{"a":"x\\\\', { a: 'x\\' }],
    ['[1,2]', { input: '[1,2]' }],
    ['"text"', { input: '"text"' }],
    ['rm -rf', { input: 'rm -rf' }],
    ['{"pa', { input: '{"pa' }],
    ['{"a":', { input: '{"a":' }],
    [' { ', {}],
  ])('%j to %j', (text, expected) => {
    expect(toToolInput(text)).toEqual(expected)
  })
})

test('an object keeps its text, so that its numbers keep their digits', () => {
  const text = '{"a":1.0,"id":12345678901234567890}'
  expect(toObjectText(text)).toBe(text)
  expect(toObjectText('{"a":1.0,"b":"x')).toBe('{"a":1.0,"b":"x"}')
})

test('JSON cut anywhere is closed to JSON that says nothing else', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, at) => {
      const text = JSON.stringify(value)
      const cut = text.slice(0, 1 + (at % text.length))
      const closed: unknown = JSON.parse(closeJson(cut))
      for (const key of Object.keys(closed ?? {})) expect(Object.keys(value)).toContain(key)
    }),
  )
})

test('brackets without end cost no more than their number', () => {
  // Growing with the square, this would take minutes.
  expect(toToolInput('['.repeat(400_000))).toHaveProperty('input')
  expect(closeJson(`${'{"a":'.repeat(100_000)}1`)).toHaveLength(6 * 100_000 + 1)
})

test('arguments nested deeper than anything can write are kept as text', () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  expect(toToolInput(deep)).toEqual({ input: deep })
  expect(() => JSON.stringify(toToolInput(`${'{"a":'.repeat(499)}1${'}'.repeat(499)}`))).not.toThrow()
})
