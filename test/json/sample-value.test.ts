import { fc } from '../fast-check.ts'
import { expect, test } from 'vitest'
import { sampleValue } from '../../src/json/sample-value.ts'

test.for<[string, unknown, unknown]>([
  ['a string named after its property', { properties: { path: { type: 'string' } } }, { path: 'example path' }],
  ['the first of an enum', { type: 'string', enum: ['b', 'a'] }, 'b'],
  ['a const', { const: 7 }, 7],
  ['a default', { type: 'integer', default: 3 }, 3],
  ['the minimum of a number', { type: 'number', minimum: 5 }, 5],
  ['a boolean', { type: 'boolean' }, false],
  ['no more array items than needed', { type: 'array', items: { type: 'null' }, minItems: 2 }, [null, null]],
  ['an empty array', { type: 'array' }, []],
  ['the type that is not null', { type: ['null', 'integer'] }, 1],
  ['the branch that is not null', { anyOf: [{ type: 'null' }, { type: 'boolean' }] }, false],
  ['an empty object', { type: 'object' }, {}],
  ['nothing of use', true, null],
])('samples %s', ([, schema, value]) => {
  expect(sampleValue(schema)).toEqual(value)
})

test('takes required properties only, the first where none is required', () => {
  const properties = { a: { type: 'string' }, b: { type: 'integer' } }
  expect(sampleValue({ type: 'object', properties, required: ['b'] })).toEqual({ b: 1 })
  expect(sampleValue({ type: 'object', properties })).toEqual({ a: 'example a' })
})

test('follows references within the schema, and ends where they run in a circle', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['next'] }
  const value = sampleValue({ $ref: '#/$defs/node', $defs: { node } })
  expect(JSON.stringify(value)).toMatch(/^\{"next":\{"next":.*null/)
})

test('gives a JSON value for any schema, always the same', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (schema) => {
      const text = JSON.stringify(sampleValue(schema))
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(sampleValue(schema))))
    }),
  )
})
