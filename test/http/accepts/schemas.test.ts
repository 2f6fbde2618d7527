import { expect } from 'vitest'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { knownSchemaFailures } from './known-failures.ts'
import { prompt, sentProperties, sentText, sentTools, testAccepted, tool } from './table.ts'
import type { Accepted, Json } from './table.ts'

// Schemas of tools that a family of models refuses. Each property that the caller named has to reach the model.

interface SchemaRow {
  readonly title: string
  readonly schema: Json
  readonly properties: readonly string[]
  readonly pairs: readonly (readonly [caller: UpstreamDialectId, model: string])[]
}

const text = { type: 'string' }
const from = { type: 'object', properties: { from: { type: 'string' } }, required: ['from'] }
const to = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }

const toGpt: SchemaRow['pairs'] = [
  ['chat', 'gpt-4.1'],
  ['messages', 'gpt-4.1'],
  ['responses', 'gpt-4.1'],
  ['chat', 'gpt-5.3-codex'],
  ['messages', 'gpt-5.3-codex'],
  ['responses', 'gpt-5.3-codex'],
]
const toGemini: SchemaRow['pairs'] = [
  ['chat', 'gemini-3-pro-preview'],
  ['messages', 'gemini-3-pro-preview'],
  ['responses', 'gemini-3-pro-preview'],
]
const toClaude: SchemaRow['pairs'] = [
  ['chat', 'claude-sonnet-4.5'],
  ['responses', 'claude-sonnet-4.5'],
  ['chat', 'claude-opus-4.7'],
  ['messages', 'claude-sonnet-4.5'],
]

const schemas: readonly SchemaRow[] = [
  {
    title: 'P1 an array without items',
    schema: { type: 'object', properties: { list: { type: 'array', description: 'rows' } } },
    properties: ['list'],
    pairs: toGpt,
  },
  {
    title: 'P1 an array of arrays without items',
    schema: { type: 'object', properties: { values: { type: 'array', items: { type: 'array' } } } },
    properties: ['values'],
    pairs: toGpt,
  },
  {
    title: 'P1 array as one of several types',
    schema: {
      type: 'object',
      properties: { value: { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] } },
    },
    properties: ['value'],
    pairs: toGpt,
  },
  {
    title: 'P1 an array deep inside',
    schema: {
      type: 'object',
      properties: { flags: { type: 'object', properties: { field: { type: 'array' } } } },
    },
    properties: ['flags'],
    pairs: toGpt,
  },
  {
    title: 'P1 an array in definitions, branches and additional properties',
    schema: {
      type: 'object',
      properties: { a: { $ref: '#/$defs/rows' }, b: { anyOf: [{ type: 'array' }, { type: 'null' }] } },
      additionalProperties: { type: 'array' },
      $defs: { rows: { type: 'array' } },
    },
    properties: ['a', 'b'],
    pairs: toGpt,
  },
  {
    title: 'P1 properties that are called type and items',
    schema: { type: 'object', properties: { type: { type: 'array' }, items: text } },
    properties: ['type', 'items'],
    pairs: toGpt,
  },
  { title: 'P1 an object without properties', schema: { type: 'object' }, properties: [], pairs: toGpt },
  {
    title: 'P1 no schema at all',
    schema: {},
    properties: [],
    pairs: [...toGpt.slice(0, 1), ...toGpt.slice(2, 4), ...toGpt.slice(5)],
  },
  {
    title: 'P2 numbers in enum',
    schema: { type: 'object', properties: { minutes: { type: 'integer', enum: [60, 1440] } }, required: ['minutes'] },
    properties: ['minutes'],
    pairs: toGemini,
  },
  {
    title: 'P2 a list of types with object in items',
    schema: {
      type: 'object',
      properties: { rows: { type: 'array', items: { type: ['object', 'null'], properties: { a: text } } } },
    },
    properties: ['rows'],
    pairs: toGemini,
  },
  {
    title: 'P2 required without its property',
    schema: { type: 'object', properties: { a: text }, required: ['a', 'b'] },
    properties: ['a'],
    pairs: toGemini,
  },
  {
    title: 'P2 const of a boolean',
    schema: { type: 'object', properties: { yes: { type: 'boolean', const: true } } },
    properties: ['yes'],
    pairs: toGemini,
  },
  {
    title: 'P2 a string or null',
    schema: { type: 'object', properties: { v: { type: ['string', 'null'] } } },
    properties: ['v'],
    pairs: toGemini,
  },
  {
    title: 'P2 an array without items',
    schema: { type: 'object', properties: { list: { type: ['array', 'null'] } } },
    properties: ['list'],
    pairs: toGemini,
  },
  {
    title: 'P2 enum on an array',
    schema: {
      type: 'object',
      properties: { list: { type: ['array', 'null'], items: { type: 'string' }, enum: ['a', 'b'] } },
    },
    properties: ['list'],
    pairs: toGemini,
  },
  {
    title: 'P2 properties beside anyOf',
    schema: {
      type: 'object',
      properties: {
        where: {
          type: 'object',
          properties: { p: text, q: text },
          anyOf: [{ required: ['p'] }, { required: ['q'] }],
        },
      },
    },
    properties: ['where'],
    pairs: toGemini,
  },
  {
    title: 'P17 a property with a dollar sign',
    schema: { type: 'object', properties: { $top: text }, required: ['$top'] },
    properties: [expect.stringContaining('top')],
    pairs: toClaude.slice(0, 3),
  },
  {
    title: 'P17 a property with brackets',
    schema: { type: 'object', properties: { 'filter[name]': text } },
    properties: [expect.stringContaining('name')],
    pairs: toClaude.slice(0, 3),
  },
  {
    title: 'P24 alternatives beside properties',
    schema: {
      type: 'object',
      properties: { id: text, name: text },
      anyOf: [{ required: ['id'] }, { required: ['name'] }],
    },
    properties: ['id', 'name'],
    pairs: [...toClaude, ['chat', 'gpt-4.1'], ['responses', 'gpt-5.3-codex']],
  },
  {
    title: 'P24 alternatives instead of properties',
    schema: { oneOf: [from, to] },
    properties: ['from', 'to'],
    pairs: [...toClaude.slice(0, 3), ['messages', 'gpt-5.3-codex'], ['chat', 'gpt-4.1']],
  },
  {
    title: 'P24 alternatives instead of properties, with the type',
    schema: { type: 'object', oneOf: [from, to] },
    properties: ['from', 'to'],
    pairs: [...toClaude, ['messages', 'gpt-5.3-codex'], ['chat', 'gpt-4.1']],
  },
  {
    title: 'P24 allOf at the root',
    schema: { type: 'object', allOf: [from, to] },
    properties: ['from', 'to'],
    pairs: [...toClaude, ['messages', 'gpt-5.3-codex'], ['chat', 'gpt-4.1']],
  },
  {
    title: 'P24 a boolean as limit',
    schema: { type: 'object', properties: { n: { type: 'number', minimum: 0, exclusiveMinimum: true } } },
    properties: ['n'],
    pairs: toClaude,
  },
  {
    title: 'P24 an unknown type',
    schema: { type: 'object', properties: { n: { type: 'int' } } },
    properties: ['n'],
    pairs: toClaude,
  },
  {
    title: 'P24 a list as items',
    schema: { type: 'object', properties: { pair: { type: 'array', items: [text, { type: 'integer' }] } } },
    properties: ['pair'],
    pairs: toClaude,
  },
  {
    title: 'P24 required as a boolean',
    schema: { type: 'object', properties: { n: { type: 'string', required: true } } },
    properties: ['n'],
    pairs: toClaude,
  },
  {
    title: 'P24 a reference to nothing',
    schema: { type: 'object', properties: { n: { $ref: '#/definitions/gone' } } },
    properties: ['n'],
    pairs: toClaude,
  },
]

const asTools = schemas.flatMap(({ title, schema, properties, pairs }) =>
  pairs.map(([caller, model]): Accepted => ({
    title,
    caller,
    model,
    body: { ...prompt(caller), tools: [tool(caller, 't', schema)] },
    check: (outcome) => {
      expect(sentProperties(outcome).toSorted()).toEqual(properties.toSorted())
    },
  })),
)

const odd = { type: 'object', properties: { $top: text } }

/** A request whose history has a call of a tool with these arguments. */
function calledWith(caller: 'chat' | 'responses', given: string, name = 't'): Json {
  const asked = { role: 'user', content: 'go' }
  if (caller === 'chat') {
    const call = { id: 'call_1', type: 'function', function: { name, arguments: given } }
    const result = { role: 'tool', tool_call_id: 'call_1', content: 'done' }
    return { messages: [asked, { role: 'assistant', content: null, tool_calls: [call] }, result] }
  }
  const call = { type: 'function_call', call_id: 'call_1', name, arguments: given }
  return { input: [asked, call, { type: 'function_call_output', call_id: 'call_1', output: 'done' }] }
}

const others: readonly Accepted[] = [
  {
    title: 'P1 an object without properties in a namespace',
    caller: 'responses',
    model: 'gpt-5.3-codex',
    body: {
      input: 'hi',
      tools: [{ type: 'namespace', name: 'ns', description: 'd', tools: [tool('responses', 't', { type: 'object' })] }],
    },
    check: (outcome) => expect(sentTools(outcome)).toMatchObject([{ name: 't', schema: { properties: {} } }]),
  },
  {
    title: 'P24 what leaves the root is in the description',
    caller: 'chat',
    model: 'claude-sonnet-4.5',
    body: {
      ...prompt('chat'),
      tools: [tool('chat', 't', { type: 'object', properties: { id: text }, anyOf: [{ required: ['id'] }] })],
    },
    check: (outcome) => expect(sentText(outcome)).toContain('anyOf'),
  },
  {
    title: 'P2 a tool name that begins with a digit',
    caller: 'chat',
    model: 'gemini-3-pro-preview',
    body: {
      ...prompt('chat', '[demo:tool]'),
      tools: [tool('chat', '9f1_create_item', { type: 'object', properties: {} })],
    },
    check: ({ calls }) => expect(calls).toMatchObject([{ name: '9f1_create_item' }]),
  },
  {
    title: 'P2 a tool name that begins with a digit',
    caller: 'messages',
    model: 'gemini-3-pro-preview',
    body: {
      ...prompt('messages', '[demo:tool]'),
      tools: [tool('messages', '9f1_create_item', { type: 'object', properties: {} })],
    },
    check: ({ calls }) => expect(calls).toMatchObject([{ name: '9f1_create_item' }]),
  },
  {
    title: 'P2 values that leave enum are in the description',
    caller: 'chat',
    model: 'gemini-3-pro-preview',
    body: {
      ...prompt('chat'),
      tools: [tool('chat', 't', { type: 'object', properties: { minutes: { type: 'integer', enum: [60, 1440] } } })],
    },
    check: (outcome) => expect(sentText(outcome)).toContain('1440'),
  },
  ...(['chat', 'responses'] as const).map((caller): Accepted => ({
    title: 'P17 the caller’s own property names come back in a call',
    caller,
    model: 'claude-opus-4.7',
    body: {
      ...prompt(caller, '[demo:tool]'),
      tools: [
        tool(caller, 't', { type: 'object', properties: { $top: text, 'a[b]': text }, required: ['$top', 'a[b]'] }),
      ],
    },
    check: ({ calls }) => {
      expect(calls).toHaveLength(1)
      expect(Object.keys(Object(calls[0]?.arguments)).toSorted()).toEqual(['$top', 'a[b]'])
    },
  })),
  ...(
    [
      ['chat', 'claude-sonnet-4.5'],
      ['chat', 'claude-opus-4.7'],
      ['responses', 'claude-opus-4.7'],
    ] as const
  ).map(([caller, model]): Accepted => ({
    title: 'P17 an earlier call has the names that the schema has',
    caller,
    model,
    body: { ...calledWith(caller, '{"$top":"1.0"}'), tools: [tool(caller, 't', odd)] },
    check: (outcome) => {
      const [property = ''] = sentProperties(outcome)
      expect(property).not.toBe('')
      expect(sentText(outcome)).toMatch(new RegExp(`${property}\\\\?":\\\\?"1.0`))
      expect(sentText(outcome)).not.toContain('$top')
    },
  })),
  {
    title: 'P17 names that GPT takes stay',
    caller: 'chat',
    model: 'gpt-4.1',
    body: { ...calledWith('chat', '{"$top":1.0}'), tools: [tool('chat', 't', odd)] },
    check: (outcome) => {
      expect(sentProperties(outcome)).toEqual(['$top'])
      expect(sentText(outcome)).toContain(String.raw`{\"$top\":1.0}`)
    },
  },
  {
    title: 'P2 a tool name that begins with a digit, and an earlier call of it',
    caller: 'responses',
    model: 'gemini-3-pro-preview',
    body: {
      ...calledWith('responses', '{}', '9f1_create_item'),
      tools: [tool('responses', '9f1_create_item', { type: 'object', properties: {} })],
    },
    check: (outcome) => expect(sentText(outcome)).not.toMatch(/[^_]9f1_create_item/),
  },
]

testAccepted([...asTools, ...others], knownSchemaFailures)
