import { expect, test } from 'vitest'
import { removeJsonc, setJsonc } from '../../src/client-settings/jsonc.ts'

test.each([
  ['', '{\n  "env": {\n    "A": "1"\n  }\n}\n'],
  ['{}', '{\n  "env": {\n    "A": "1"\n  }\n}'],
  ['{"a":1}', '{"a":1, "env": {"A":"1"}}'],
  ['{\n\t"a": 1,\n}\n', '{\n\t"a": 1,\n\t"env": {\n\t  "A": "1"\n\t}\n}\n'],
  ['{\n  "a": 1 // one\n}\n', '{\n  "a": 1, // one\n  "env": {\n    "A": "1"\n  }\n}\n'],
  ['{\r\n  "env": {\r\n    "B": "2"\r\n  }\r\n}', '{\r\n  "env": {\r\n    "B": "2",\r\n    "A": "1"\r\n  }\r\n}'],
  ['{ "env": { "A": "0" /* old */ } }', '{ "env": { "A": "1" /* old */ } }'],
  ['// only this\n{\n  // nothing yet\n}\n', '// only this\n{\n  // nothing yet\n  "env": {\n    "A": "1"\n  }\n}\n'],
])('sets a value: %j', (text, expected) => {
  expect(setJsonc(text, ['env', 'A'], '"1"')).toBe(expected)
})

test.each([['{'], ['{"env": 1}'], ['[]'], ['{"a" 1}'], ['{"a": 1} x'], ['{"a": nope}'], ['{"a": "\n"}']])(
  'does not touch %j',
  (text) => {
    expect(setJsonc(text, ['env', 'A'], '"1"')).toBeUndefined()
  },
)

test.each([
  ['{\n  "a": 1, // one\n  "env": { "A": "1" }\n}\n', '{\n  "a": 1 // one\n}\n'],
  ['{\n  "env": { "A": "1" },\n  "a": 1\n}\n', '{\n  "a": 1\n}\n'],
  ['{"a":1, "env": {"A":"1"}}', '{"a":1}'],
  ['{ "env": { "A": "1", "B": "2" } }', '{ "env": { "B": "2" } }'],
  ['{ "env": { "B": "2" } }', '{ "env": { "B": "2" } }'],
])('removes a value: %j', (text, expected) => {
  expect(removeJsonc(text, ['env', 'A'])).toBe(expected)
})
