/* oxlint-disable unicorn/no-thenable -- `then` is a keyword of JSON Schema */
/** What it shows, the schema as a caller sends it, and the schema that goes upstream. */
export type SchemaRow = readonly [title: string, before: unknown, after: unknown]

const S = { type: 'string' }
const I = { type: 'integer' }
const P = { a: S }
const OA = { type: 'object', properties: { a: S } }
const OB = { type: 'object', properties: { b: S } }
const none = { type: 'object', properties: {} }

// What GitHub's Copilot CLI 1.0.102 makes of these schemas, but for the rows marked with `beyond`.

export const commonRootRows: readonly SchemaRow[] = [
  ['root: empty', {}, none],
  ['root: object without properties', { type: 'object' }, none],
  ['root: no object', { type: 'string' }, none],
  ['root: absent', undefined, none],
  ['root: true', true, none],
  ['root: null', null, none],
  ['root: properties are a list', { type: 'object', properties: [] }, none],
  ['root: properties are null', { type: 'object', properties: null }, none],
  ['root: a list of types', { type: ['object', 'null'], properties: P }, OA],
  ['root: no type', { properties: P }, OA],
  ['root: required is null', { type: 'object', properties: P, required: null }, OA],
  [
    'root: anyOf',
    { anyOf: [OA, OB] },
    {
      type: 'object',
      properties: { a: {}, b: {} },
      description:
        '{anyOf: [{"properties":{"a":{"type":"string"}},"type":"object"},{"properties":{"b":{"type":"string"}},"type":"object"}]}',
    },
  ],
  [
    'root: oneOf with properties that differ',
    { oneOf: [OA, { type: 'object', properties: { a: I, b: S }, required: ['b'] }] },
    {
      type: 'object',
      properties: { a: { anyOf: [S, I] }, b: {} },
      description:
        '{oneOf: [{"properties":{"a":{"type":"string"}},"type":"object"},{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["b"],"type":"object"}]}',
    },
  ],
  [
    'root: oneOf with a property of all',
    { oneOf: [OA, OA] },
    {
      ...OA,
      description:
        '{oneOf: [{"properties":{"a":{"type":"string"}},"type":"object"},{"properties":{"a":{"type":"string"}},"type":"object"}]}',
    },
  ],
  [
    'root: anyOf beside properties',
    { type: 'object', properties: { p: S, q: I }, anyOf: [{ required: ['p'] }, { required: ['q'] }] },
    { type: 'object', properties: { p: S, q: I }, description: '{anyOf: [{"required":["p"]},{"required":["q"]}]}' },
  ],
  [
    'root: own properties and required win',
    { type: 'object', properties: { a: I }, required: ['a'], anyOf: [{ ...OA, required: ['a'] }] },
    {
      type: 'object',
      properties: { a: I },
      required: ['a'],
      description: '{anyOf: [{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}]}',
    },
  ],
  [
    'root: allOf',
    {
      allOf: [
        { ...OA, required: ['a'] },
        { ...OB, required: ['b'] },
      ],
    },
    { type: 'object', properties: { a: S, b: S }, required: ['a', 'b'] },
  ],
  [
    'root: limits and conditions',
    { type: 'object', properties: P, minProperties: 1, if: { required: ['a'] }, then: {}, else: false },
    { ...OA, description: '{minProperties: 1, if: {"required":["a"]}, then: {}, else: false}' },
  ],
  [
    'root: not',
    { type: 'object', properties: { p: S }, not: { required: ['z'] } },
    { type: 'object', properties: { p: S } },
  ],
  ['root: enum', { type: 'object', properties: P, enum: [{ a: 'x' }] }, OA],
  [
    'root: const and $defs stay',
    { ...OA, const: { a: 'x' }, $defs: { N: S } },
    { ...OA, const: { a: 'x' }, $defs: { N: S } },
  ],
  // beyond
  [
    'root: allOf with more than properties',
    { allOf: [OA, { if: { required: ['a'] }, then: { required: ['b'] } }, { anyOf: [OB] }] },
    {
      type: 'object',
      properties: { a: S, b: S },
      description:
        '{allOf: [{"properties":{"a":{"type":"string"}},"type":"object"},{"if":{"required":["a"]},"then":{"required":["b"]}},{"anyOf":[{"properties":{"b":{"type":"string"}},"type":"object"}]}]}',
    },
  ],
  [
    'root: allOf with types that contradict each other',
    { allOf: [OA, { type: 'object', properties: { a: I } }] },
    {
      type: 'object',
      properties: { a: I },
      description:
        '{allOf: [{"properties":{"a":{"type":"string"}},"type":"object"},{"properties":{"a":{"type":"integer"}},"type":"object"}]}',
    },
  ],
  [
    'root: allOf with a reference',
    { allOf: [{ $ref: '#/$defs/A' }, OB], $defs: { A: { ...OA, required: ['a'] } } },
    { type: 'object', properties: { a: S, b: S }, required: ['a'], $defs: { A: { ...OA, required: ['a'] } } },
  ],
  [
    'root: alternatives that are references',
    { oneOf: [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/B' }], $defs: { A: OA, B: OB } },
    {
      type: 'object',
      properties: { a: {}, b: {} },
      $defs: { A: OA, B: OB },
      description: '{oneOf: [{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}]}',
    },
  ],
  [
    'root: a reference',
    { $ref: '#/$defs/A', $defs: { A: { ...OA, required: ['a'] } } },
    { ...OA, required: ['a'], $ref: '#/$defs/A', $defs: { A: { ...OA, required: ['a'] } } },
  ],
  [
    'root: alternatives inside alternatives',
    { anyOf: [{ anyOf: [OA] }, { allOf: [OB] }] },
    {
      type: 'object',
      properties: { a: {}, b: {} },
      description:
        '{anyOf: [{"anyOf":[{"properties":{"a":{"type":"string"}},"type":"object"}]},{"allOf":[{"properties":{"b":{"type":"string"}},"type":"object"}]}]}',
    },
  ],
]

export const commonRows: readonly SchemaRow[] = [
  ['true', true, {}],
  ['false', false, { description: '{schema: false}' }],
  ['items: true', { type: 'array', items: true }, { type: 'array', items: {} }],
  ['additionalProperties: false stays', { ...OA, additionalProperties: false }, { ...OA, additionalProperties: false }],
  ['array without items', { type: 'array' }, { type: 'array', items: {} }],
  ['tuple in items', { type: 'array', items: [S, I] }, { type: 'array', items: { anyOf: [S, I] } }],
  ['tuple of one', { type: 'array', items: [S] }, { type: 'array', items: S }],
  ['tuple of none', { type: 'array', items: [] }, { type: 'array', items: {} }],
  [
    'limits',
    { type: 'string', minLength: 1, maxLength: 5, pattern: '^a', format: 'date-time', description: 'D.' },
    { type: 'string', description: 'D.\n\n{minLength: 1, maxLength: 5, pattern: "^a", format: "date-time"}' },
  ],
  [
    'all limits, in one order',
    {
      dependentSchemas: {},
      dependentRequired: {},
      else: {},
      then: {},
      if: {},
      maxContains: 1,
      minContains: 1,
      contains: {},
      unevaluatedItems: false,
      maxProperties: 1,
      minProperties: 1,
      propertyNames: {},
      unevaluatedProperties: false,
      uniqueItems: true,
      maxItems: 1,
      minItems: 1,
      patternProperties: {},
      exclusiveMaximum: 1,
      exclusiveMinimum: 1,
      multipleOf: 1,
      maximum: 1,
      minimum: 1,
      format: 'f',
      pattern: 'p',
      maxLength: 1,
      minLength: 1,
      not: {},
      contentMediaType: 'm',
      contentEncoding: 'e',
    },
    {
      description:
        '{contentEncoding: "e", contentMediaType: "m", not: {}, minLength: 1, maxLength: 1, pattern: "p", format: "f", minimum: 1, maximum: 1, multipleOf: 1, exclusiveMinimum: 1, exclusiveMaximum: 1, patternProperties: {}, minItems: 1, maxItems: 1, uniqueItems: true, unevaluatedProperties: false, propertyNames: {}, minProperties: 1, maxProperties: 1, unevaluatedItems: false, contains: {}, minContains: 1, maxContains: 1, if: {}, then: {}, else: {}, dependentRequired: {}, dependentSchemas: {}}',
    },
  ],
  [
    'limits of an array',
    { type: 'array', items: S, minItems: 1, maxItems: 3, uniqueItems: true },
    { type: 'array', items: S, description: '{minItems: 1, maxItems: 3, uniqueItems: true}' },
  ],
  ['not', { not: { type: 'string' } }, { description: '{not: {"type":"string"}}' }],
  ['an empty description is replaced', { minLength: 1, description: '' }, { description: '{minLength: 1}' }],
  [
    'keys of a value in alphabetical order',
    { contains: { b: 1, a: [{ d: 2, c: 3 }] } },
    { description: '{contains: {"a":[{"c":3,"d":2}],"b":1}}' },
  ],
  ['required: true', { type: 'string', required: true }, S],
  // beyond
  ['a list of types with array', { type: ['array', 'boolean'] }, { type: ['array', 'boolean'], items: {} }],
  ['required that is null', { ...OA, required: null }, OA],
  ['required with a name twice', { ...OA, required: ['a', 'a'] }, { ...OA, required: ['a'] }],
  ['required with a number', { ...OA, required: ['a', 1] }, { ...OA, required: ['a'] }],
  [
    'keywords that are null',
    { type: 'string', enum: null, minLength: null, description: null, items: null, default: null },
    { type: 'string', default: null },
  ],
  ['a type of another language', { type: 'int' }, I],
  ['a type in capitals', { type: 'ARRAY' }, { type: 'array', items: {} }],
  ['types of other languages', { type: ['str', 'None', 'string'] }, { type: ['string', 'null'] }],
  ['a type that is no type', { type: 'thing', description: 'D' }, { description: 'D\n\n{type: "thing"}' }],
  ['a type for all', { type: 'any', description: 'D' }, { description: 'D' }],
  [
    'a limit with a value of another kind',
    { type: 'integer', minimum: 0, exclusiveMinimum: true },
    { type: 'integer', description: '{minimum: 0, exclusiveMinimum: true}' },
  ],
  ['enum that is no list', { type: 'string', enum: 'a' }, { type: 'string', enum: ['a'] }],
  ['anyOf that is no list', { anyOf: S }, { anyOf: [S] }],
  ['anyOf without alternatives', { anyOf: [] }, { description: '{anyOf: []}' }],
  ['oneOf that is a text', { oneOf: 'x' }, { description: '{oneOf: "x"}' }],
  [
    'properties that are a list',
    { type: 'object', properties: ['a'] },
    { type: 'object', description: '{properties: ["a"]}' },
  ],
  [
    'a property that is no schema',
    { type: 'object', properties: { a: 'text' } },
    { type: 'object', properties: { a: { description: '{schema: "text"}' } } },
  ],
  [
    'additionalProperties that is a text',
    { type: 'object', additionalProperties: 'no' },
    { type: 'object', description: '{additionalProperties: "no"}' },
  ],
  [
    'a reference to nothing',
    { $ref: '#/$defs/Gone', description: 'D' },
    { description: 'D\n\n{$ref: "#/$defs/Gone"}' },
  ],
  ['a reference to another document', { $ref: 'other.json#/A' }, { description: '{$ref: "other.json#/A"}' }],
  ['a reference to the root stays', { $ref: '#' }, { $ref: '#' }],
  ['a description that is no text', { description: 5 }, { description: '5' }],
]

export const geminiRows: readonly SchemaRow[] = [
  [
    'object or null',
    { type: ['object', 'null'], properties: P, required: ['a'], additionalProperties: false, description: 'D' },
    {
      anyOf: [{ type: 'object', properties: P, required: ['a'], additionalProperties: false }, { type: 'null' }],
      description: 'D',
    },
  ],
  [
    'null or object',
    { type: ['null', 'object'], properties: P, title: 'T', default: null },
    { anyOf: [OA, { type: 'null' }], title: 'T', default: null },
  ],
  [
    'object or null in items',
    { type: 'array', items: { type: ['object', 'null'], properties: P } },
    { type: 'array', items: { anyOf: [OA, { type: 'null' }] } },
  ],
  [
    'text or null',
    { type: ['string', 'null'], description: 'd', default: 'x' },
    { type: 'string', description: 'd\n\n{type: ["string","null"]}', default: 'x' },
  ],
  [
    'three types',
    { type: ['string', 'integer', 'null'] },
    { type: 'string', description: '{type: ["string","integer","null"]}' },
  ],
  [
    'object or text',
    { type: ['object', 'string'], properties: P },
    { type: 'object', properties: P, description: '{type: ["object","string"]}' },
  ],
  [
    'enum on an array',
    { type: ['array', 'null'], items: S, enum: ['a', 'b'] },
    { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, description: '{type: ["array","null"]}' },
  ],
  [
    'enum beside items with an enum',
    { type: 'array', items: { type: 'string', enum: ['c'] }, enum: ['a'] },
    { type: 'array', items: { type: 'string', enum: ['c'] }, description: '{enum: ["a"]}' },
  ],
  [
    'enum of lists',
    { type: 'array', items: S, enum: [['a']] },
    { type: 'array', items: S, description: '{enum: [["a"]]}' },
  ],
  ['enum on an object', { ...OA, enum: [{ a: '1' }] }, { ...OA, description: '{enum: [{"a":"1"}]}' }],
  [
    'type and properties beside anyOf',
    { type: 'object', properties: { k: S }, anyOf: [OA, { type: 'null' }] },
    { anyOf: [{ type: 'object', properties: { a: S, k: S } }] },
  ],
  [
    'properties beside required of alternatives',
    { type: 'object', properties: { p: S, q: S }, anyOf: [{ required: ['p'] }, { required: ['q'] }] },
    {
      anyOf: [
        { type: 'object', properties: { p: S, q: S }, required: ['p'] },
        { type: 'object', properties: { p: S, q: S }, required: ['q'] },
      ],
    },
  ],
  [
    'items beside anyOf',
    { type: 'array', items: S, anyOf: [{ minItems: 1 }, { type: 'null' }] },
    { anyOf: [{ type: 'array', items: S, description: '{minItems: 1}' }] },
  ],
  [
    'object or null beside anyOf',
    { type: ['object', 'null'], properties: { k: S }, anyOf: [OA, { type: 'null' }] },
    { anyOf: [{ type: 'object', properties: { a: S, k: S } }, { type: 'null' }] },
  ],
  [
    'anyOf in anyOf',
    { type: 'object', properties: { k: S }, anyOf: [{ anyOf: [OA, OB] }, { type: 'null' }] },
    {
      anyOf: [
        {
          anyOf: [
            { type: 'object', properties: { a: S, k: S } },
            { type: 'object', properties: { b: S, k: S } },
          ],
        },
      ],
    },
  ],
  [
    'no alternative of the type',
    { type: 'string', anyOf: [{ type: 'integer' }, { type: 'null' }] },
    { anyOf: [{ type: 'integer' }, { type: 'null' }], description: '{type: "string"}' },
  ],
  [
    'the same property in an alternative',
    { properties: { a: I }, anyOf: [OA, { type: 'null' }] },
    { anyOf: [OA, { type: 'null' }], description: '{properties: {"a":{"type":"integer"}}}' },
  ],
  [
    'many levels',
    {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          w: {
            type: ['object', 'null'],
            properties: {
              x: {
                type: ['array', 'null'],
                items: { type: ['object', 'null'], properties: { y: { type: ['integer', 'null'] } } },
              },
            },
          },
        },
      },
    },
    {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          w: {
            anyOf: [
              {
                type: 'object',
                properties: {
                  x: {
                    type: 'array',
                    description: '{type: ["array","null"]}',
                    items: {
                      anyOf: [
                        {
                          type: 'object',
                          properties: { y: { type: 'integer', description: '{type: ["integer","null"]}' } },
                        },
                        { type: 'null' },
                      ],
                    },
                  },
                },
              },
              { type: 'null' },
            ],
          },
        },
      },
    },
  ],
  [
    'type beside a reference',
    { type: 'object', anyOf: [{ $ref: '#' }, { type: 'null' }] },
    { anyOf: [{ $ref: '#', type: 'object' }] },
  ],
  [
    'properties beside a reference',
    { type: 'object', properties: P, required: ['a'], anyOf: [{ $ref: '#' }] },
    { anyOf: [{ $ref: '#', type: 'object' }], description: '{properties: {"a":{"type":"string"}}, required: ["a"]}' },
  ],
  // beyond
  [
    'array or null without items',
    { type: ['array', 'null'] },
    { type: 'array', items: {}, description: '{type: ["array","null"]}' },
  ],
  [
    'text or null beside anyOf',
    { type: ['string', 'null'], anyOf: [{ enum: ['a'] }, { type: 'null' }] },
    { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }], description: '{type: ["string","null"]}' },
  ],
  [
    'text or null beside an anyOf without null',
    { type: ['string', 'null'], anyOf: [{ enum: ['a'] }] },
    { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }], description: '{type: ["string","null"]}' },
  ],
  [
    'a closed alternative',
    { type: 'object', properties: { k: S }, required: ['k'], anyOf: [{ ...OA, additionalProperties: false }] },
    { anyOf: [{ ...OA, additionalProperties: false }], description: '{properties: {"k":{"type":"string"}}}' },
  ],
  [
    'other properties than those of an alternative',
    { properties: { a: I, z: S }, anyOf: [OA, { type: 'null' }] },
    {
      anyOf: [{ type: 'object', properties: { a: S, z: S } }, { type: 'null' }],
      description: '{properties: {"a":{"type":"integer"}}}',
    },
  ],
  ['enum of numbers', { type: 'integer', enum: [60, 1440] }, { type: 'integer', description: '{enum: [60,1440]}' }],
  [
    'enum of numbers on an array',
    { type: 'array', items: I, enum: [1, 2] },
    { type: 'array', items: { type: 'integer', description: '{enum: [1,2]}' } },
  ],
  [
    'enum of texts on a boolean',
    { type: 'boolean', enum: ['true'] },
    { type: 'boolean', description: '{enum: ["true"]}' },
  ],
  ['enum without a type', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
  [
    'enum of texts and null',
    { type: ['string', 'null'], enum: ['a', null] },
    { type: 'string', enum: ['a'], description: '{type: ["string","null"], enum: ["a",null]}' },
  ],
  ['enum of anything', { enum: ['a', 1] }, { description: '{enum: ["a",1]}' }],
  ['const stays', { type: 'boolean', const: true }, { type: 'boolean', const: true }],
  [
    'required that names no property',
    { ...OA, required: ['a', 'b'] },
    { ...OA, required: ['a'], description: '{required: ["b"]}' },
  ],
  [
    'required without properties',
    { type: 'object', required: ['b'] },
    { type: 'object', description: '{required: ["b"]}' },
  ],
  [
    'text or object: no property is lost',
    { type: ['string', 'object'], properties: P },
    { type: 'object', properties: P, description: '{type: ["string","object"]}' },
  ],
  [
    'text or array',
    { type: ['string', 'array'], items: I },
    { type: 'string', description: '{type: ["string","array"], items: {"type":"integer"}}' },
  ],
  [
    'every type',
    { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] },
    { type: 'string', description: '{type: ["string","number","boolean","object","array","null"]}' },
  ],
]

export const claudeRows: readonly SchemaRow[] = [
  [
    'a list of types',
    { type: ['object', 'null'], properties: P, required: ['a'], description: 'D' },
    { type: ['object', 'null'], description: 'D\n\n{properties: {"a":{"type":"string"}}, required: ["a"]}' },
  ],
  [
    'array or null',
    { type: ['array', 'null'], items: I, enum: [1, 2] },
    { type: ['array', 'null'], enum: [1, 2], description: '{items: {"type":"integer"}}' },
  ],
  ['properties without a type', { properties: P }, { description: '{properties: {"a":{"type":"string"}}}' }],
  ['required without a type', { required: ['p'] }, { description: '{required: ["p"]}' }],
  [
    'annotations',
    { type: 'string', title: 'T', default: 'x', examples: ['a'], $comment: 'c', deprecated: true },
    { type: 'string', title: 'T', description: '{$comment: "c", default: "x", deprecated: true, examples: ["a"]}' },
  ],
  [
    'limits and annotations',
    { type: 'string', pattern: '^a', format: 'uri', minLength: 1, examples: ['a'] },
    { type: 'string', description: '{minLength: 1, pattern: "^a", format: "uri"}\n\n{examples: ["a"]}' },
  ],
  ['oneOf', { oneOf: [S, { type: 'number' }] }, { anyOf: [S, { type: 'number' }] }],
  ['oneOf beside anyOf', { anyOf: [S], oneOf: [I] }, { anyOf: [S], description: '{oneOf: [{"type":"integer"}]}' }],
  [
    'prefixItems',
    { type: 'array', items: S, prefixItems: [S] },
    { type: 'array', items: S, description: '{prefixItems: [{"type":"string"}]}' },
  ],
  ['type and properties beside anyOf stay', { ...OA, anyOf: [{ const: 1 }] }, { ...OA, anyOf: [{ const: 1 }] }],
  ['text or null stays', { type: ['string', 'null'] }, { type: ['string', 'null'] }],
  // beyond: a list of types gets no items that say nothing
  ['array or null without items', { type: ['array', 'null'] }, { type: ['array', 'null'] }],
]
