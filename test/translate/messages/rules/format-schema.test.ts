import { expect, test } from 'vitest'
import { toFormatSchema } from '../../../../src/translate/messages/rules/format-schema.ts'

const closed = (properties: object, rest = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...rest,
})

test.each<[string, object, object, readonly string[]]>([
  [
    'what is taken stays',
    closed({ a: { type: 'string', format: 'date', pattern: '^a' } }),
    closed({ a: { type: 'string', format: 'date', pattern: '^a' } }),
    [],
  ],
  [
    'limits of numbers go',
    closed({ a: { type: 'integer', minimum: 1, multipleOf: 2 } }),
    closed({ a: { type: 'integer' } }),
    ['minimum', 'multipleOf'],
  ],
  [
    'a property may be called like a keyword',
    closed({ minimum: { type: 'number' }, not: {} }),
    closed({ minimum: { type: 'number' }, not: {} }),
    [],
  ],
  [
    'at least one is known',
    { type: 'array', minItems: 1, items: { minItems: 3 } },
    { type: 'array', minItems: 1, items: {} },
    ['minItems'],
  ],
  [
    'objects are closed',
    { properties: { a: { type: 'object', additionalProperties: { type: 'string' } } } },
    { properties: { a: { type: 'object', additionalProperties: false } }, additionalProperties: false },
    ['additionalProperties'],
  ],
  [
    'branches',
    { oneOf: [{ type: 'string', maxLength: 1 }, true] },
    { anyOf: [{ type: 'string' }, true] },
    ['maxLength'],
  ],
  [
    'definitions',
    { $schema: 's', $ref: '#/$defs/a', $defs: { a: { type: 'string', format: 'regex' } } },
    { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } },
    ['format'],
  ],
])('%s', (_, schema, fitted, removed) => {
  const json = JSON.stringify(schema)
  expect(toFormatSchema(schema as Record<string, unknown>)).toEqual({ schema: fitted, removed })
  expect(JSON.stringify(schema)).toBe(json)
})

test('is not led into endless depth', () => {
  let schema: Record<string, unknown> = {}
  for (let depth = 0; depth < 400; depth += 1) schema = { items: schema }
  expect(toFormatSchema(schema)).toEqual({ schema, removed: [] })
})
