import { fc } from '../fast-check.ts'
import { expect, test } from 'vitest'
import { scanMembers, spliceMembers } from '../../src/json/json-members.ts'
import type { Member } from '../../src/json/json-members.ts'

const limits = { maxDepth: 100, maxMembers: 100, maxValues: 10_000 }

function membersOf(bytes: Buffer): readonly Member[] {
  const scan = scanMembers(bytes.toString('latin1'), limits)
  if (!scan.ok) throw new Error(`exceeds ${scan.exceeded}`)
  return scan.members
}

function splice(text: string, edits: Record<string, unknown>): string {
  const bytes = Buffer.from(text)
  const members = membersOf(bytes)
  // Every text here is a JSON object.
  const value = JSON.parse(text) as Record<string, unknown>
  return spliceMembers({ bytes, value, members }, new Map(Object.entries(edits))).toString()
}

test.each([
  ['replaces a value', '{"a":1,"b":2}', { a: 'x' }, '{"a":"x","b":2}'],
  [
    'keeps what is not edited as written',
    '{ "a" : 1.0 , "b":\t[ 1e2 ], "c":3}',
    { c: 4 },
    '{"a" : 1.0 , "b":\t[ 1e2 ],"c":4}',
  ],
  ['removes the first member', '{"a":1,"b":2,"c":3}', { a: undefined }, '{"b":2,"c":3}'],
  ['removes the last member', '{"a":1,"b":2,"c":3}', { c: undefined }, '{"a":1,"b":2}'],
  ['removes the only member', '{"a":1}', { a: undefined }, '{}'],
  ['adds at the end', '{"a":1}', { b: true }, '{"a":1,"b":true}'],
  ['adds to an empty object', '{ }', { b: true }, '{"b":true}'],
  ['ignores the removal of what is not there', '{"a":1}', { b: undefined }, '{"a":1}'],
  ['knows a key that is written with escapes', '{"\\u0061":1}', { a: 2 }, '{"a":2}'],
  ['is not misled by quotes and braces in strings', '{"x":"\\\\\\"}],{","a":1}', { a: 2 }, '{"x":"\\\\\\"}],{","a":2}'],
  ['leaves members of inner objects alone', '{"x":{"a":1},"a":1}', { a: 2 }, '{"x":{"a":1},"a":2}'],
  ['counts bytes, not characters', '{"ü":"日本😀","a":1,"é":2}', { a: 2 }, '{"ü":"日本😀","a":2,"é":2}'],
  ['keeps one of a repeated key, with its last value', '{"a":1,"b":2,"a":3}', { b: 4 }, '{"a":3,"b":4}'],
  ['edits a repeated key once', '{"a":1,"b":2,"\\u0061":3}', { a: 9 }, '{"a":9,"b":2}'],
  ['keeps a member called __proto__', '{"__proto__":{"x":1},"a":1}', { a: 2 }, '{"__proto__":{"x":1},"a":2}'],
  [
    'keeps __proto__ when serialising anew',
    '{"__proto__":{"x":1},"a":1,"a":2}',
    { b: 1 },
    '{"__proto__":{"x":1},"a":2,"b":1}',
  ],
])('%s', (_, text, edits, expected) => {
  expect(splice(text, edits)).toBe(expected)
})

test('gives back the very bytes when nothing is edited', () => {
  const bytes = Buffer.from(' {"a":1} ')
  expect(spliceMembers({ bytes, value: { a: 1 }, members: membersOf(bytes) }, new Map())).toBe(bytes)
})

/** JSON text of an object as no serialiser writes it: odd spaces, escaped keys, repeated keys. */
const objectText = (() => {
  const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 })
  const key = fc.oneof(
    fc.constantFrom('model', 'stream', 'a"b', 'c\\', '__proto__', '7', ''),
    fc.string({ unit: 'binary', maxLength: 5 }),
  )
  const writtenKey = fc
    .tuple(key, fc.boolean())
    .map(([name, escaped]) =>
      escaped
        ? `"${name.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
        : JSON.stringify(name),
    )
  const value = fc
    .jsonValue({ maxDepth: 3, stringUnit: 'binary' })
    .chain((json) => fc.constantFrom(JSON.stringify(json), JSON.stringify(json, null, 2)))
  const member = fc
    .tuple(space, writtenKey, space, space, value, space)
    .map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`)
  return fc
    .tuple(space, fc.array(member, { maxLength: 8 }), space, space)
    .map(([a, members, b, c]) => `${a}{${members.join(',')}${members.length === 0 ? b : ''}}${c}`)
})()

test('editing the text is editing the object, for any JSON object and any edits', () => {
  const edits = fc.dictionary(
    fc.oneof(fc.constantFrom('model', 'stream', 'new', 'a"b', 'c\\', '7'), fc.string({ maxLength: 3 })),
    fc.oneof(fc.constant(undefined), fc.jsonValue({ maxDepth: 1 })),
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(objectText, edits, (text, edit) => {
      // objectText makes objects only.
      const expected = JSON.parse(text) as Record<string, unknown>
      for (const [key, value] of Object.entries(edit)) {
        if (value === undefined) Reflect.deleteProperty(expected, key)
        else Object.defineProperty(expected, key, { value, enumerable: true, configurable: true, writable: true })
      }
      const spliced = splice(text, edit)
      // Compared as text: matchers pass over members called __proto__.
      expect(sorted(JSON.parse(spliced))).toBe(sorted(JSON.parse(JSON.stringify(expected))))
      const again = membersOf(Buffer.from(spliced))
      for (const key of Object.keys(edit)) {
        const names = again.map((member) =>
          JSON.parse(Buffer.from(spliced).toString('utf8', member.start, member.keyEnd)),
        )
        expect(names.filter((name) => name === key).length).toBeLessThanOrEqual(1)
      }
    }),
    { numRuns: 2000 },
  )
})

test('is not confused by text that is not JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\ a1'.split('')) }), (text) => {
      expect(scanMembers(text, limits)).toMatchObject({ ok: true })
    }),
  )
})

test.each(['[', '{"a":', '[1,{"a":'])('stops at nesting beyond the limit: %s', (opening) => {
  expect(scanMembers(opening.repeat(2_000_000), limits)).toEqual({ ok: false, exceeded: 'maxDepth' })
})

test('stops at more members than the limit, and counts those of the top level only', () => {
  const object = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`k${n}`, 1]))
  expect(scanMembers(JSON.stringify(object), limits)).toEqual({ ok: false, exceeded: 'maxMembers' })
  expect(scanMembers(JSON.stringify({ a: object, b: [object] }), limits)).toMatchObject({ ok: true })
})

test.each([
  ['numbers', `[${'1,'.repeat(20_000)}1]`],
  ['lists', '['.repeat(50) + `${'[],'.repeat(10_000)}1` + ']'.repeat(50)],
  ['keys of inner objects', `{"a":{${'"k":1,'.repeat(20_000)}"k":1}}`],
])('stops at more values than the limit: %s', (_, text) => {
  expect(scanMembers(text, limits)).toEqual({ ok: false, exceeded: 'maxValues' })
})

test('counts values to the one, and none in strings', () => {
  const text = `[${'1,'.repeat(9_998)}"${','.repeat(20_000)}"]`
  expect(scanMembers(text, limits)).toMatchObject({ ok: true })
  expect(scanMembers(text.replace('1,', '1,1,'), limits)).toMatchObject({ ok: true })
  expect(scanMembers(text.replace('1,', '1,1,1,'), limits)).toEqual({ ok: false, exceeded: 'maxValues' })
})

test('does not count brackets in strings as nesting', () => {
  expect(membersOf(Buffer.from(JSON.stringify({ a: '['.repeat(1000) })))).toHaveLength(1)
})

/** With sorted top-level members: where a member is added is of no account. */
function sorted(value: unknown): string {
  return JSON.stringify(Object.entries(Object(value)).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

test.each<readonly [string, string, (list: readonly unknown[]) => readonly unknown[], string]>([
  ['a changed element', '[ {"x":1.0} ,{"y":2.0}]', ([one]) => [one, { z: 1 }], '[ {"x":1.0} ,{"z":1}]'],
  ['a removed element', '[{"x":1.0},{"y":1e2}]', ([, two]) => [two], '[{"y":1e2}]'],
  ['a moved element', '[{"x":1.0},{"y":1e2}]', ([one, two]) => [two, 1, one], '[{"y":1e2},1,{"x":1.0}]'],
  ['an added element', '[{"b":12345678901234567890}]', ([one]) => [{}, one], '[{},{"b":12345678901234567890}]'],
  ['all elements removed', '[{"x":1.0}]', () => [], '[]'],
  ['an empty array', '[ ]', () => [{ a: 1 }], '[{"a":1}]'],
  ['elements with brackets in strings', '[{"x":"]},["},[1.0]]', ([, two]) => [{}, two], '[{},[1.0]]'],
  ['nothing and null', '[null,{"x":1.0}]', ([none, one]) => [none, undefined, one], '[null,null,{"x":1.0}]'],
])('%s of an array leaves the bytes of the others', (_, list, edit, expected) => {
  const text = `{"ü":1.0,"list":${list},"z":1e1}`
  const bytes = Buffer.from(text)
  // A text of this file.
  const value = JSON.parse(text) as { readonly list: readonly unknown[] } & Record<string, unknown>
  const edits = new Map([['list', edit(value.list)]])
  expect(spliceMembers({ bytes, value, members: membersOf(bytes) }, edits).toString()).toBe(
    `{"ü":1.0,"list":${expected},"z":1e1}`,
  )
})

test('a changed element keeps the bytes of the members that do not change, at any depth', () => {
  const text = '{"list":[ {"b":1.0,"a":{"y":2.0,"x":[3.0,{"z":1e1}]}} ,4.0]}'
  const bytes = Buffer.from(text)
  // A text of this file.
  const value = JSON.parse(text) as { readonly list: readonly [Record<string, unknown>, number] }
  const [element, four] = value.list
  const changed = { ...element, a: { ...(element['a'] as object), y: 'new' }, c: 5 }
  const edits = new Map([['list', [changed, four]]])
  expect(spliceMembers({ bytes, value, members: membersOf(bytes) }, edits).toString()).toBe(
    '{"list":[{"b":1.0,"a":{"y":"new","x":[3.0,{"z":1e1}]},"c":5},4]}',
  )
})

test('what is written is what was asked for, whatever two values share', () => {
  const json = fc.jsonValue({ maxDepth: 4 })
  fc.assert(
    fc.property(fc.array(json), fc.array(fc.oneof(fc.nat(8), json)), fc.nat(1), (before, plan, indent) => {
      const text = JSON.stringify({ list: before }, null, indent)
      const bytes = Buffer.from(text)
      // A text of this test.
      const value = JSON.parse(text) as { readonly list: readonly unknown[] }
      const after = plan.map((step) => {
        const old = typeof step === 'number' ? value.list[step] : undefined
        return typeof old === 'object' && old !== null && !Array.isArray(old) ? { ...old, n: step } : (old ?? step)
      })
      const spliced = spliceMembers({ bytes, value, members: membersOf(bytes) }, new Map([['list', after]]))
      expect(sorted(JSON.parse(spliced.toString()))).toBe(sorted({ list: JSON.parse(JSON.stringify(after)) }))
    }),
  )
})
