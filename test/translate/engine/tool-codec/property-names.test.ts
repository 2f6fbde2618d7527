import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createKeyRenamer,
  nameProperties,
  renameKeys,
} from '../../../../src/translate/engine/tool-codec/property-names.ts'

const names = new Map([
  ['$top', 'top_1'],
  ['a[b]', 'a_1'],
])

test.each([
  ['a key', '{"$top":1}', '{"top_1":1}'],
  ['keys at any depth', '[{"a[b]" : {"$top":{}}}]', '[{"a_1" : {"top_1":{}}}]'],
  ['an escaped key', String.raw`{"\u0024top":1}`, '{"top_1":1}'],
  ['no value', '{"x":"$top","y":["$top"]}', '{"x":"$top","y":["$top"]}'],
  ['no part of a text', String.raw`{"x":"say \"$top\":1"}`, String.raw`{"x":"say \"$top\":1"}`],
  ['no digits of a number', '{"$top":12345678901234567890}', '{"top_1":12345678901234567890}'],
  ['a key of arguments that are cut', '{"$top":1,"a[b]', '{"top_1":1,"a[b]'],
  ['nothing in text that is no JSON', 'ls "$top"', 'ls "$top"'],
])('renames %s', (_what, text, expected) => {
  expect(renameKeys(text, names)).toBe(expected)
})

test('renames the same however the text is cut', () => {
  const back = new Map([...names].map(([from, to]) => [to, from]))
  fc.assert(
    fc.property(fc.json(), fc.nat(), (json, seed) => {
      const text = `{"top_1":${json},"x":"top_1", "a_1" :1}`
      const cut = 1 + (seed % 7)
      const renamer = createKeyRenamer(back)
      let pieces = ''
      for (let at = 0; at < text.length; at += cut) pieces += renamer.push(text.slice(at, at + cut))
      expect(pieces + renamer.end()).toBe(`{"$top":${json},"x":"top_1", "a[b]" :1}`)
    }),
  )
})

test('gives each property a legal name of its own, and keeps legal ones', () => {
  const text = { type: 'string' }
  const taken = new Map<string, string>()
  const first = nameProperties({ type: 'object', properties: { $top: text } }, taken)
  const upstream = [...taken.keys()].join('')
  const renamed = new Map<string, string>()
  const properties = {
    $top: text,
    '#top': text,
    [upstream]: text,
    '': text,
    ok: { type: 'object', properties: { 'a b': text } },
  }
  const named = nameProperties({ type: 'object', properties, required: ['$top', 'ok'] }, renamed)
  const keys = Object.keys(Object(named['properties']))
  expect(new Set(keys).size).toBe(5)
  expect(keys.filter((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key))).toEqual([])
  expect(keys).toContain('ok')
  expect(keys).toContain(upstream)
  expect(new Set(renamed.values())).toEqual(new Set(['$top', '#top', '', 'a b']))
  expect(named['required']).toEqual([keys[0], 'ok'])
  expect(first).not.toBe(named)
})

test('leaves a schema with legal names as it is', () => {
  const schema = {
    type: 'object',
    properties: { 'a.b-c_1': { type: 'array', items: { type: 'object', properties: {} } } },
  }
  expect(nameProperties(schema, new Map())).toBe(schema)
})
