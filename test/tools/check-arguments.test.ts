import { beforeAll, expect, it } from 'vitest'
import { checkArguments } from '../../src/tools/check-arguments.ts'
import { ToolError, type ToolFailure } from '../../src/workspace/tool-error.ts'

function check(schema: Record<string, unknown>, args: unknown): ToolFailure | 'ok' {
  try {
    checkArguments({ type: 'object', ...schema }, args)
    return 'ok'
  } catch (error) {
    if (error instanceof ToolError) return error.failure
    throw error
  }
}

// The first search of a process compiles shared code, whose time would count.
beforeAll(() => void check({ properties: { a: { pattern: 'a' } } }, { a: 'a' }))

const range = {
  properties: {
    range: {
      type: 'object',
      properties: { start: { type: 'integer', minimum: 1 } },
      required: ['start'],
      additionalProperties: false,
    },
  },
  required: ['range'],
}

it.each([
  { args: { range: { start: 0 } }, path: 'range.start' },
  { args: { range: { start: '1' } }, path: 'range.start' },
  { args: { range: {} }, path: 'range.start' },
  { args: { range: { start: 1, x: 1 } }, path: 'range.x' },
  { args: {}, path: 'range' },
  { args: [], path: '' },
  { args: null, path: '' },
  { args: 'text', path: '' },
])('refuses $args at "$path"', ({ args, path }) => {
  expect(check(range, args)).toMatchObject({ kind: 'invalid_arguments', path })
})

it('accepts valid arguments', () => {
  expect(check(range, { range: { start: 1 } })).toBe('ok')
})

it('changes no argument and adds no default', () => {
  const args = { a: '1' }
  expect(check({ properties: { a: {}, b: { default: 2 } } }, args)).toBe('ok')
  expect(args).toEqual({ a: '1' })
})

it('refuses a schema that refers to another document', () => {
  expect(check({ properties: { a: { $ref: 'https://example.com/schema.json' } } }, {})).toMatchObject({
    kind: 'failed',
  })
})

it('follows a reference within the schema', () => {
  const schema = { $defs: { text: { type: 'string' } }, properties: { a: { $ref: '#/$defs/text' } } }
  expect(check(schema, { a: 'x' })).toBe('ok')
  expect(check(schema, { a: 1 })).toMatchObject({ kind: 'invalid_arguments', path: 'a' })
})

it('distinguishes the patterns of a schema', () => {
  const schema = { properties: { a: { pattern: '^a/$' }, b: { pattern: '^b$' } } }
  expect(check(schema, { a: 'a/', b: 'b' })).toBe('ok')
  expect(check(schema, { a: 'b', b: 'b' })).toMatchObject({ path: 'a' })
  expect(check(schema, { a: 'a/', b: 'a' })).toMatchObject({ path: 'b' })
})

it('stops a pattern that takes exponential time', () => {
  const items = { type: 'string', pattern: '^(a+)+$' }
  const schema = { properties: { a: { type: 'array', items } } }
  const evil = `${'a'.repeat(50_000)}!`
  const startedMs = performance.now()
  expect(check(schema, { a: Array.from({ length: 100 }, () => evil) })).toMatchObject({ kind: 'invalid_arguments' })
  // The limit is 80 ms. Without it, the pattern would practically never end.
  expect(performance.now() - startedMs).toBeLessThan(5_000)
})

it('refuses an invalid schema, and one larger than 256 KB', () => {
  expect(check({ properties: 3 }, {})).toMatchObject({ kind: 'failed' })
  expect(check({ description: 'x'.repeat(300_000) }, {})).toMatchObject({ kind: 'failed' })
})

it.each([
  ['^https\\:\\/\\/', 'https://x', 'ftp://x'],
  ['^[a-z\\_]+$', 'a_b', 'A'],
  ['^\\d{4}\\-\\d{2}$', '2026-01', '2026'],
  ['^\\w+\\Z', 'abc', undefined],
  ['^(?i)abc$', 'ABC', undefined],
  ['^[[:alpha:]]+$', 'abc', undefined],
  ['^\\p{Lu}\\-$', 'Ä-', undefined],
  ['^a{,3}$', 'aa', undefined],
])('reads the pattern %s in the dialect that has it, or leaves it out', (pattern, right, wrong) => {
  for (const schema of [
    { properties: { a: { type: 'string', pattern } } },
    { properties: { a: { type: 'object', patternProperties: { [pattern]: { type: 'number' } } } } },
  ]) {
    const isValue = !('patternProperties' in schema.properties.a)
    expect(check(schema, { a: isValue ? right : { [right]: 1 } })).toBe('ok')
    if (wrong === undefined) continue
    expect(check(schema, { a: isValue ? wrong : { [right]: 'x' } })).toMatchObject({ kind: 'invalid_arguments' })
  }
})
