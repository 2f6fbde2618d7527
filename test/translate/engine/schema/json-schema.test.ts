import { describe, expect, test } from 'vitest'
import { isStrictSchema } from '../../../../src/translate/engine/schema/json-schema.ts'

function object(properties: Readonly<Record<string, unknown>>, more: object = {}) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false, ...more }
}

describe('is strict', () => {
  test.each([
    ['no properties', object({})],
    ['limits on values', object({ a: { type: 'integer', minimum: 1 }, b: { enum: ['x'] }, c: { const: 1 } })],
    ['a list of objects', object({ a: { type: 'array', items: object({ b: { type: 'string' } }) } })],
    ['an object or nothing', object({ a: object({ b: { type: 'string' } }, { type: ['object', 'null'] }) })],
    ['alternatives', object({ a: { anyOf: [{ type: 'null' }, object({})] } })],
    ['references', object({ a: { $ref: '#/$defs/b' } }, { $defs: { b: object({}) } })],
    ['names that look like keywords', object({ not: { type: 'string' }, oneOf: { type: 'string' } })],
  ])('%s', (_, schema) => {
    expect(isStrictSchema(schema)).toBe(true)
  })
})

describe('is not strict', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a list', []],
    ['no type', { properties: {}, additionalProperties: false }],
    ['another type at the top', { type: 'string' }],
    ['several types at the top', object({}, { type: ['object', 'null'] })],
    ['no properties', { type: 'object', additionalProperties: false }],
    ['an optional property', object({ a: { type: 'string' } }, { required: [] })],
    ['a required list that is none', object({ a: { type: 'string' } }, { required: 'a' })],
    ['further properties', object({}, { additionalProperties: true })],
    ['a loose object inside', object({ a: { type: 'object', properties: {} } })],
    ['a loose object in a list', object({ a: { type: 'array', items: { type: 'object' } } })],
    ['a loose alternative', object({ a: { anyOf: [{ type: 'object' }] } })],
    ['alternatives that are none', object({ a: { anyOf: {} } })],
    ['a loose definition', object({}, { $defs: { b: { type: 'object' } } })],
    ['a value of which nothing is said', object({ a: {} })],
    ['a value that is no schema', object({ a: true })],
    ['properties of what is no object', object({ a: { type: 'string', properties: {} } })],
    ['an inherited requirement', object({ toString: { type: 'string' } }, { required: [] })],
    ...['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'dependentRequired'].map((keyword): [string, unknown] => [
      keyword,
      object({}, { [keyword]: {} }),
    ]),
  ])('%s', (_, schema) => {
    expect(isStrictSchema(schema)).toBe(false)
  })
})
