import { expect, test } from 'vitest'
import { stripSchema } from '../../../../src/translate/chat/upstream/adapt/tool-rules.ts'

test('takes refused keywords out at every depth', () => {
  const { schema, removed, loosened } = stripSchema({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    propertyNames: { pattern: '^x' },
    properties: {
      list: { type: 'array', items: { type: 'object', additionalProperties: { type: 'string' }, $comment: 'c' } },
      choice: { anyOf: [{ const: 'a' }, { type: 'null' }], enumDescriptions: ['x'] },
    },
    $defs: { shared: { oneOf: [{ not: { const: 1 } }] } },
  })
  expect(schema).toEqual({
    type: 'object',
    properties: {
      list: { type: 'array', items: { type: 'object' } },
      choice: { anyOf: [{ enum: ['a'] }, { type: 'null' }] },
    },
    $defs: { shared: { oneOf: [{ not: { enum: [1] } }] } },
  })
  expect(removed.toSorted()).toEqual(
    ['$comment', '$schema', 'additionalProperties', 'const', 'enumDescriptions', 'propertyNames'].toSorted(),
  )
  expect(loosened).toBe(true)
})

test('leaves properties that are merely called like a keyword', () => {
  const parameters = {
    type: 'object',
    properties: { const: { type: 'string' }, $schema: { type: 'string' }, additionalProperties: { type: 'boolean' } },
    required: ['const'],
  }
  expect(stripSchema(parameters)).toEqual({ schema: parameters, removed: [], loosened: false })
})

test('leaves values that are not schemas', () => {
  const parameters = {
    type: 'object',
    default: { const: 1 },
    examples: [{ $schema: 'x' }],
    properties: { a: { enum: [{ const: 1 }] }, b: true },
    items: true,
  }
  expect(stripSchema(parameters)).toEqual({ schema: parameters, removed: [], loosened: false })
})

test('const wins over an enum beside it', () => {
  expect(stripSchema({ enum: ['a', 'b'], const: 'a' }).schema).toEqual({ enum: ['a'] })
})

test('does not count additionalProperties: true as a constraint', () => {
  expect(stripSchema({ additionalProperties: true })).toMatchObject({ schema: {}, loosened: false })
})
