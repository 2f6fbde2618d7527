import { times } from '../../../thorough.ts'
import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { fitSchema, type SchemaTarget } from '../../../../src/translate/engine/schema/fit-schema.ts'
import { claudeRows, commonRootRows, commonRows, geminiRows, type SchemaRow } from './schema-rows.ts'

const common: SchemaTarget = { gemini: false, messages: false }
const gemini: SchemaTarget = { gemini: true, messages: false }
const messages: SchemaTarget = { gemini: false, messages: true }
const both: SchemaTarget = { gemini: true, messages: true }
const targets = { common, gemini, messages, both }

const fit = (parameters: unknown, target: SchemaTarget) => fitSchema(parameters, target).schema

/** Parameters that hold a schema in each place where a schema may stand. `#` is the place. */
const places: Readonly<Record<string, (schema: unknown) => Readonly<Record<string, unknown>>>> = {
  property: (schema) => ({ type: 'object', properties: { p: schema } }),
  'property called type': (schema) => ({ type: 'object', properties: { type: schema } }),
  'property called items': (schema) => ({ type: 'object', properties: { items: schema } }),
  'property called anyOf': (schema) => ({ type: 'object', properties: { anyOf: schema } }),
  'property of a property': (schema) => ({
    type: 'object',
    properties: { o: { type: 'object', properties: { properties: schema } } },
  }),
  items: (schema) => ({ type: 'object', properties: { p: { type: 'array', items: schema } } }),
  anyOf: (schema) => ({ type: 'object', properties: { p: { anyOf: [{ const: 'c' }, schema] } } }),
  allOf: (schema) => ({ type: 'object', properties: { p: { allOf: [{ const: 'c' }, schema] } } }),
  $defs: (schema) => ({ type: 'object', properties: {}, $defs: { definitions: schema } }),
  additionalProperties: (schema) => ({ type: 'object', properties: {}, additionalProperties: schema }),
}

function inEveryPlace(rows: readonly SchemaRow[]) {
  return rows.flatMap(([title, before, after]) =>
    Object.entries(places)
      // A boolean there is no schema for the rules.
      .filter(([place]) => !(place === 'additionalProperties' && typeof before === 'boolean'))
      .map(([place, put]) => ({ title, place, before: put(before), after: put(after) })),
  )
}

describe('common rules', () => {
  test.each(commonRootRows)('%s', (_title, before, after) => {
    expect(fit(before, common)).toEqual(after)
  })
  test.each(inEveryPlace(commonRows))('$title, at $place', ({ before, after }) => {
    expect(fit(before, common)).toEqual(after)
  })
})

describe('rules for Gemini', () => {
  test.each(inEveryPlace(geminiRows))('$title, at $place', ({ before, after }) => {
    expect(fit(before, gemini)).toEqual(after)
  })
})

describe('rules for the Messages route', () => {
  test.each(inEveryPlace(claudeRows))('$title, at $place', ({ before, after }) => {
    expect(fit(before, messages)).toEqual(after)
  })
  test('describe $schema at the root too', () => {
    const before = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { a: { type: 'string' } },
    }
    expect(fit(before, messages)).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
      description: '{$schema: "http://json-schema.org/draft-07/schema#"}',
    })
  })
  test('rename definitions and the references to them', () => {
    const before = {
      type: 'object',
      properties: { definitions: { $ref: '#/definitions/N' }, x: { $ref: '#/properties/definitions' } },
      definitions: { N: { type: 'object', properties: { next: { $ref: '#/definitions/N' } } } },
    }
    expect(fit(before, messages)).toEqual({
      type: 'object',
      properties: { definitions: { $ref: '#/$defs/N' }, x: { $ref: '#/properties/definitions' } },
      $defs: { N: { type: 'object', properties: { next: { $ref: '#/$defs/N' } } } },
    })
    expect(fit(before, common)).toBe(before)
  })
  test('keep definitions of one name apart', () => {
    const before = {
      type: 'object',
      properties: { a: { $ref: '#/definitions/N' }, b: { $ref: '#/$defs/N' } },
      definitions: { N: { type: 'string' } },
      $defs: { N: { type: 'integer' } },
    }
    expect(fit(before, messages)).toEqual({
      type: 'object',
      properties: { a: { $ref: '#/$defs/N_definition' }, b: { $ref: '#/$defs/N' } },
      $defs: { N: { type: 'integer' }, N_definition: { type: 'string' } },
    })
  })
})

describe('what the models take', () => {
  const kept = {
    type: 'object',
    title: 'T',
    description: 'D',
    properties: {
      type: { type: 'string' },
      items: { type: 'string', enum: ['a'] },
      anyOf: { type: 'array', items: { $ref: '#/$defs/N' } },
      $top: { type: 'integer' },
      'filter[name]': { const: true },
      either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['type'],
    additionalProperties: false,
    $defs: {
      N: { type: 'object', properties: { next: { $ref: '#/$defs/N' } }, additionalProperties: { type: 'string' } },
    },
  }
  test.each(Object.entries(targets))('stays the same object for %s', (_name, target) => {
    expect(fitSchema(kept, target)).toEqual({ schema: kept, described: [], lost: [], properties: new Map() })
    expect(fit(kept, target)).toBe(kept)
  })

  test.each([common, gemini])('stays the same object in what only Messages describes', (target) => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'x',
      type: 'object',
      properties: {
        a: { oneOf: [{ type: 'string' }, { type: 'boolean', const: true }], default: 'x', examples: ['y'], title: 't' },
        b: { allOf: [{ $ref: '#/definitions/N' }], nullable: true, 'x-order': 1, deprecated: true },
        c: { type: 'array', items: { type: 'string' }, prefixItems: [{ type: 'string' }], additionalItems: false },
        d: { type: 'object', additionalProperties: true, dependencies: { a: ['b'] } },
      },
      definitions: { N: { type: 'null' } },
    }
    expect(fit(schema, target)).toBe(schema)
  })

  test('stays in lists of types and enums for other families than Gemini', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: ['string', 'null'] },
        b: { enum: [1, true, null, 'x'] },
        c: { type: 'integer', enum: [1] },
      },
    }
    expect(fit(schema, common)).toBe(schema)
    expect(fit(schema, messages)).toBe(schema)
  })
})

test('tells what is described from what is lost', () => {
  const parameters = { type: 'object', properties: { p: { type: 'string', minLength: 1, required: true } }, not: {} }
  expect(fitSchema(parameters, common)).toMatchObject({ described: ['minLength'], lost: ['not', 'required'] })
})

test('never changes its input', () => {
  const parameters = Object.freeze({
    anyOf: Object.freeze([Object.freeze({ type: 'object', properties: Object.freeze({ a: true }) })]),
    required: Object.freeze(['a', 'a']),
  })
  for (const target of Object.values(targets)) expect(() => fit(parameters, target)).not.toThrow()
})

test('keeps a property called __proto__', () => {
  const parameters: unknown = JSON.parse(
    '{"anyOf":[{"properties":{"__proto__":{"type":"array"}}}],"properties":{"constructor":true}}',
  )
  expect(JSON.stringify(fit(parameters, common)['properties'])).toBe(
    '{"constructor":{},"__proto__":{"type":"array","items":{}}}',
  )
})

const anySchema = fc.letrec<{ readonly schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>(true, false, null, 'string', {}),
    fc.record(
      {
        type: fc.constantFrom<unknown>(
          'object',
          'array',
          'string',
          'integer',
          'int',
          'any',
          'thing',
          null,
          7,
          [],
          ['object', 'null'],
          ['array', 'null'],
          ['string', 'array'],
          ['string', 'object', 'null'],
          ['int', 'bool'],
        ),
        properties: fc.oneof(
          fc.dictionary(fc.constantFrom('a', 'b', 'type', 'items', '$top'), tie('schema'), { maxKeys: 3 }),
          fc.constant(null),
        ),
        required: fc.constantFrom<unknown>(['a'], ['a', 'a', 'z'], true, null, [], ['b', 1]),
        items: fc.oneof(tie('schema'), fc.array(tie('schema'), { maxLength: 3 })),
        anyOf: fc.oneof(fc.array(tie('schema'), { maxLength: 3 }), fc.constant(7)),
        oneOf: fc.array(tie('schema'), { maxLength: 2 }),
        allOf: fc.array(tie('schema'), { maxLength: 2 }),
        prefixItems: fc.array(tie('schema'), { maxLength: 2 }),
        additionalProperties: tie('schema'),
        $defs: fc.dictionary(fc.constantFrom('N', 'M'), tie('schema'), { maxKeys: 2 }),
        definitions: fc.dictionary(fc.constantFrom('N', 'O'), tie('schema'), { maxKeys: 2 }),
        $ref: fc.constantFrom('#', '#/$defs/N', '#/definitions/O', '#/nothing', 'other.json', 5),
        enum: fc.constantFrom<unknown>(['a'], [1, 2], ['a', null], [{ a: 1 }], 'a', {}),
        const: fc.constantFrom<unknown>(true, 'c', null),
        minLength: fc.constantFrom<unknown>(1, 'x', null),
        if: tie('schema'),
        not: tie('schema'),
        default: fc.constantFrom<unknown>(null, 'd'),
        description: fc.constantFrom<unknown>('D', '', null, 3),
        examples: fc.constantFrom<unknown>(['e'], 'e'),
      },
      { requiredKeys: [] },
    ),
  ),
})).schema

/** Calls `check` for each schema inside a schema, the schema included. */
function visit(schema: unknown, check: (schema: Readonly<Record<string, unknown>>) => void): void {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new Error('not a schema')
  const members: Readonly<Record<string, unknown>> = { ...schema }
  check(members)
  for (const keyword of ['properties', '$defs', 'definitions']) {
    for (const nested of Object.values(members[keyword] ?? {})) visit(nested, check)
  }
  for (const keyword of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    for (const nested of Object.values(members[keyword] ?? [])) visit(nested, check)
  }
  if (members['items'] !== undefined) visit(members['items'], check)
  const additional = members['additionalProperties']
  if (additional !== undefined && typeof additional !== 'boolean') visit(additional, check)
}

const typesOf = (type: unknown): readonly unknown[] => (Array.isArray(type) ? type : [type])
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

describe('for any schema', () => {
  test.each(Object.entries(targets))(
    'the result for %s is what the upstream accepts, and is final',
    (_name, target) => {
      fc.assert(
        fc.property(anySchema, (parameters) => {
          const schema = fit(parameters, target)
          expect(schema).toMatchObject({ type: 'object', properties: expect.any(Object) })
          for (const keyword of ['anyOf', 'oneOf', 'allOf', 'not', 'enum']) expect(schema).not.toHaveProperty(keyword)
          visit(schema, (inner) => {
            const { type, items, required, properties, anyOf, enum: values } = inner
            if (type !== undefined) for (const name of typesOf(type)) expect(TYPES).toContain(name)
            if (typesOf(type).includes('array') && !target.messages) expect(items).toBeDefined()
            if (type === 'array') expect(items).toBeDefined()
            if (required !== undefined) expect(new Set(typesOf(required)).size).toBe(typesOf(required).length)
            if (target.gemini) {
              expect(Array.isArray(type)).toBe(false)
              if (!target.messages)
                for (const name of typesOf(required ?? [])) expect(Object.keys(properties ?? {})).toContain(name)
              if (values !== undefined) expect(type).toBe('string')
              for (const value of typesOf(values ?? [])) expect(typeof value).toBe('string')
              if (anyOf !== undefined && !target.messages)
                expect([type, properties, items, required]).toEqual([undefined, undefined, undefined, undefined])
            }
          })
          if (!target.messages) expect(fit(schema, target)).toBe(schema)
          else if (!target.gemini) expect(fit(schema, target)).toEqual(schema)
        }),
        { numRuns: 150 },
      )
    },
  )
})

const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let schema: unknown = { type: 'string' }
  for (let level = 0; level < levels; level += 1) schema = wrap(schema)
  return schema
}
const wide = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, value]))

describe('hostile schemas end', () => {
  const doubled = (levels: number) =>
    nested(levels, (inner) => ({
      type: 'object',
      properties: { k: inner },
      anyOf: [{ required: ['k'] }, { properties: { z: {} } }, { type: 'null' }],
    }))

  test.each<readonly [string, unknown]>([
    ['100,000 levels of properties', nested(100_000, (inner) => ({ type: 'object', properties: { p: inner } }))],
    ['100,000 levels of items', { properties: { a: nested(100_000, (inner) => ({ type: 'array', items: inner })) } }],
    ['100,000 levels of anyOf', nested(100_000, (inner) => ({ anyOf: [inner, {}] }))],
    ['100,000 levels of allOf', nested(100_000, (inner) => ({ allOf: [inner] }))],
    ['100,000 levels of not', { properties: { a: nested(100_000, (inner) => ({ not: inner })) } }],
    [
      '100,000 levels of lists of types',
      nested(100_000, (inner) => ({ type: ['object', 'null'], properties: { p: inner } })),
    ],
    [
      'tens of thousands of properties',
      { type: 'object', properties: wide(times(50_000), { type: ['string', 'null'], minLength: 1 }) },
    ],
    [
      'tens of thousands of alternatives',
      { anyOf: Array.from({ length: times(50_000) }, (_, at) => ({ properties: { [`p${at}`]: true } })) },
    ],
    [
      'many properties beside many alternatives',
      {
        properties: {
          o: {
            type: 'object',
            properties: wide(20_000, {}),
            anyOf: Array.from({ length: 20_000 }, () => ({ required: ['p1'] })),
          },
        },
      },
    ],
    ['properties that double at each level', { properties: { o: doubled(60) } }],
    [
      'many references to a wide schema',
      {
        $defs: { W: { properties: wide(times(20_000), {}), required: Object.keys(wide(times(20_000), {})) } },
        allOf: Array.from({ length: times(20_000) }, () => ({ $ref: '#/$defs/W' })),
      },
    ],
    [
      'references that double',
      {
        $defs:
          wide(60, {}) &&
          Object.fromEntries(
            Array.from({ length: 60 }, (_, at) => [
              `d${at}`,
              { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}`, properties: { x: {} } }] },
            ]),
          ),
        $ref: '#/$defs/d0',
      },
    ],
    ['a cycle of references', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
  ])('%s', { timeout: 60_000 }, (_title, parameters) => {
    for (const target of Object.values(targets)) {
      const started = performance.now()
      const schema = fit(parameters, target)
      // A hang takes minutes.
      expect(performance.now() - started).toBeLessThan(15_000)
      expect(schema).toMatchObject({ type: 'object' })
      expect(JSON.stringify(schema).length).toBeLessThan(60_000_000)
    }
  })
})
