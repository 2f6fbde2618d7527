import { expect, it, test } from 'vitest'
import { checkArguments } from '../../src/tools/check-arguments.ts'
import { readSchema } from '../../src/tools/foreign-tools.ts'
import type { ParametersSchema } from '../../src/tools/tool.ts'

function accepts(schema: ParametersSchema, args: unknown): boolean {
  try {
    checkArguments(schema, args)
    return true
  } catch {
    return false
  }
}

const draft = (version: string) => ({ $schema: `http://json-schema.org/draft-${version}/schema#` })
const text = { type: 'string' }
/** Puts a schema two levels below the root. */
const below = (inner: object) => ({ properties: { a: { anyOf: [{ type: 'object', properties: { b: inner } }] } } })
const at = (value: unknown) => ({ a: { b: value } })

it.each<[string, object, unknown, unknown]>([
  [
    'a name of a part in `$id`',
    { ...draft('07'), properties: { a: { $ref: '#mode' } }, definitions: { mode: { $id: '#mode', type: 'string' } } },
    { a: 'x' },
    { a: 1 },
  ],
  ['an address in `id`', { ...draft('04'), id: 'x', properties: { a: text } }, { a: 'x' }, { a: 1 }],
  ['null for a keyword', { properties: { a: text, b: null }, required: null, description: null }, { a: 'x' }, { a: 1 }],
  [
    'a reference to its own address',
    { $id: 'http://x/y#', properties: { a: { $ref: 'http://x/y#/definitions/b' } }, definitions: { b: text } },
    { a: 'x' },
    { a: 1 },
  ],
  ['a bound that is exclusive by a flag', below({ minimum: 1, exclusiveMinimum: true }), at(2), at(1)],
  ['a bound that is not', below({ maximum: 1, exclusiveMaximum: false }), at(1), at(2)],
  ['a list of items', below({ items: [text], additionalItems: false }), at(['x']), at(['x', 1])],
  [
    'what follows a list of items',
    below({ items: [text], additionalItems: { type: 'number' } }),
    at(['x', 1]),
    at([1]),
  ],
  ['an empty list of items', below({ type: 'array', items: [] }), at([1]), at(1)],
  ['dependencies', { dependencies: { a: ['b'], b: { minProperties: 3 } } }, { a: 1, b: 1, c: 1 }, { a: 1 }],
  [
    'a keyword beside a reference, which draft-07 ignores',
    { ...draft('07'), properties: { a: { $ref: '#/definitions/b', maxLength: 1 } }, definitions: { b: text } },
    { a: 'long' },
    { a: 1 },
  ],
  [
    'a keyword beside a reference in 2020-12',
    { properties: { a: { $ref: '#/$defs/b', maxLength: 1 } }, $defs: { b: text } },
    { a: 'x' },
    { a: 'long' },
  ],
  ['a property with the name of a keyword', { properties: { id: text, items: text } }, { id: 'x' }, { id: 1 }],
  ['null as a value', below({ const: null }), at(null), at(1)],
  ['a word of OpenAPI', below({ nullable: true, description: 'any' }), at(null), { a: 1 }],
])('reads %s', (_what, schema, right, wrong) => {
  const read = readSchema({ type: 'object', ...schema })
  if (typeof read === 'string') throw new Error(read)
  expect([accepts(read, right), accepts(read, wrong)]).toEqual([true, false])
})

test.each<[object, string]>([
  [{ properties: { a: { type: 'text' } } }, 'not a valid JSON Schema'],
  [{ properties: { a: { $ref: 'https://example.com/a' } } }, 'same schema only'],
  [{ type: 'string' }, 'the type must be "object"'],
])('a schema that no draft allows is refused: %j', (schema, reason) => {
  expect(readSchema({ ...schema })).toContain(reason)
})
